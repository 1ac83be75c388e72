package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// report says what was done.
type report struct {
	faults, points              string
	worked                      time.Duration
	calls, acknowledged, late   int
	resent, unanswered, doubled int
	byTool, byRefusal           string
	checks                      []string
}

func (v *verifier) report(c *chaos, worked time.Duration) report {
	r := report{worked: worked.Round(100 * time.Millisecond), faults: count(c.done)}
	var points, tools, refusals []string
	for name, n := range v.stack.said.reached {
		for range n {
			points = append(points, name)
		}
	}
	for _, each := range v.calls.all() {
		r.calls++
		r.resent += each.Sent - 1
		r.unanswered += each.Unanswered
		r.doubled += len(each.Others)
		switch {
		case each.OK:
			r.acknowledged++
			tools = append(tools, each.Tool)
			if each.Late {
				r.late++
			}
		case each.Refusal != nil:
			what := string(each.Refusal.Code)
			if len(each.Refusal.Issues) == 1 && each.Refusal.Code == "conflict" {
				what = each.Refusal.Issues[0]
			}
			refusals = append(refusals, what)
		}
	}
	r.points, r.byTool, r.byRefusal = count(points), count(tools), count(refusals)
	for _, what := range v.problems.order {
		r.checks = append(r.checks, fmt.Sprintf("%6d  %s", v.problems.checks[what], what))
	}
	return r
}

// write prints a report.
func (r report) write(out io.Writer) {
	fmt.Fprintf(out, `
worked %v
faults            %s
died at points    %s
calls             %d, of which %d were acknowledged: %s
refused           %s
sent again        %d times; %d sendings had no definite answer, %d calls had a second one, %d were carried out after a refusal or when nobody waited
checked
  %s
`, r.worked, r.faults, r.points, r.calls, r.acknowledged, r.byTool, r.byRefusal, r.resent, r.unanswered, r.doubled, r.late,
		strings.Join(r.checks, "\n  "))
}
