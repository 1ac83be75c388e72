package operations

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/agentprocess-temporal/server/catalog"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/faults/faultpoint"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/runtoken"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

type startArguments struct {
	Process   string          `json:"process"`
	Version   json.Number     `json:"version"`
	Inputs    json.RawMessage `json:"inputs"`
	Mode      run.Mode        `json:"mode"`
	RequestID string          `json:"requestId"`
}

// startRun starts a run (tools start_run). Its id is made of the requestId, so
// that starting it again finds the same run.
func (s *Service) startRun(ctx context.Context, caller identity.Caller, a startArguments, raw json.RawMessage) (any, error) {
	q, err := newRequest(caller, "start_run", a.RequestID, runtoken.RunID(s.Secret, caller.Org, a.RequestID), raw)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for range 3 {
		result, again, err := s.tryStart(ctx, q, a)
		if !again {
			return result, err
		}
	}
	return nil, fmt.Errorf("request %s: the reservation kept changing", q.id)
}

func (s *Service) tryStart(ctx context.Context, q request, a startArguments) (result any, again bool, err error) {
	entry, _, _, err := s.look(ctx, q)
	if err != nil {
		return nil, false, err
	}
	if entry != nil {
		if done, err := s.settled(ctx, q, entry); done != nil || err != nil {
			return done, false, err
		}
	}
	start, err := s.prepare(ctx, q, a)
	if err != nil {
		return nil, false, err
	}
	start.NotAfter = time.Now().Add(attemptLasts)
	attempt, settled, again, err := s.reserve(ctx, q, entry, start.NotAfter)
	if settled != nil || again || err != nil {
		return settled, again, err
	}
	faultpoint.Here(faultpoint.Reserved)
	start.Attempt = attempt
	written, err := s.begin(ctx, start)
	if err != nil {
		return nil, false, s.giveUp(ctx, q, attempt, err)
	}
	faultpoint.Here(faultpoint.Updated)
	// A run that an earlier attempt began has the version of that attempt.
	p, err := s.version(ctx, q.caller.Org, written.Record.Process, written.Record.Version)
	if err != nil {
		return nil, false, err
	}
	r := run.Open(p, written.Record)
	k := keep(r, q.tool, written.Outcome)
	if again, err := s.apply(ctx, q, attempt, start.NotAfter, r, k); again || err != nil {
		return nil, again, err
	}
	result, err = s.dress(ctx, q.caller.Org, k)
	return result, false, err
}

// prepare checks everything that can be wrong with a start.
func (s *Service) prepare(ctx context.Context, q request, a startArguments) (*run.Start, error) {
	number, err := versionNumber(a.Version)
	if err != nil {
		return nil, err
	}
	var v *catalog.Version
	if postgres.ValidText(a.Process) && number >= 0 {
		if v, err = catalog.Get(ctx, s.Pool, q.caller.Org, a.Process, number); err != nil {
			return nil, err
		}
	}
	if v == nil {
		return nil, run.Refuse(run.NotFound, "no such process, or no such version of it")
	}
	p := new(process.Process)
	if err := json.Unmarshal(v.Document, p); err != nil {
		return nil, fmt.Errorf("stored process %q version %d: %w", v.Name, v.Number, err)
	}
	limits := s.runLimits()
	a.Inputs = asWritten(a.Inputs)
	by := actor(q.caller)
	if err := run.CheckStart(p, a.Inputs, by, limits, s.unknownPersons(q.caller.Org, p.Inputs, a.Inputs)); err != nil {
		return nil, err
	}
	if a.Mode == "" {
		a.Mode = run.Live
	}
	return &run.Start{
		Org: q.caller.Org, RunID: q.runID, Process: p, Version: v.Number, Bindings: v.Bindings,
		Mode: a.Mode, Inputs: a.Inputs, By: by, Limits: limits,
		RequestID: q.id, Digest: hex.EncodeToString(q.digest),
	}, nil
}

// versionNumber reads a version: 0 where none is given, -1 for a number that
// no version has.
func versionNumber(n json.Number) (int, error) {
	if n == "" {
		return 0, nil
	}
	f, err := n.Float64()
	if err != nil || f != float64(int64(f)) {
		return 0, run.Refuse(run.Invalid, "a version is a whole number", "version: must be an integer")
	}
	if f < 1 || f > 1<<31 {
		return -1, nil
	}
	return int(f), nil
}

// begin starts the workflow and opens the run, in one round trip. A workflow
// that is there already is opened again.
func (s *Service) begin(ctx context.Context, start *run.Start) (workflows.Written, error) {
	operation := s.Temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID:                       workflows.WorkflowID(start.Org, start.RunID),
		TaskQueue:                s.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		StaticSummary:            fmt.Sprintf("%s v%d, %s", start.Process.Name, start.Version, start.Mode),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.AttrOrganization.ValueSet(start.Org), workflows.AttrProcess.ValueSet(start.Process.Name)),
	}, workflows.TypeRun, workflows.Input{Start: start})
	handle, err := s.Temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: operation,
		UpdateOptions: client.UpdateWorkflowOptions{
			WorkflowID:   workflows.WorkflowID(start.Org, start.RunID),
			UpdateID:     start.Attempt,
			UpdateName:   workflows.UpdateStart,
			Args:         []any{workflows.StartRequest{RequestID: start.RequestID, Digest: start.Digest}},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	written, refused, err := answer(ctx, handle, err)
	if refused != nil {
		return written, refused
	}
	if err == nil {
		return written, nil
	}
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) {
		return s.ended(ctx, start)
	}
	return written, fmt.Errorf("start: %w", err)
}

// ended is the record of a run that began under this requestId and is over
// already. Its workflow stored it before it closed.
func (s *Service) ended(ctx context.Context, start *run.Start) (workflows.Written, error) {
	var written workflows.Written
	_, row, _, err := s.look(ctx, request{caller: identity.Caller{Org: start.Org}, id: start.RequestID, runID: start.RunID})
	if err != nil {
		return written, err
	}
	if row == nil {
		return written, fmt.Errorf("run %s has a workflow and no record", start.RunID)
	}
	return written, json.Unmarshal(row.Record, &written.Record)
}
