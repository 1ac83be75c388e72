package run_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// Who acts in the tests.
var (
	ada  = run.Actor{ID: "a_ada"}
	bob  = run.Actor{ID: "a_bob"}
	mira = run.Actor{ID: "mira@example.com", Person: true}
	finn = run.Actor{ID: "finn@example.com", Person: true, Groups: []string{"g_finance"}}
	faye = run.Actor{ID: "faye@example.com", Person: true, Groups: []string{"g_finance", "g_legal"}}
	olga = run.Actor{ID: "olga@example.com", Person: true, Operator: true}
)

const (
	lease  = 10 * time.Minute
	minute = time.Minute
	hour   = time.Hour
)

var (
	epoch    = time.Date(2026, 10, 6, 9, 0, 0, 0, time.UTC)
	bindings = map[string]string{"finance": "g_finance", "legal": "g_legal"}
)

// parse reads a process from the frontmatter below name and description.
func parse(t require.TestingT, front string) *process.Process {
	text := "---\nname: p\ndescription: d.\n" + front + "\n---\nThe body.\n"
	p, issues := process.Parse([]byte(text))
	require.Empty(t, issues, text)
	return p
}

// option changes how a run starts.
type option func(*run.Start)

func by(a run.Actor) option     { return func(s *run.Start) { s.By = a } }
func inputs(text string) option { return func(s *run.Start) { s.Inputs = json.RawMessage(text) } }
func limit(bytes int) option    { return func(s *run.Start) { s.Limits.RunDataBytes = bytes } }
func inMode(m run.Mode) option  { return func(s *run.Start) { s.Mode = m } }
func bind(role, g string) option {
	return func(s *run.Start) { s.Bindings = map[string]string{role: g} }
}
func startOf(p *process.Process, options ...option) run.Start {
	s := run.Start{
		Org: "o", RunID: "r_1", Process: p, Version: 3, Bindings: bindings, Mode: run.Live,
		Inputs: json.RawMessage(`{}`), By: mira, Limits: run.Limits{RunDataBytes: 128 << 10},
		RequestID: "start", Digest: "d_start", Attempt: "t_start", NotAfter: epoch.Add(30 * time.Second),
	}
	for _, o := range options {
		o(&s)
	}
	return s
}

// world is a run and a clock. Every write to it is held against the invariants.
type world struct {
	t   require.TestingT
	r   *run.Run
	now time.Time
	n   int
}

// begin starts a run of the process with this frontmatter.
func begin(t require.TestingT, front string, options ...option) *world {
	s := startOf(parse(t, front), options...)
	require.Nil(t, run.CheckStart(s.Process, s.Inputs, s.By, s.Limits, nil))
	w := &world{t: t, r: run.New(s, epoch), now: epoch}
	checkState(t, w.r)
	checkOrder(t, nil, w.r)
	return w
}

// command fills in what every command has.
func (w *world) command(actor run.Actor, c run.Command) run.Command {
	w.n++
	c.By = actor
	c.RequestID = fmt.Sprintf("q_%d", w.n)
	c.Digest, c.Attempt = "d_"+c.RequestID, "t_"+c.RequestID
	c.NotAfter = w.now.Add(30 * time.Second)
	return c
}

func (w *world) do(actor run.Actor, c run.Command) (run.Outcome, *run.Error) {
	return carry(w.t, w.r, w.command(actor, c), w.now)
}

// must carries a write out that is not refused.
func (w *world) must(actor run.Actor, c run.Command) run.Outcome {
	o, err := w.do(actor, c)
	require.Nil(w.t, err)
	require.Nil(w.t, o.Refusal)
	return o
}

// refused expects a refusal, and returns its issues.
func (w *world) refused(code run.Code, actor run.Actor, c run.Command) []string {
	o, err := w.do(actor, c)
	if err == nil {
		err = o.Refusal
	}
	require.NotNil(w.t, err, "the write was carried out")
	require.Equal(w.t, code, err.Code, err.Error())
	return err.Issues
}

