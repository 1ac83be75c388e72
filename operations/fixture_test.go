package operations_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// needsCheck is the one fixture of a profile that is not offered.
const needsCheck = "vendor-check"

func TestEveryFixtureRunsToEveryOneOfItsOutcomes(t *testing.T) {
	if Upstream() == "" {
		t.Skip("the protocol's fixtures are not beside this checkout")
	}
	dirs, err := filepath.Glob(filepath.Join(Upstream(), "conformance", "fixtures", "*"))
	require.NoError(t, err)
	require.Len(t, dirs, 12)
	w := newWorld(t, Start(t))
	for _, dir := range dirs {
		name := filepath.Base(dir)
		source, err := os.ReadFile(filepath.Join(dir, "PROCESS.md"))
		require.NoError(t, err)
		if name == needsCheck {
			w.run("vendor-check needs a profile that is not offered", func(w world) {
				status, answer := w.http(Boss, "POST", "/api/processes", string(source))
				require.Equal(w.t, 400, status)
				require.Contains(w.t, answer, "check-1")
			})
			continue
		}
		p, issues := process.Parse(source)
		require.Empty(t, issues, name)
		roles := map[string]string{}
		for i, role := range p.Roles() {
			roles[role] = []string{"finance", "ops"}[i%2]
		}
		w.s.Publish(string(source), roles)
		all := plans(p)
		outcomes := map[string]bool{}
		for _, plan := range all {
			outcomes[plan.outcome] = true
		}
		for _, s := range p.Steps {
			require.True(t, s.Kind != process.Finish || outcomes[s.Outcome], "%s: no plan for %s", name, s.Outcome)
		}
		for _, plan := range all {
			w.run(name+"/"+plan.name, func(w world) {
				w.t.Parallel()
				(&driver{world: w, p: p, plan: plan, visits: map[string]int{}}).drive()
			})
		}
	}
}

// driver works a run as agents, people and a system would who see no more of it
// than the tools show.
type driver struct {
	world
	p      *process.Process
	plan   plan
	runID  string
	visits map[string]int
}

func (d *driver) drive() {
	inputs := Args{}
	for _, f := range d.p.Inputs {
		inputs[f.Name] = valueOf(d.t, fieldJSON(d.t, d.p.Inputs, f.Name))
	}
	if len(d.plan.routes)%2 == 0 { // some wait, others find that it has passed
		for _, s := range d.p.Steps {
			if s.Until != nil {
				inputs[s.Until.Field] = time.Now().Add(700 * time.Millisecond).Format(time.RFC3339Nano)
			}
		}
	}
	start := Args{"process": d.p.Name, "inputs": inputs, "requestId": ID()}
	if d.p.UsesInitiator() {
		d.refusedAs(run.Invalid, A1, "start_run", start, "initiator:")
	}
	d.runID = d.view(Mira, "start_run", start).Run.ID
	var v run.View
	for deadline := time.Now().Add(time.Minute); ; {
		require.True(d.t, time.Now().Before(deadline), "the run is stuck")
		v = d.get(d.runID)
		if v.Run.State == run.Ended {
			break
		}
		if !d.workOnce(v) {
			time.Sleep(20 * time.Millisecond) // a timer is due
		}
	}
	d.checkEnd(v)
}

// workOnce does one thing that somebody can do.
func (d *driver) workOnce(v run.View) bool {
	if work := d.workOfAgent(); len(work) > 0 {
		d.workAgentStep(work[0])
		return true
	}
	if len(v.WorkItems) > 0 {
		item := v.WorkItems[0]
		who := Omar // in every group
		switch {
		case item.AssignedTo.Person != "":
			who = "person:" + item.AssignedTo.Person
		case item.AssignedTo.Group == run.OperatorGroup:
			who = Boss
		}
		d.workItem(v, who, item)
		return true
	}
	for _, s := range v.Steps {
		if s.Kind == process.WaitFor && state(v, s.ID) == run.StepWaiting {
			got := read[struct{ ConsumedBy *string }](d.t, d.ok(A2, "send_event", Args{
				"runId": d.runID, "name": d.p.Step(s.ID).Event, "data": json.RawMessage(`{"paid":1234567890123456789012345678901234567890.10}`), "requestId": ID(),
			}))
			require.Equal(d.t, s.ID, *got.ConsumedBy)
			return true
		}
	}
	return false
}

func (d *driver) workOfAgent() []run.AgentWork {
	var of []run.AgentWork
	pages(d.world, A1, "get_work", Args{"limit": 100, "process": d.p.Name}, func(item run.AgentWork) {
		if item.RunID == d.runID {
			of = append(of, item)
		}
	})
	return of
}

// choice is what the plan says for this visit of a step.
func (d *driver) choice(step string) string {
	d.visits[step]++
	if d.visits[step] == 1 {
		return d.plan.first[step]
	}
	return ""
}

func (d *driver) workAgentStep(item run.AgentWork) {
	args := item.Claim.Arguments
	args.RequestID = ID()
	data := d.ok(A1, item.Claim.Tool, args)
	c := read[run.ClaimView](d.t, data)
	require.Equal(d.t, d.p.Body, c.Body)
	if choice := d.choice(item.StepID); strings.HasPrefix(choice, "escalate") {
		v := d.view(A1, "escalate", Args{"token": c.Token, "note": "It is beyond me.", "requestId": ID()})
		require.Equal(d.t, run.StepWaiting, state(v, item.StepID))
		return
	}
	step := read[struct{ Step json.RawMessage }](d.t, data).Step
	submission := d.submission(A1, item.StepID, step)
	submission["token"], submission["summary"] = c.Token, "Did "+item.StepID+"."
	v := d.view(A1, "submit", submission)
	d.checkRecorded(v, item.StepID, submission)
}

