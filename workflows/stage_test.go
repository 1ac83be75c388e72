package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

var (
	agent = run.Actor{ID: "a_1"}
	boss  = run.Actor{ID: "boss@example.com", Person: true, Operator: true, Groups: []string{"g"}}
	quiet = tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	epoch = time.Date(2026, 10, 6, 9, 0, 0, 0, time.UTC)
)

// input starts a run of the process with this frontmatter, `who` bound to g.
func input(t testing.TB, mode run.Mode, front string) workflows.Input {
	p, issues := process.Parse([]byte("---\nname: p\ndescription: d.\n" + front + "\n---\n"))
	require.Empty(t, issues)
	return workflows.Input{Start: &run.Start{
		Org: "acme", RunID: "r_1", Process: p, Version: 1, Bindings: map[string]string{"who": "g"}, Mode: mode,
		Inputs: json.RawMessage(`{}`), By: agent, Limits: run.Limits{RunDataBytes: 128 << 10},
		RequestID: "start", Digest: "00", Attempt: "t_start", NotAfter: epoch.Add(30 * time.Second),
	}}
}

// stage plays one workflow run on the clock of Temporal's test suite. What is
// to happen is registered with at, before play.
type stage struct {
	*testsuite.TestWorkflowEnvironment
	t testing.TB
	// project and notify stand for the activities, if set.
	project func(workflows.Projection) error
	notify  func(workflows.Delivery) error
	// evaluate answers checks; without it nothing does.
	evaluate func(run.CheckRequest) (run.Answers, error)
	stored   []workflows.Projection
	told     []run.Notification
	// timers are the lengths of the timers that were set, in order.
	timers   []time.Duration
	canceled int
	// checks counts the tries at checks.
	checks  int
	answers map[string]*answer
}

// answer is what came of an update.
type answer struct {
	rejected, accepted, completed bool
	written                       workflows.Written
	err                           error
}

func (a *answer) Accept()          { a.accepted = true }
func (a *answer) Reject(err error) { a.rejected, a.err = true, err }
func (a *answer) Complete(success any, err error) {
	a.completed, a.err = true, err
	// As the SDK does at this moment: the workflow goes on changing what it gave.
	if b, err := json.Marshal(success); err == nil {
		_ = json.Unmarshal(b, &a.written)
	}
}

func newStage(t testing.TB) *stage {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet)
	s := &stage{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t, answers: map[string]*answer{}}
	s.SetStartTime(epoch)
	s.SetTestTimeout(10 * time.Second)
	s.RegisterWorkflowWithOptions(workflows.ProcessRun, workflow.RegisterOptions{Name: workflows.TypeRun})
	s.RegisterActivityWithOptions(func(_ context.Context, p workflows.Projection) error {
		if s.project != nil {
			if err := s.project(p); err != nil {
				return err
			}
		}
		s.stored = append(s.stored, p)
		return nil
	}, activity.RegisterOptions{Name: workflows.ActivityProject})
	s.RegisterActivityWithOptions(func(_ context.Context, d workflows.Delivery) error {
		if s.notify != nil {
			if err := s.notify(d); err != nil {
				return err
			}
		}
		s.told = append(s.told, d.Notifications...)
		return nil
	}, activity.RegisterOptions{Name: workflows.ActivityNotify})
	s.RegisterActivityWithOptions(func(_ context.Context, q run.CheckRequest) (run.Answers, error) {
		s.checks++
		if s.evaluate == nil {
			return run.Answers{}, errDown
		}
		return s.evaluate(q)
	}, activity.RegisterOptions{Name: workflows.ActivityEvaluate})
	s.SetOnTimerScheduledListener(func(_ string, d time.Duration) { s.timers = append(s.timers, d) })
	s.SetOnTimerCanceledListener(func(string) { s.canceled++ })
	return s
}

// at has each f happen when d has passed since the start, one a millisecond: an
// update is answered once the f that sent it has returned.
func (s *stage) at(d time.Duration, f ...func()) {
	for i := range f {
		s.RegisterDelayedCallback(f[i], d+time.Duration(i)*time.Millisecond)
	}
}

// open sends the update that comes with a start.
func (s *stage) open() {
	s.UpdateWorkflow(workflows.UpdateStart, "t_start", &answer{}, workflows.StartRequest{RequestID: "start", Digest: "00"})
}

// send sends a write now.
func (s *stage) send(by run.Actor, requestID string, c run.Command) *answer {
	c.By, c.RequestID = by, requestID
	if c.Digest == "" {
		c.Digest = "d_" + requestID
	}
	if c.NotAfter.IsZero() {
		c.NotAfter = s.Now().Add(30 * time.Second)
	}
	c.Attempt = fmt.Sprintf("t_%s_%d", requestID, len(s.answers))
	a := &answer{}
	s.answers[c.Attempt] = a
	s.SetCurrentHistoryLength(10 * len(s.answers)) // a task of its own
	s.UpdateWorkflow(c.Tool(), c.Attempt, a, c)
	return a
}

func (s *stage) play(in workflows.Input) error {
	s.ExecuteWorkflow(workflows.ProcessRun, in)
	require.True(s.t, s.IsWorkflowCompleted(), "the workflow is still running")
	return s.GetWorkflowError()
}

// next is the input of the workflow run that the last one continued as.
func (s *stage) next(err error) workflows.Input {
	var next *workflow.ContinueAsNewError
	require.ErrorAs(s.t, err, &next)
	var in workflows.Input
	require.NoError(s.t, json.Unmarshal(next.Input.Payloads[0].Data, &in))
	return in
}

func (s *stage) last() workflows.Projection {
	require.NotEmpty(s.t, s.stored, "nothing was stored")
	return s.stored[len(s.stored)-1]
}

func claim(step string, lease time.Duration) run.Command {
	return run.Command{Claim: &run.ClaimStep{StepID: step, Lease: int64(lease.Seconds()), Key: "k"}}
}

func submit(a *answer) run.Command {
	return run.Command{Submit: &run.SubmitStep{Holder: a.written.Outcome.Claim.Holder, Submission: run.Submission{Summary: "Did it."}}}
}

func event(name, data string) run.Command {
	return run.Command{Event: &run.SendEvent{Name: name, Data: json.RawMessage(data)}}
}

func cancel() run.Command { return run.Command{Cancel: &run.CancelRun{Reason: "enough"}} }

var errDown = errors.New("down")

const day = 24 * time.Hour
