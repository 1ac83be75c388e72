package conformance

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
)

func submitChecks() []Check {
	return []Check{{
		ID: "submit-returns-view", Clauses: []string{"tools submit", "spec §4", "spec §6.1"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "submit completes the step, and the view it returns shows the next one ready",
		Run: func(t *T) {
			r := t.Start(t.Member, "relay-race", Args{"lap": 1})
			r.Claim(t.One, "start").Submit(Args{"summary": "é"})
			r.Get()
			r.Claim(t.Two, "bend").Submit(Args{"summary": strings.Repeat("ä", 2000)})
			r.Get()
			r.Claim(t.One, "straight").Submit()
			r.Get()
		},
	}, {
		ID: "submit-route", Clauses: []string{"spec §3.2", "tools submit"}, Needs: Needs{Fixtures: []string{"crossroads", "account-closure"}},
		Title: "A chosen route is taken, and recorded with its reason",
		Run: func(t *T) {
			for _, to := range []string{"ask", "west"} {
				t.Start(t.One, "crossroads", nil).Claim(t.One, "look").Submit(Args{"next": to, "reason": "Because: " + to + " 100% \"sure\"."})
			}
			r := t.Start(t.One, "account-closure", nil)
			r.Claim(t.Two, "triage").Submit(Args{"next": "last-day", "reason": "Nothing is owed."})
			r.Get()
		},
	}, {
		ID: "submit-people", Clauses: []string{"spec §4.1", "spec §3.3"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "Only the claimant submits; a second submission with the token is stale",
		Run: func(t *T) {
			r := t.Start(t.One, "relay-race", Args{})
			c := r.Claim(t.One, "start")
			c.Submit()
			t.stale(c)
			r.Get()
		},
	}}
}

func acceptanceChecks() []Check {
	return []Check{{
		ID: "accept-every-issue", Clauses: []string{"spec §6.3", "tools submit"}, Needs: Needs{Fixtures: []string{"crossroads"}},
		Title: "A submission that breaks many rules is told of each, nothing changes, and the claim stands",
		Run: func(t *T) {
			r := t.Start(t.One, "crossroads", nil)
			c := r.Claim(t.One, "look")
			way := []string{"next: required, one of ask, west", "reason: required"}
			bare := func(more Args) Args { c.keep(); return with(Args{"token": c.Token, "summary": "s"}, more) }
			refuse := func(issues []string, args Args) {
				res := t.RefusedWith("not_accepted", issues, t.One, "submit", args)
				r.step("look").addHandoff("issues", bagOfIssues(res.Issues))
				r.Get()
			}
			refuse(append([]string{"output.sign: missing"}, way...), bare(Args{"output": Args{}}))
			refuse(append([]string{"output.sign: expected string", "output.extra: not declared", "output.more: not declared"}, way...), bare(Args{"output": Args{"sign": 1, "extra": 1, "more": nil}}))
			refuse([]string{"output.sign: missing", "output.x: not declared", "summary: missing", "next: required, one of ask, west", "reason: required"}, Args{"token": c.Token, "output": Args{"x": 1}, "summary": " "})
			refuse([]string{"reason: required"}, bare(Args{"output": Args{"sign": "s"}, "next": "west"}))
			refuse([]string{"reason: required"}, bare(Args{"output": Args{"sign": "s"}, "next": "west", "reason": " \t"}))
			refuse([]string{"next*"}, bare(Args{"output": Args{"sign": "s"}, "next": "east", "reason": "not offered here"}))
			refuse([]string{"next*"}, bare(Args{"output": Args{"sign": "s"}, "next": "look", "reason": "a circle"}))
			refuse([]string{"evidence f_000: not found"}, bare(Args{"output": Args{"sign": "s"}, "next": "west", "reason": "r", "evidence": []any{Args{"kind": "file", "ref": "f_000"}}}))
			if t.offers("renew") {
				c.Renew("")
			}
			c.Submit()
		},
	}, {
		ID: "accept-types", Clauses: []string{"spec §6.3", "spec §2.3", "tools submit"}, Needs: Needs{Fixtures: []string{"every-shape"}},
		Title: "An output has its declared types and values, inside lists too, and null is no value",
		Run: func(t *T) {
			good := t.sample(t.fixture("every-shape").Process.Inputs, 1)
			r := t.Start(t.One, "every-shape", good)
			c := r.Claim(t.One, "copy")
			types := map[string]string{"word": "string", "amount": "number", "yes": "boolean", "things": "list", "box": "object", "note": "string"}
			for _, w := range wrongValues {
				issue := "output." + w.field + "*"
				if types[w.field] != "" {
					issue = "output." + w.field + ": expected " + types[w.field]
				}
				t.RefusedWith("not_accepted", []string{issue}, t.One, "submit", c.args(Args{"output": with(good, Args{w.field: w.value})}))
			}
			for i := range t.fixture("every-shape").Process.Inputs {
				f := t.fixture("every-shape").Process.Inputs[i]
				if !f.Optional {
					t.RefusedWith("not_accepted", []string{"output." + f.Name + ": missing"}, t.One, "submit", c.args(Args{"output": without(good, f.Name)}))
				}
			}
			r.step("copy").addHandoff("issues", anything{})
			r.Get()
			c.Submit(Args{"output": good})
			for _, v := range t.rightValues() {
				t.Start(t.One, "every-shape", good).Claim(t.Two, "copy").Submit(Args{"output": with(good, Args{v.field: v.value})})
			}
		},
	}, {
		ID: "accept-next-where-none", Clauses: []string{"spec §3.2", "tools submit"}, Needs: Needs{Fixtures: []string{firstFixture, "spare-key"}},
		Title: "next and reason are not accepted where the step's next is no list",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			c.NotAccepted([]string{"next*"}, Args{"next": "home"})
			c.NotAccepted([]string{"reason*"}, Args{"reason": "home is nice"})
			c.NotAccepted([]string{"next*", "reason*"}, Args{"next": "home", "reason": "x"})
			c.NotAccepted([]string{"output.x: not declared"}, Args{"output": Args{"x": 1}})
			c.Submit()
			k := t.Start(t.One, "spare-key", Args{"keeper": t.Member.Person})
			k.Claim(t.One, "carve").Submit()
			t.RefusedWith("not_accepted", []string{"next*", "reason*"}, t.Member, "decide", k.completeArgs(t.Member, "keep", Args{"next": "kept", "reason": "x"}))
			k.raw()
		},
	}, {
		ID: "accept-summary", Clauses: []string{"spec §3.3", "tools submit"}, Needs: Needs{Fixtures: []string{firstFixture, "spare-key"}},
		Title: "An agent gives a summary of 1 to 2000 characters; a person need not give one",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			codes := []string{"not_accepted", "invalid"}
			t.RefusedAs(codes, t.One, "submit", c.args(Args{"summary": ""}))
			t.RefusedAs(codes, t.One, "submit", c.args(Args{"summary": strings.Repeat("x", 2001)}))
			t.RefusedAs([]string{"invalid"}, t.One, "submit", without(c.args(), "summary"))
			r.step("run").handoff = map[string]any{"issues": anything{}}
			c.Submit(Args{"summary": strings.Repeat("x", 2000)})
			k := t.Start(t.One, "spare-key", Args{"keeper": t.Member.Person})
			k.Claim(t.One, "carve").Submit()
			k.Complete(t.Member, "keep")
			l := t.Start(t.One, "spare-key", Args{"keeper": t.Member.Person})
			l.Claim(t.One, "carve").Submit()
			l.Complete(t.Member, "keep", Args{"summary": "Under the mat."})
			l.Get()
		},
	}, {
		ID: "accept-cap", Clauses: []string{"spec §6.3"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "A submission that takes run data over limits.runDataBytes is not accepted",
		Run: func(t *T) {
			r := t.Start(t.One, "relay-race", Args{})
			c := r.Claim(t.One, "start")
			t.Refused("not_accepted", t.One, "submit", c.args(Args{"output": Args{"runner": t.overCap()}}))
			r.step("start").addHandoff("issues", anything{})
			r.Get()
			c.Submit(Args{"output": Args{"runner": t.underCap()}})
		},
	}, {
		ID: "accept-evidence", Clauses: []string{"spec §5", "spec §6.3", "tools submit"}, Needs: Needs{Fixtures: []string{"paper-trail"}, Tools: []string{"upload"}},
		Title: "Every required kind of evidence must be attached; a link never stands in for a file; more is welcome",
		Run: func(t *T) {
			r := t.Start(t.One, "paper-trail", nil)
			c := r.Claim(t.One, "collect")
			file := Args{"kind": "file", "ref": t.upload(t.One, "page one")}
			link := Args{"kind": "link", "ref": "Doc. 12/7 \"draft\""}
			ghost := Args{"kind": "file", "ref": "f_000"}
			for _, x := range []struct {
				items  []any
				issues []string
			}{
				{[]any{}, []string{"evidence: file required", "evidence: link required"}},
				{[]any{link}, []string{"evidence: file required"}},
				{[]any{link, Args{"kind": "link", "ref": file["ref"]}}, []string{"evidence: file required"}},
				{[]any{file}, []string{"evidence: link required"}},
				{[]any{file, link, ghost}, []string{"evidence f_000: not found"}},
			} {
				c.NotAccepted(x.issues, Args{"evidence": x.items})
			}
			res := t.Refused("not_accepted", t.One, "submit", without(c.args(), "evidence"))
			t.sameIssues("submit without evidence", []string{"evidence: file required", "evidence: link required"}, res.Issues)
			second := Args{"kind": "file", "ref": t.upload(t.Two, "by another agent")}
			third := Args{"kind": "file", "ref": t.upload(t.Member, "by a person")}
			c.Submit(Args{"evidence": []any{link, file, second, third, Args{"kind": "link", "ref": "x"}}})
			r.Get()
			t.RefusedWith("not_accepted", []string{"evidence: file required"}, t.Member, "decide", r.completeArgs(t.Member, "file-away", Args{"evidence": []any{link}}))
			r.step("file-away").handoff = map[string]any{"issues": anything{}}
			if r.raw().At("workItems.0.handoff").X == nil {
				r.step("file-away").handoff = nil
			}
			r.Get()
			r.Complete(t.Member, "file-away", Args{"evidence": []any{file, link}})
			r.Get()
		},
	}, {
		ID: "accept-unrequired-evidence", Clauses: []string{"spec §5"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "Evidence may be attached where none is required, and is recorded as stated",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			r.Claim(t.One, "run").Submit(Args{"evidence": []any{Args{"kind": "link", "ref": "https://example.com/?q=1&r=<x>"}, Args{"kind": "link", "ref": "INV-2026-001"}}})
			r.Get()
		},
	}}
}

func uploadChecks() []Check {
	needs := Needs{Fixtures: []string{"paper-trail"}, Tools: []string{"upload"}}
	return []Check{{
		ID: "upload-hash", Clauses: []string{"tools upload", "spec §5"}, Needs: needs,
		Title: "upload stores bytes of any kind and tells their hash and number, to agents and people",
		Run: func(t *T) {
			ids := map[string]bool{}
			for i, content := range [][]byte{{0}, []byte("text\r\n"), bytesOf(70000)} {
				as := t.everyone[i%len(t.everyone)]
				v := t.OK(as, "upload", Args{"fileName": "données.bin", "contentType": "application/octet-stream", "contentBase64": base64.StdEncoding.EncodeToString(content)})
				sum := sha256.Sum256(content)
				t.Match("upload", Args{"id": aText{}, "sha256": hex.EncodeToString(sum[:]), "bytes": len(content)}, v)
				ids[v.Str("id")] = true
			}
			t.True(len(ids) == 3, "three uploads have %d ids", len(ids))
			for range 2 {
				t.upload(t.Member, "the same again")
			}
		},
	}, {
		ID: "upload-refusals", Clauses: []string{"tools upload"}, Needs: needs,
		Title: "What is no base64, or more than describe.maxUploadBytes, is invalid; exactly as much is not",
		Run: func(t *T) {
			args := Args{"fileName": "a.txt", "contentType": "text/plain"}
			t.Refused("invalid", t.One, "upload", with(args, Args{"contentBase64": "not base64!"}))
			most := t.Describe.Int("maxUploadBytes")
			if most <= 0 {
				most = 10 << 20
			}
			if most <= 32<<20 {
				t.Refused("invalid", t.One, "upload", with(args, Args{"contentBase64": base64.StdEncoding.EncodeToString(make([]byte, most+1))}))
				v := t.OK(t.One, "upload", with(args, Args{"contentBase64": base64.StdEncoding.EncodeToString(make([]byte, most))}))
				t.True(v.Int("bytes") == most, "an upload of %d bytes has %s", most, v.At("bytes"))
			}
		},
	}, {
		ID: "upload-url", Clauses: []string{"spec §5", "tools shared-shapes"}, Needs: Needs{Fixtures: []string{"paper-trail", "catering-tender"}, Tools: needs.Tools},
		Title: "Wherever run data is returned, a file has a hash and a URL that opens the bytes that were uploaded",
		Run: func(t *T) {
			r := t.Start(t.One, "paper-trail", nil)
			content := "the very bytes of " + newID()
			c := r.Claim(t.One, "collect")
			c.Submit(Args{"evidence": []any{Args{"kind": "file", "ref": t.upload(t.One, content)}, Args{"kind": "link", "ref": "x"}}})
			opens := func(where, url string) {
				got := t.open(url)
				t.True(got == content, "the URL of the file in the result of %s opens %q instead of what was uploaded, %q", where, clip(got, 200), content)
			}
			opens("submit", r.Last.Str("data.steps.collect.evidence.0.url"))
			opens("get_run", r.Get().Str("data.steps.collect.evidence.0.url"))
			r.Complete(t.Member, "file-away")
			opens("decide", r.Last.Str("data.steps.collect.evidence.0.url"))
			o := t.Start(t.One, "catering-tender", nil)
			o.Claim(t.One, "collect-offers").Submit(Args{"evidence": []any{Args{"kind": "file", "ref": t.upload(t.One, content)}}})
			later := o.Claim(t.Two, "compare")
			opens("claim", later.View.Str("data.steps.collect-offers.evidence.0.url"))
			later.Escalate("no time")
			opens("escalate", o.Last.Str("data.steps.collect-offers.evidence.0.url"))
			o.Cancel("enough")
			opens("cancel", o.Last.Str("data.steps.collect-offers.evidence.0.url"))
		},
	}}
}

// open reads a URL that a server gave, without any credential.
func (t *T) open(url string) string {
	req, err := http.NewRequestWithContext(t.ctx, http.MethodGet, url, nil)
	t.True(err == nil, "the URL of a file, %q, is none: %v", url, err)
	res, err := http.DefaultClient.Do(req)
	t.True(err == nil, "the URL of a file cannot be opened: %v", err)
	defer func() { _ = res.Body.Close() }() // read only
	body, err := io.ReadAll(res.Body)
	t.True(err == nil && res.StatusCode == http.StatusOK, "the URL of a file was answered HTTP %d (%v)", res.StatusCode, err)
	return string(body)
}

func bytesOf(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}
