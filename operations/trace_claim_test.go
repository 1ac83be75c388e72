package operations_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

func traceStart(w world) {
	w.s.Publish(document("versioned", "{ a: string }", "  - { id: one, agent: One. }\n  - { id: done, finish: first }"), nil)
	w.s.Publish(document("versioned", "{ b: string }", "  - { id: one, agent: One. }\n  - { id: done, finish: second }"), nil)
	start := func(process string, inputs any, more ...Args) Args {
		a := Args{"process": process, "inputs": inputs, "requestId": ID()}
		for _, m := range more {
			for k, v := range m {
				a[k] = v
			}
		}
		return a
	}
	w.run("the version defaults to the latest published", func(w world) {
		require.Equal(w.t, 2, w.view(A1, "start_run", start("versioned", Args{"b": "x"})).Run.Version)
		require.Equal(w.t, 1, w.view(A1, "start_run", start("versioned", Args{"a": "x"}, Args{"version": 1})).Run.Version)
		require.Equal(w.t, 1, w.view(A1, "start_run", start("versioned", Args{"a": "x"}, Args{"version": json.RawMessage("10e-1")})).Run.Version)
		w.refused(run.Invalid, A1, "start_run", start("versioned", Args{"b": "x"}, Args{"version": 1}), "inputs.a: missing", "inputs.b: not declared")
	})
	w.run("a process or a version that is not there is not_found", func(w world) {
		for _, a := range []Args{
			start("nothing", Args{}), start("", Args{}), start("versioned\x00", Args{}), start("Versioned", Args{"b": "x"}),
			start("versioned", Args{"b": "x"}, Args{"version": 3}), start("versioned", Args{"b": "x"}, Args{"version": 9007199254740991}),
		} {
			w.refused(run.NotFound, A1, "start_run", a)
		}
	})
	w.run("undeclared and mistyped inputs are invalid, with every issue", func(w world) {
		w.refused(run.Invalid, Mira, "start_run", start("screening", Args{"vendor": 1, "extra": true}),
			"inputs.vendor: expected string", "inputs.extra: not declared")
		w.refused(run.Invalid, Mira, "start_run", start("screening", Args{}), "inputs.vendor: missing")
		w.refused(run.Invalid, Mira, "start_run", start("screening", Args{"vendor": nil}), "inputs.vendor: expected string")
	})
	w.run("the view shows the first step ready, and no token", func(w world) {
		a := start("screening", Args{"vendor": "Acme"})
		v := w.view(A2, "start_run", a)
		require.Equal(w.t, run.Active, v.Run.State)
		require.Equal(w.t, "a2", v.Run.StartedBy)
		require.Equal(w.t, run.Live, v.Run.Mode)
		require.Nil(w.t, v.Run.Outcome)
		require.Nil(w.t, v.Run.Ended)
		require.Equal(w.t, run.StepReady, state(v, "screen"))
		require.Empty(w.t, state(v, "approve"))
		require.Equal(w.t, "The body of screening.\n", v.Body)
		require.JSONEq(w.t, `{"vendor":"Acme"}`, string(v.Data.Inputs))
	})
	w.run("in test mode every item, claim and work item says so", func(w world) {
		id := w.view(Mira, "start_run", start("screening", Args{"vendor": "Acme"}, Args{"mode": "test"})).Run.ID
		require.Equal(w.t, run.Test, w.agentWork(A1, id)[0].Mode)
		c := w.claim(A1, id, "screen")
		require.Equal(w.t, run.Test, c.Mode)
		v := w.view(A1, "submit", w.screened(A1, c.Token))
		require.Equal(w.t, run.Test, v.Run.Mode)
		require.Equal(w.t, run.Test, v.WorkItems[0].Mode)
		mine := w.personWork(Mira, id)
		require.Equal(w.t, run.Test, mine[0].Mode)
		require.Equal(w.t, run.Test, mine[0].WorkItem.Mode)
		w.decide(Mira, id, "approved")
		live := w.toApproval()
		told := func() string {
			lines, _ := w.s.Notifications.All()
			return strings.Join(lines, "\n")
		}
		w.eventually("finance is notified of a live run", func() bool { return strings.Contains(told(), live) })
		require.NotContains(w.t, told(), id, "nobody is notified of a test run")
	})
	w.run("in live mode a work item has no mode", func(w world) {
		require.Empty(w.t, w.item(w.toApproval()).Mode)
	})
	w.run("an unknown mode, a version that is no number and more arguments are invalid", func(w world) {
		for _, more := range []Args{{"mode": "dry"}, {"version": "1"}, {"version": 1.5}, {"version": 0}, {"more": 1}, {"inputs": []any{}}, {"requestId": ""}} {
			w.refusedAs(run.Invalid, A1, "start_run", start("versioned", Args{"b": "x"}, more), "")
		}
	})
}

