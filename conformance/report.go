package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// Outcome is what became of one check: a failure, a reason why it was skipped, or
// neither, which is a pass.
type Outcome struct {
	Check   *Check
	Took    time.Duration
	Skipped string
	Failure *Failure
	// Calls are those of a failed check, tokens masked.
	Calls []Call
}

// Report is what the checks found.
type Report struct {
	URL      string
	Version  string
	Profiles []string
	Started  time.Time
	Took     time.Duration
	Outcomes []Outcome
	// Filtered is set where only some of the checks were asked for.
	Filtered bool
}

func (s *Suite) newReport() *Report {
	return &Report{URL: s.opts.URL, Version: s.Describe.Str("version"), Profiles: s.Profiles, Started: time.Now(),
		Filtered: len(s.opts.Only) > 0 || (s.opts.Profile != "" && s.opts.Profile != "all")}
}

// Count counts passed, failed and skipped checks.
func (r *Report) Count() (passed, failures, skips int) {
	for _, o := range r.Outcomes {
		switch {
		case o.Failure != nil:
			failures++
		case o.Skipped != "":
			skips++
		default:
			passed++
		}
	}
	return passed, failures, skips
}

// partial tells whether something was left out that the server offers.
func (r *Report) partial() bool {
	for _, o := range r.Outcomes {
		for _, reason := range []string{skipConfig, skipSlow, skipFixture, skipStopped} {
			if strings.HasPrefix(o.Skipped, reason) {
				return true
			}
		}
	}
	return r.Filtered
}

// The beginnings of reasons for which a check is left out, though the server may
// offer what it needs.
const (
	skipConfig  = "the configuration has no"
	skipSlow    = "slow"
	skipFixture = "not published: "
	skipStopped = "stopped after the first failure"
)

// Summary is one line, fit for a badge.
func (r *Report) Summary() string {
	passed, failures, skips := r.Count()
	what := strings.Join(append([]string{r.Version}, r.Profiles...), " + ")
	verdict := "conforms"
	switch {
	case failures > 0:
		verdict = "fails"
	case passed == 0:
		verdict = "nothing checked"
	case r.partial():
		verdict = "passes what was run"
	}
	return fmt.Sprintf("%s: %s, %d passed, %d failed, %d skipped", what, verdict, passed, failures, skips)
}

// masked are the calls with the tokens of claims replaced.
func (t *T) masked() []Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	var pairs []string
	for i, token := range t.tokens {
		pairs = append(pairs, token, fmt.Sprintf("<token %d>", i+1))
	}
	mask := strings.NewReplacer(pairs...)
	out := make([]Call, len(t.calls))
	for i, c := range t.calls {
		out[i] = Call{c.As, c.Tool, []byte(mask.Replace(string(c.Args))), []byte(mask.Replace(string(c.Answer))), mask.Replace(c.Error)}
	}
	return out
}

// Formats are the formats that Write knows.
var Formats = []string{"text", "json", "junit", "markdown"}

// Write writes the report in a format.
func (r *Report) Write(w io.Writer, format string) error {
	var err error
	switch format {
	case "text":
		_, err = io.WriteString(w, r.text())
	case "json":
		_, err = w.Write(append(r.json(), '\n'))
	case "junit":
		_, err = w.Write(r.junit())
	case "markdown":
		_, err = io.WriteString(w, r.markdown())
	default:
		err = fmt.Errorf("there is no format %q", format)
	}
	return err
}

// lastCalls is how many of the last calls of a failure are printed, and how many
// bytes of each.
const (
	lastCalls = 15
	shownSize = 1500
)

func (o *Outcome) explain(b *strings.Builder) {
	fmt.Fprintf(b, "FAIL %s (%s)\n  %s\n  %s\n", o.Check.ID, strings.Join(o.Check.Clauses, ", "), o.Check.Title, o.Failure.Message)
	if o.Failure.Expected != "" {
		fmt.Fprintf(b, "  expected: %s\n  got:      %s\n", clip(o.Failure.Expected, shownSize), clip(o.Failure.Got, shownSize))
	}
	calls := o.Calls
	if len(calls) == 0 {
		return
	}
	b.WriteString("  calls:\n")
	if left := len(calls) - lastCalls; left > 0 {
		fmt.Fprintf(b, "    (%d calls before these)\n", left)
		calls = calls[left:]
	}
	for _, c := range calls {
		answer := string(c.Answer)
		if c.Error != "" {
			answer += " " + c.Error
		}
		fmt.Fprintf(b, "    %s as %s %s\n      -> %s\n", c.Tool, c.As, clip(string(c.Args), shownSize), clip(answer, shownSize))
	}
}