func (d *driver) workItem(before run.View, who string, item run.WorkItem) {
	var mine *run.PersonWork
	pages(d.world, who, "get_work", Args{"limit": 100, "process": d.p.Name}, func(p run.PersonWork) {
		if p.RunID == d.runID && p.WorkItem.ID == item.ID {
			mine = &p
		}
	})
	require.NotNil(d.t, mine, "%s does not see %s", who, item.StepID)
	call := mine.WorkItem.Decide
	decision := "completed"
	if item.Kind == process.Approve {
		decision = "approved"
	}
	if item.Escalation != nil {
		_, decision, _ = strings.Cut(d.plan.first[item.StepID], ", ")
	} else if choice := d.choice(item.StepID); choice != "" {
		decision = choice
	}
	require.Contains(d.t, call.Decisions, run.Decision(decision))
	args := Args{}
	if decision == "completed" {
		full, err := json.Marshal(mine.WorkItem)
		require.NoError(d.t, err)
		args = d.submission(who, item.StepID, full)
	} else if decision != "approved" {
		args["note"] = decision + ", because."
	}
	args["runId"], args["workItemId"], args["snapshot"] = call.Arguments.RunID, call.Arguments.WorkItemID, call.Arguments.Snapshot
	args["decision"], args["requestId"] = decision, ID()
	v := d.view(who, call.Tool, args)
	switch decision {
	case "completed":
		d.checkRecorded(v, item.StepID, args)
	case "rejected":
		require.Equal(d.t, run.Rejected, v.Data.Steps[item.StepID].Decision)
		require.Equal(d.t, args["note"], v.Data.Steps[item.StepID].Note)
		target := d.p.Step(item.StepID).OnReject
		if was := before.Data.Steps[target]; was != nil {
			require.Nil(d.t, v.Data.Steps[target].Completion, "what was returned to has no current value")
			require.Len(d.t, v.Data.Steps[target].History, len(was.History)+1)
		}
	}
}

// submission makes what a step requires, as a claim or a work item states it.
func (d *driver) submission(who, step string, requirements json.RawMessage) Args {
	req := read[struct {
		Output   map[string]json.RawMessage
		Evidence []string
		Next     []struct{ To string }
	}](d.t, requirements)
	output, evidence := Args{}, []Args{}
	for name, field := range req.Output {
		output[name] = valueOf(d.t, field)
	}
	for _, kind := range req.Evidence {
		ref := "https://example.com/" + step
		if kind == "file" {
			ref = d.upload(who, "evidence of "+step)
		}
		evidence = append(evidence, Args{"kind": kind, "ref": ref})
	}
	args := Args{"output": output, "evidence": evidence, "requestId": ID()}
	if req.Next != nil {
		args["next"], args["reason"] = req.Next[0].To, "It fits."
		if to := d.plan.routes[step]; to != "" {
			args["next"] = to
		}
	}
	return args
}

func (d *driver) checkRecorded(v run.View, step string, submission Args) {
	d.t.Helper()
	got := v.Data.Steps[step]
	require.NotNil(d.t, got.Completion, step)
	want, err := json.Marshal(submission["output"])
	require.NoError(d.t, err)
	require.Equal(d.t, string(want), string(got.Output), "every digit")
	require.Len(d.t, got.Evidence, len(submission["evidence"].([]Args)))
	if submission["next"] != nil {
		require.Equal(d.t, submission["next"], got.Next)
		require.NotEmpty(d.t, state(v, got.Next))
	}
}

func (d *driver) checkEnd(v run.View) {
	require.Equal(d.t, d.plan.outcome, *v.Run.Outcome)
	require.NotNil(d.t, v.Run.Ended)
	require.Empty(d.t, v.WorkItems)
	for step, decision := range d.plan.first {
		require.NotZero(d.t, d.visits[step], "%s at %s never came up", decision, step)
	}
	for step, to := range d.plan.routes {
		if d.plan.outcome != "failed" && d.plan.outcome != "rejected" {
			require.Equal(d.t, to, v.Data.Steps[step].Next)
		}
	}
	for _, s := range v.Steps {
		require.NotContains(d.t, []run.StepState{run.StepReady, run.StepClaimed, run.StepWaiting}, state(v, s.ID), s.ID)
	}
	d.refused(run.Conflict, Boss, "cancel", Args{"runId": d.runID, "reason": "late", "requestId": ID()}, "run_ended")
}

func fieldJSON(t testing.TB, fields process.Fields, name string) json.RawMessage {
	b, err := json.Marshal(fields)
	require.NoError(t, err)
	return read[map[string]json.RawMessage](t, b)[name]
}

// valueOf is a value of the type that a field declares.
func valueOf(t testing.TB, field json.RawMessage) any {
	var f struct {
		Type  string
		OneOf []json.RawMessage `json:"one_of"`
		Items json.RawMessage
	}
	if json.Unmarshal(field, &f.Type) != nil {
		require.NoError(t, json.Unmarshal(field, &f), "%s", field)
	}
	if len(f.OneOf) > 0 {
		return f.OneOf[len(f.OneOf)-1]
	}
	switch f.Type {
	case "string":
		return "Grüße, \u0000 😀"
	case "number":
		return json.RawMessage("12345678901234567890.12345678901234567890")
	case "boolean":
		return true
	case "date":
		return "2028-02-29"
	case "datetime":
		return "2026-10-06T09:00:00+02:00"
	case "person":
		return "lena@example.com"
	case "object":
		return json.RawMessage(`{"a":1.50,"b":[null]}`)
	case "list":
		if f.Items == nil {
			return []any{}
		}
		return []any{valueOf(t, f.Items), valueOf(t, f.Items)}
	}
	t.Fatalf("no type: %s", field)
	return nil
}
