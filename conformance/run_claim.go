package conformance

import (
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// Claim is a claim that a check holds.
type Claim struct {
	r     *Run
	as    *Actor
	step  string
	Token string
	View  V
	// since is when the lease began.
	since time.Time
}

// Claim claims a ready step.
func (r *Run) Claim(as *Actor, step string, more ...Args) *Claim {
	args := Args{"runId": r.ID, "stepId": step}
	for _, a := range more {
		args = with(args, a)
	}
	before := time.Now()
	v := r.t.OK(as, "claim", args)
	s := r.step(step)
	r.t.Match("the result of claim", r.m.claimView(s), v)
	s.state = "claimed"
	r.t.leaseOf("claim", before, v)
	return &Claim{r: r, as: as, step: step, Token: v.Str("token"), View: v, since: before}
}

// keep renews a lease of which a third has passed: a check that makes many calls
// with one claim must not lose it where leases are short.
func (c *Claim) keep() {
	if c.r.t.offers("renew") && !c.since.IsZero() && time.Since(c.since) > c.r.t.Lease/3 {
		c.Renew("")
	}
}

// clockSkew is how far the clocks of client and server may be apart.
const clockSkew = 2 * time.Minute

// leaseOf: a lease lasts as long as describe says, by the server's clock.
func (t *T) leaseOf(tool string, before time.Time, v V) {
	at, _ := when(v.Str("expiresAt"))
	off := at.Sub(before.Add(t.clock)) - t.Lease
	took := time.Since(before)
	t.True(off > -2*skew && off < took+2*skew, "%s: expiresAt is %s, which is not leaseSeconds (%s) from now", tool, v.Str("expiresAt"), t.Lease)
}

// output is a valid sample for the claimed step.
func (r *Run) output(step string, n int) Args { return r.t.sample(r.step(step).def.Output, n) }

// args are valid arguments of submit.
func (c *Claim) args(more ...Args) Args {
	c.keep()
	def := c.r.step(c.step).def
	args := Args{"token": c.Token, "output": c.r.output(c.step, 0), "summary": "Did " + c.step + ". Nothing left undone."}
	if len(def.Routes) > 0 {
		args["next"], args["reason"] = def.Routes[0].To, "It is the first of the ways."
	}
	if len(def.Evidence) > 0 {
		args["evidence"] = c.r.t.evidence(c.as, def.Evidence)
	}
	for _, a := range more {
		args = with(args, a)
	}
	return args
}

// Submit submits valid work, with some arguments replaced.
func (c *Claim) Submit(more ...Args) V {
	args := c.args(more...)
	v := c.r.t.OK(c.as, "submit", args)
	c.r.submitted(c.step, c.as, args)
	c.r.see("submit", v)
	return v
}

// submitted tells the model of an accepted submission or `completed` decision.
func (r *Run) submitted(step string, by *Actor, args Args) {
	s := r.step(step)
	def := s.def
	if s.escalation != nil {
		def = uncheck(def) // a person's work in an agent's place is not checked
	}
	r.m.complete(s, r.completion(def, by, args), nextOf(def, args))
}

func nextOf(def *process.Step, args Args) string {
	if len(def.Routes) > 0 {
		return args["next"].(string)
	}
	return def.Next
}

// completion is what run data must show of a submission.
func (r *Run) completion(def *process.Step, by *Actor, args Args) Args {
	rec := Args{
		"output": norm(args["output"]), "evidence": perhaps{[]any{}}, "summary": perhaps{""}, "next": perhaps{nil}, "reason": perhaps{nil},
		"by": by.ID, "at": aTime{},
	}
	if len(def.Output) == 0 {
		rec["output"] = perhaps{Args{}}
	}
	if len(def.Check) > 0 {
		rec["check"] = anything{} // the checks of the check profile look into it
	}
	if s, _ := args["summary"].(string); s != "" {
		rec["summary"] = s
	}
	if len(def.Routes) > 0 {
		rec["next"], rec["reason"] = args["next"], args["reason"]
	}
	if items, _ := args["evidence"].([]any); len(items) > 0 {
		list := []any{}
		for _, x := range items {
			item := x.(Args)
			if item["kind"] == "file" {
				list = append(list, Args{"kind": "file", "ref": item["ref"], "sha256": r.t.hashOf(item["ref"].(string)), "url": aText{}})
			} else {
				list = append(list, Args{"kind": "link", "ref": item["ref"]})
			}
		}
		rec["evidence"] = list
	}
	return rec
}

// NotAccepted submits what must be refused with these issues, and nothing else
// may change.
func (c *Claim) NotAccepted(issues []string, more ...Args) {
	r := c.r.t.Refused("not_accepted", c.as, "submit", c.args(more...))
	c.r.t.sameIssues("submit", issues, r.Issues)
	c.r.step(c.step).addHandoff("issues", bagOfIssues(r.Issues))
	c.r.Get()
}

// bagOfIssues: a server may keep issues in the order it likes.
func bagOfIssues(issues []string) any {
	if len(issues) > 4 {
		return anything{}
	}
	return bagOf(issues)
}

// Renew renews the lease.
func (c *Claim) Renew(progress string) {
	args := Args{"token": c.Token}
	if progress != "" {
		args["progress"] = progress
	}
	before := time.Now()
	v := c.r.t.OK(c.as, "renew", args)
	c.r.t.leaseOf("renew", before, v)
	old := c.Token
	c.Token, c.since = v.Str("token"), before
	c.r.t.True(c.Token != old, "renew returned the same token again")
}

// Escalate gives the step to a person.
func (c *Claim) Escalate(note string) {
	v := c.r.t.OK(c.as, "escalate", Args{"token": c.Token, "note": note})
	c.r.escalated(c.step, c.as, note)
	c.r.see("escalate", v)
}

func (r *Run) escalated(step string, by *Actor, note string) {
	s := r.step(step)
	s.state = "waiting"
	s.escalation = Args{"note": note, "by": by.ID, "at": aTime{}}
}