func traceClaim(w world) {
	claim := func(runID, step string) Args { return Args{"runId": runID, "stepId": step, "requestId": ID()} }
	w.run("a claim hands over the token, the step, the body and the run data", func(w world) {
		id := w.start("screening", Args{"vendor": "Acme"})
		before := time.Now()
		data := w.ok(A1, "claim", claim(id, "screen"))
		c := read[run.ClaimView](w.t, data)
		require.NotEmpty(w.t, c.Token)
		require.WithinDuration(w.t, before.Add(600*time.Second), c.ExpiresAt, 30*time.Second)
		require.Nil(w.t, c.Handoff)
		require.Equal(w.t, "The body of screening.\n", c.Body)
		require.JSONEq(w.t, `{"id":"screen","instructions":"Screen the vendor.","output":{"cleared":"boolean","summary":"string"},
			"evidence":["file"],"next":[{"to":"approve","when":"It is clear"},{"to":"decline","when":"There is a hit"}]}`,
			string(read[map[string]json.RawMessage](w.t, data)["step"]))
		require.JSONEq(w.t, `{"vendor":"Acme"}`, string(c.Data.Inputs))
		require.NotContains(w.t, string(w.ok(Lena, "get_run", Args{"runId": id})), c.Token, "tokens never appear in get_run")
		require.Empty(w.t, w.agentWork(A2, id), "what is claimed is not listed")
		require.Equal(w.t, run.StepClaimed, state(w.get(id), "screen"))
	})
	w.run("claimed_by_you and claimed_by_other", func(w world) {
		id := w.start("one-step", nil)
		w.claim(A1, id, "work")
		w.refused(run.Conflict, A1, "claim", claim(id, "work"), "claimed_by_you")
		w.refused(run.Conflict, A2, "claim", claim(id, "work"), "claimed_by_other")
	})
	w.run("not_ready for an agent step that is not reached, waits on a person, or is done", func(w world) {
		w.s.Publish(document("two-steps", "", "  - { id: one, agent: One. }\n  - { id: two, agent: Two. }\n  - { id: done, finish: done }"), nil)
		id := w.start("two-steps", nil)
		w.refused(run.Conflict, A1, "claim", claim(id, "two"), "not_ready")
		w.ok(A1, "escalate", Args{"token": w.claim(A1, id, "one").Token, "note": "Help.", "requestId": ID()})
		w.refused(run.Conflict, A2, "claim", claim(id, "one"), "not_ready")
		w.decide(Boss, id, "completed", Args{"output": Args{}})
		w.refused(run.Conflict, A1, "claim", claim(id, "one"), "not_ready")
		w.claim(A1, id, "two")
	})
	w.run("forbidden for a step that is no agent step, and for a person", func(w world) {
		id := w.start("screening", Args{"vendor": "Acme"})
		for _, step := range []string{"approve", "decline", "done"} {
			w.refused(run.Forbidden, A1, "claim", claim(id, step))
		}
		for _, person := range []string{Mira, Boss, Lena} {
			w.refused(run.Forbidden, person, "claim", claim(id, "screen"))
		}
		require.Len(w.t, w.agentWork(A1, id), 1)
	})
	w.run("not_found for a run or a step that is not there", func(w world) {
		id := w.start("one-step", nil)
		w.refused(run.NotFound, A1, "claim", claim("r_none", "work"))
		w.refused(run.NotFound, A1, "claim", claim("", "work"))
		w.refused(run.NotFound, A1, "claim", claim("r_\x00", "work"))
		w.refused(run.NotFound, A1, "claim", claim(id, "nothing"))
		w.refused(run.NotFound, A1, "claim", claim(id, ""))
		w.refused(run.NotFound, A1, "get_run", Args{"runId": id + "x"})
		w.refused(run.NotFound, A1, "get_run", Args{"runId": "\x00"})
	})
}