func (r *Report) text() string {
	var b strings.Builder
	for i := range r.Outcomes {
		if r.Outcomes[i].Failure != nil {
			r.Outcomes[i].explain(&b)
			b.WriteString("\n")
		}
	}
	why := map[string][]string{}
	for _, o := range r.Outcomes {
		if o.Skipped != "" {
			why[o.Skipped] = append(why[o.Skipped], o.Check.ID)
		}
	}
	for _, reason := range sortedKeys(why) {
		fmt.Fprintf(&b, "skipped, %s: %s\n", reason, strings.Join(why[reason], ", "))
	}
	fmt.Fprintf(&b, "%s (%s, %s)\n", r.Summary(), r.URL, r.Took.Round(time.Millisecond))
	return b.String()
}

type jsonCheck struct {
	ID       string   `json:"id"`
	Clauses  []string `json:"clauses"`
	Title    string   `json:"title"`
	Profile  string   `json:"profile"`
	Result   string   `json:"result"`
	Reason   string   `json:"reason,omitempty"`
	Message  string   `json:"message,omitempty"`
	Expected string   `json:"expected,omitempty"`
	Got      string   `json:"got,omitempty"`
	Calls    []Args   `json:"calls,omitempty"`
	Millis   int64    `json:"milliseconds"`
}

func (r *Report) json() []byte {
	passed, failures, skips := r.Count()
	checks := []jsonCheck{}
	for _, o := range r.Outcomes {
		c := jsonCheck{ID: o.Check.ID, Clauses: o.Check.Clauses, Title: o.Check.Title, Profile: o.Check.Profile(), Result: "passed", Reason: o.Skipped, Millis: o.Took.Milliseconds()}
		if o.Skipped != "" {
			c.Result = "skipped"
		}
		if o.Failure != nil {
			c.Result, c.Message, c.Expected, c.Got = "failed", o.Failure.Message, o.Failure.Expected, o.Failure.Got
			for _, call := range o.Calls {
				c.Calls = append(c.Calls, Args{"as": call.As, "tool": call.Tool, "arguments": string(call.Args), "answer": string(call.Answer), "error": call.Error})
			}
		}
		checks = append(checks, c)
	}
	return mustEncode(Args{
		"url": r.URL, "version": r.Version, "profiles": r.Profiles, "started": r.Started.UTC().Format(time.RFC3339),
		"summary": r.Summary(), "passed": passed, "failed": failures, "skipped": skips, "checks": checks,
	})
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (r *Report) junit() []byte {
	_, failures, skips := r.Count()
	suite := junitSuite{Name: "agentprocess conformance", Tests: len(r.Outcomes), Failures: failures, Skipped: skips, Time: seconds(r.Took)}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		c := junitCase{Class: "conformance." + o.Check.Profile(), Name: o.Check.ID, Time: seconds(o.Took)}
		if o.Skipped != "" {
			c.Skipped = &junitText{Message: o.Skipped}
		}
		if o.Failure != nil {
			var b strings.Builder
			o.explain(&b)
			c.Failure = &junitText{Message: o.Failure.Message, Text: b.String()}
		}
		suite.Cases = append(suite.Cases, c)
	}
	out, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		panic(err) // strings and numbers only
	}
	return append([]byte(xml.Header), append(out, '\n')...)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func (r *Report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Conformance\n\n**%s**\n\n`%s`, %s\n\n| Check | Clauses | Result |\n|---|---|---|\n", r.Summary(), r.URL, r.Started.UTC().Format("2 January 2006"))
	for _, o := range r.Outcomes {
		result := "passed"
		switch {
		case o.Failure != nil:
			result = "**failed**: " + cell(o.Failure.Message)
		case o.Skipped != "":
			result = "skipped: " + cell(o.Skipped)
		}
		fmt.Fprintf(&b, "| %s: %s | %s | %s |\n", o.Check.ID, cell(o.Check.Title), strings.Join(o.Check.Clauses, ", "), result)
	}
	return b.String()
}

func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(clip(s, 300))
}