// pass lets time go by, and with it every deadline.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	before := w.r.Clone()
	w.r.Advance(w.now)
	checkState(w.t, w.r)
	checkOrder(w.t, before, w.r)
	checkHistory(w.t, before, w.r)
}

func claimOf(step string) run.Command {
	return run.Command{Claim: &run.ClaimStep{StepID: step, Lease: int64(lease.Seconds()), Key: "k1"}}
}

func (w *world) claim(actor run.Actor, step string) run.Granted {
	return *w.must(actor, claimOf(step)).Claim
}

func renewOf(g run.Granted, progress string) run.Command {
	return run.Command{Renew: &run.RenewClaim{Holder: g.Holder, Progress: progress, Lease: int64(lease.Seconds()), Key: "k2"}}
}

func (w *world) renew(actor run.Actor, g run.Granted, progress string) run.Granted {
	return *w.must(actor, renewOf(g, progress)).Claim
}

func submitOf(g run.Granted, sub run.Submission) run.Command {
	if sub.Summary == "" {
		sub.Summary = "Did it."
	}
	return run.Command{Submit: &run.SubmitStep{Holder: g.Holder, Submission: sub}}
}

func escalateOf(g run.Granted, note string) run.Command {
	return run.Command{Escalate: &run.EscalateStep{Holder: g.Holder, Note: note}}
}

// work claims a step and submits it.
func (w *world) work(actor run.Actor, step string, sub run.Submission) {
	w.must(actor, submitOf(w.claim(actor, step), sub))
}

// decideOf decides the open item of a step as it is read now.
func (w *world) decideOf(step string, d run.Decision, note string) run.Command {
	return run.Command{Decide: &run.DecideItem{ItemID: w.item(step).ID, Snapshot: w.r.Snapshot, Decision: d, Note: note}}
}

func (w *world) decide(actor run.Actor, step string, d run.Decision, note string) {
	w.must(actor, w.decideOf(step, d, note))
}

func eventOf(name, data string) run.Command {
	c := run.Command{Event: &run.SendEvent{Name: name}}
	if data != "" {
		c.Event.Data = json.RawMessage(data)
	}
	return c
}

func cancelOf(reason string) run.Command {
	return run.Command{Cancel: &run.CancelRun{Reason: reason}}
}

func (w *world) step(id string) *run.Step { return stepOf(w.r, id) }

func stepOf(r *run.Run, id string) *run.Step {
	for i := range r.Steps {
		if r.Steps[i].ID == id {
			return &r.Steps[i]
		}
	}
	panic("no step " + id)
}

func (w *world) item(step string) *run.Item {
	i := w.step(step).Item
	require.NotNil(w.t, i, "step %s has no open work item", step)
	return i
}

// states are the states of the steps, in file order, none as a dash.
func (w *world) states() string {
	text := ""
	for i := range w.r.Steps {
		s := w.r.Steps[i].State
		if s == "" {
			s = "-"
		}
		if i > 0 {
			text += " "
		}
		text += string(s)
	}
	return text
}

// current is what a step recorded last, as JSON; empty where nothing is current.
func (w *world) current(step string) string {
	d := w.r.Data.Steps[step]
	if d == nil || d.Completion == nil {
		return ""
	}
	return asJSON(w.t, d.Completion)
}

func (w *world) historyLength(step string) int {
	if w.r.Data.Steps[step] == nil {
		return 0
	}
	return len(w.r.Data.Steps[step].History)
}

func (w *world) handoff(step string) string { return asJSON(w.t, w.step(step).Handoff) }

func asJSON(t require.TestingT, v any) string {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func stringP(s string) *string { return &s }

// hash is the hash of an upload.
const hash = "4f1c4f1c4f1c4f1c4f1c4f1c4f1c4f1c4f1c4f1c4f1c4f1c4f1c4f1c4f1c4f1c"