func traceTokens(w world) {
	renew := func(token string, more ...Args) Args {
		a := Args{"token": token, "requestId": ID()}
		for _, m := range more {
			for k, v := range m {
				a[k] = v
			}
		}
		return a
	}
	type renewed struct {
		Token     string
		ExpiresAt time.Time
	}
	w.run("the previous token is stale once renew returns, on every tool", func(w world) {
		id := w.start("one-step", nil)
		old := w.claim(A1, id, "work")
		r := read[renewed](w.t, w.ok(A1, "renew", renew(old.Token)))
		require.NotEqual(w.t, old.Token, r.Token)
		require.False(w.t, r.ExpiresAt.Before(old.ExpiresAt))
		w.refused(run.Stale, A1, "renew", renew(old.Token))
		w.refused(run.Stale, A1, "submit", submitArgs(old.Token, Args{}))
		w.refused(run.Stale, A1, "escalate", renew(old.Token, Args{"note": "x"}))
		w.refused(run.Conflict, A1, "claim", Args{"runId": id, "stepId": "work", "requestId": ID()}, "claimed_by_you")
		w.ok(A1, "submit", submitArgs(r.Token, Args{}))
	})
	w.run("a token that was spent is stale", func(w world) {
		id := w.start("screening", Args{"vendor": "x"})
		token := w.claim(A1, id, "screen").Token
		w.ok(A1, "submit", w.screened(A1, token))
		w.refused(run.Stale, A1, "submit", w.screened(A1, token))
		w.refused(run.Stale, A1, "renew", renew(token))
		w.refused(run.Stale, A1, "escalate", renew(token, Args{"note": "x"}))
	})
	w.run("a token of before a rejection is stale after it", func(w world) {
		id := w.start("screening", Args{"vendor": "x"})
		token := w.claim(A1, id, "screen").Token
		w.ok(A1, "submit", w.screened(A1, token))
		w.decide(Mira, id, "rejected", Args{"note": "Look again."})
		w.refused(run.Stale, A1, "submit", w.screened(A1, token))
		fresh := w.claim(A1, id, "screen")
		w.refused(run.Stale, A1, "submit", w.screened(A1, token))
		require.Nil(w.t, fresh.Handoff)
		require.Equal(w.t, "Look again.", fresh.Data.Steps["approve"].Note)
		require.Nil(w.t, fresh.Data.Steps["screen"].Completion)
		require.Len(w.t, fresh.Data.Steps["screen"].History, 1)
	})
	w.run("a token that does not verify is invalid", func(w world) {
		id := w.start("one-step", nil)
		token := w.claim(A1, id, "work").Token
		bad := map[string]string{
			"empty": "", "garbage": "garbage", "a JWT": "eyJhbGciOiJub25lIn0.e30.", "padded": token + "=", "longer": token + "A",
			"shorter": token[:len(token)-1], "a line end": token + "\n", "NUL": "\x00", "huge": strings.Repeat("A", 5000), "upper case": strings.ToUpper(token),
		}
		raw, err := base64.RawURLEncoding.DecodeString(token)
		require.NoError(w.t, err)
		for _, i := range []int{0, 1, len(raw) / 2, len(raw) - 1} {
			flipped := append([]byte{}, raw...)
			flipped[i] ^= 1
			bad["flipped at "+string(rune('a'+i%26))] = base64.RawURLEncoding.EncodeToString(flipped)
		}
		for name, token := range bad {
			for tool, args := range map[string]Args{
				"renew": renew(token), "submit": submitArgs(token, Args{}), "escalate": renew(token, Args{"note": "x"}),
			} {
				r := w.call(A1, tool, args)
				require.False(w.t, r.OK, "%s %s", tool, name)
				require.Equal(w.t, run.Invalid, r.Error.Code, "%s %s", tool, name)
				require.Len(w.t, r.Error.Issues, 1)
			}
		}
		other := identity.Caller{Org: "other", Subject: "a1", Kind: identity.Agent}
		r := w.as(other, "submit", submitArgs(token, Args{}))
		require.Equal(w.t, run.Invalid, r.Error.Code, "a token of another organization does not verify")
		w.ok(A1, "submit", submitArgs(token, Args{}))
	})
	w.run("a token that another holds is forbidden", func(w world) {
		id := w.start("one-step", nil)
		token := w.claim(A1, id, "work").Token
		for _, who := range []string{A2, Mira, Boss} {
			w.refused(run.Forbidden, who, "renew", renew(token))
			w.refused(run.Forbidden, who, "submit", submitArgs(token, Args{}))
			w.refused(run.Forbidden, who, "escalate", renew(token, Args{"note": "x"}))
		}
		w.ok(A1, "submit", submitArgs(token, Args{}))
	})
}

func traceLeases(w world) {
	claim := func(runID, step string) Args { return Args{"runId": runID, "stepId": step, "requestId": ID()} }
	ready := func(w world, id string) run.AgentWork {
		var item run.AgentWork
		w.eventually("the lease ends", func() bool {
			for _, i := range w.agentWork(A2, id) {
				item = i
				return true
			}
			return false
		})
		return item
	}
	w.run("describe and expiresAt say how long a claim lasts", func(w world) {
		require.Equal(w.t, 3, read[struct{ LeaseSeconds int }](w.t, w.ok(Lena, "describe", nil)).LeaseSeconds)
		c := w.claim(A1, w.start("one-step", nil), "work")
		require.WithinDuration(w.t, time.Now().Add(3*time.Second), c.ExpiresAt, 3*time.Second)
	})
	w.run("after the lease ended the step is listed and claimable, and the old token is stale", func(w world) {
		id := w.start("one-step", nil)
		old := w.claim(A1, id, "work")
		item := ready(w, id)
		require.Nil(w.t, item.Handoff, "nothing was left behind")
		require.Equal(w.t, old.ExpiresAt, item.ReadySince)
		w.refused(run.Stale, A1, "renew", Args{"token": old.Token, "requestId": ID()})
		w.refused(run.Stale, A1, "submit", submitArgs(old.Token, Args{}))
		w.refused(run.Stale, A1, "escalate", Args{"token": old.Token, "note": "x", "requestId": ID()})
		c := w.claim(A2, id, "work")
		w.refused(run.Stale, A1, "submit", submitArgs(old.Token, Args{}))
		w.ok(A2, "submit", submitArgs(c.Token, Args{}))
	})
	w.run("the last progress note is handed over when the lease ends", func(w world) {
		id := w.start("one-step", nil)
		token := w.claim(A1, id, "work").Token
		for _, note := range []string{"half", "nearly"} {
			token = read[struct{ Token string }](w.t, w.ok(A1, "renew", Args{"token": token, "progress": note, "requestId": ID()})).Token
		}
		w.ok(A1, "renew", Args{"token": token, "requestId": ID()})
		item := ready(w, id)
		require.Equal(w.t, &run.Handoff{Progress: "nearly"}, item.Handoff, "a renewal without a note keeps the last one")
		c := w.claim(A2, id, "work")
		require.Equal(w.t, "nearly", c.Handoff.Progress)
		w.refused(run.NotAccepted, A2, "submit", submitArgs(c.Token, Args{"x": 1}), "output.x: not declared")
		item = ready(w, id)
		require.Equal(w.t, &run.Handoff{Progress: "nearly", Issues: []string{"output.x: not declared"}}, item.Handoff, "several may be present")
	})
	w.run("a renewal extends the lease", func(w world) {
		id := w.start("one-step", nil)
		c := w.claim(A1, id, "work")
		token := c.Token
		for end := c.ExpiresAt.Add(500 * time.Millisecond); time.Now().Before(end); {
			token = read[struct{ Token string }](w.t, w.ok(A1, "renew", Args{"token": token, "requestId": ID()})).Token
			require.Empty(w.t, w.agentWork(A2, id))
		}
		w.ok(A1, "submit", submitArgs(token, Args{}))
	})
	w.run("a lost claim, renew and submit are answered again after the lease ended, token included", func(w world) {
		id := w.start("one-step", nil)
		lost := claim(id, "work")
		first := w.ok(A1, "claim", lost)
		renew := Args{"token": read[run.ClaimView](w.t, first).Token, "progress": "half", "requestId": ID()}
		second := w.ok(A1, "renew", renew)
		ready(w, id)
		require.Equal(w.t, string(first), string(w.ok(A1, "claim", lost)))
		require.Equal(w.t, string(second), string(w.ok(A1, "renew", renew)))
		c := w.claim(A2, id, "work")
		require.Equal(w.t, string(first), string(w.ok(A1, "claim", lost)), "another holds it now: the original result all the same")
		w.ok(A2, "submit", submitArgs(c.Token, Args{}))
		require.Equal(w.t, string(first), string(w.ok(A1, "claim", lost)), "the run has ended")
		require.Equal(w.t, string(second), string(w.ok(A1, "renew", renew)))
		w.refused(run.Conflict, A1, "submit", submitArgs(read[run.ClaimView](w.t, first).Token, Args{}), "run_ended")
	})
}
