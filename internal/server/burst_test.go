package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// verbatim calls a tool without escaping anything, as most clients do and Go does not.
func verbatim(t *testing.T, s *Server, token, tool string, args Args) mcpclient.Result {
	t.Helper()
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(Args{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": Args{"name": tool, "arguments": args},
	}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/mcp", &body)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	var out struct {
		Result struct{ StructuredContent mcpclient.Result }
	}
	require.NoError(t, json.Unmarshal(answer, &out), "%s", answer)
	return out.Result.StructuredContent
}

func agentToken(s *Server, i int) string {
	return s.TokenOf(identity.Caller{Org: "acme", Subject: fmt.Sprintf("agent-%d", i), Kind: identity.Agent})
}

// stands requires that a run takes writes.
func stands(t *testing.T, s *Server, id string) {
	t.Helper()
	r := s.Call(A1, "send_event", Args{"runId": id, "name": "alive", "data": Args{}, "requestId": ID()})
	require.True(t, r.OK, "the run goes on: %v", r.Error)
	require.Equal(t, run.Active, Must[run.View](s, Mira, "get_run", Args{"runId": id}).Run.State)
	Must[run.View](s, Boss, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
}

func TestWhatIsTooLargeOnceItIsWrittenIsRefused(t *testing.T) {
	s := Start(t, func(o *server.Options) { o.RunDataBytes = operations.MaxRunDataBytes })
	s.Publish(wide("", 0), nil)
	long := strings.Repeat("<", operations.MaxRunDataBytes-16<<10)
	t.Run("inputs", func(t *testing.T) {
		r := verbatim(t, s, s.Token(Mira), "start_run", Args{"process": "wide", "inputs": Args{"text": long}, "requestId": ID()})
		require.False(t, r.OK, "a run of six times the cap")
		require.Equal(t, run.Invalid, r.Error.Code)
	})
	for tool, send := range map[string]func(id, token string) Args{
		"send_event": func(id, _ string) Args {
			return Args{"runId": id, "name": "x", "data": Args{"text": long}, "requestId": ID()}
		},
		"submit": func(_, token string) Args {
			return Args{"token": token, "output": Args{"text": long}, "summary": "x", "requestId": ID()}
		},
	} {
		t.Run(tool, func(t *testing.T) {
			id := Must[run.View](s, Mira, "start_run", Args{"process": "wide", "inputs": Args{"text": "x"}, "requestId": ID()}).Run.ID
			tokens := claimAll(t, s, id)
			for range 3 {
				var g errgroup.Group
				for i := range inFlight {
					g.Go(func() error {
						r := verbatim(t, s, agentToken(s, i), tool, send(id, tokens[i]))
						if r.OK {
							return errors.New("what is six times the cap was taken")
						}
						if r.Error.Code == run.Retry {
							return r.Error
						}
						return nil
					})
				}
				require.NoError(t, g.Wait())
			}
			stands(t, s, id)
		})
	}
}

// inOneTask has commands wait for a worker, so that Temporal gives them to it in one
// task, and returns what each came to.
func inOneTask(t *testing.T, s *Server, id string, commands []run.Command) []error {
	t.Helper()
	s.Stop()
	c, err := client.Dial(s.Options.Temporal)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	errs := make([]error, len(commands))
	var wait sync.WaitGroup
	for i := range commands {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			for {
				handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
					WorkflowID: workflows.WorkflowID("acme", id), UpdateID: commands[i].Attempt, UpdateName: commands[i].Tool(),
					Args: []any{commands[i]}, WaitForStage: client.WorkflowUpdateStageCompleted,
				})
				if err == nil {
					err = handle.Get(ctx, nil)
				}
				if errs[i] = err; !workflows.IsCrowded(err) {
					return
				}
			}
		})
	}
	time.Sleep(2 * time.Second) // nothing tells when Temporal has them all; with fewer the test proves less
	s.Run()
	wait.Wait()
	return errs
}

// submits are submissions of all branches, of agents that claimed them in order.
func submits(sub run.Submission) []run.Command {
	out := make([]run.Command, inFlight)
	for i := range out {
		out[i] = run.Command{
			RequestID: ID(), Digest: "00", Attempt: ID(), NotAfter: time.Now().Add(time.Minute),
			By:     run.Actor{ID: fmt.Sprintf("agent-%d", i)},
			Submit: &run.SubmitStep{Holder: run.Holder{StepID: fmt.Sprintf("b%d", i)}, Submission: sub},
		}
	}
	return out
}

// claims has the branches claimed, and the commands be of those claims.
func claims(t *testing.T, s *Server, id string, commands []run.Command) {
	t.Helper()
	claimAll(t, s, id)
	var record []byte
	require.NoError(t, s.Pool().QueryRow(t.Context(), `SELECT record FROM runs WHERE run_id = $1`, id).Scan(&record))
	var stored run.Record
	require.NoError(t, json.Unmarshal(record, &stored))
	for _, step := range stored.Steps {
		for i := range commands {
			if step.ID == commands[i].Submit.StepID {
				commands[i].Submit.Number = step.Claim.Number
				commands[i].By.ID = step.Claim.By
			}
		}
	}
}

func TestTenSubmissionsAtOnceThatNameOnePersonAtLength(t *testing.T) {
	s := Start(t, func(o *server.Options) { o.RunDataBytes = operations.MaxRunDataBytes })
	s.Publish(wide("output: { who: person }, ", 0), nil)
	// Ten records have just room in one task, and what is submitted is as long as a
	// submission may be that travels to a run.
	id := Must[run.View](s, Mira, "start_run", Args{"process": "wide", "inputs": Args{"text": strings.Repeat("x", 99<<10)}, "requestId": ID()}).Run.ID
	tokens := claimAll(t, s, id)
	long := strings.Repeat("x", operations.MaxRunDataBytes-200)
	for range 3 {
		for _, r := range crowd(t, s, inFlight, func(c *mcpclient.Client, i int) (mcpclient.Result, error) {
			return answered(c, "submit", Args{"token": tokens[i], "output": Args{"who": long}, "summary": "x", "requestId": ID()})
		}) {
			require.False(t, r.OK)
			require.Equal(t, run.NotAccepted, r.Error.Code, "%v", r.Error)
		}
	}
	stands(t, s, id)
}

// cited are as many files as evidence at the highest cap can cite, as they are
// once somebody has uploaded them.
func cited(t *testing.T, s *Server) []Args {
	t.Helper()
	var out []Args
	size := 0
	for i := 0; size < operations.MaxRunDataBytes-8<<10; i++ {
		ref := fmt.Sprintf("f_%032d", i)
		out = append(out, Args{"kind": "file", "ref": ref})
		size += len(`{"kind":"file","ref":"","sha256":""},`) + len(ref) + 64
	}
	_, err := s.Pool().Exec(t.Context(), `INSERT INTO files (org, id, name, content_type, sha256, bytes, uploaded_by, content)
		SELECT 'acme', 'f_' || lpad((i-1)::text, 32, '0'), 'a', 'b', encode(sha256('x'), 'hex'), 1, 'a1', 'x' FROM generate_series(1, $1) i`, len(out))
	require.NoError(t, err)
	return out
}

func TestTenSubmissionsAtOnceThatCiteAsManyFilesAsFit(t *testing.T) {
	s := Start(t, func(o *server.Options) { o.RunDataBytes, o.Trust.People.Open = operations.MaxRunDataBytes, true })
	s.Publish(longest(t, ""), nil)
	id := Must[run.View](s, Mira, "start_run", Args{"process": "wide", "inputs": Args{"text": "x", "who": who}, "requestId": ID()}).Run.ID
	tokens := claimAll(t, s, id)
	evidence := cited(t, s)
	taken := 0
	for i, r := range crowd(t, s, inFlight, func(c *mcpclient.Client, i int) (mcpclient.Result, error) {
		return answered(c, "submit", Args{"token": tokens[i], "output": Args{}, "evidence": evidence, "summary": "x", "requestId": ID()})
	}) {
		if r.OK {
			taken++
			continue
		}
		require.Equal(t, run.NotAccepted, r.Error.Code, "%d: %v", i, r.Error)
	}
	require.Equal(t, 1, taken, "one fits")
	stands(t, s, id)
}

func TestTenChecksBegunAtOnceOfSubmissionsAtTheCap(t *testing.T) {
	s := startChecking(t, func(o *server.Options) {
		o.RunDataBytes, o.Trust.People.Open = operations.MaxRunDataBytes, true
		o.Lease = 10 * time.Second // less than a check may take, so the record is stored as it begins
	})
	s.evaluator.Answer(answersOf(1, "", 0, 0, 0))
	s.Publish(longest(t, "check: Is it done?, "), nil)
	evidence := cited(t, s.Server)
	id := s.begin("wide", Args{"text": "x", "who": who})
	tokens := claimAll(t, s.Server, id)
	taken := 0
	for i, r := range crowd(t, s.Server, inFlight, func(c *mcpclient.Client, i int) (mcpclient.Result, error) {
		return answered(c, "submit", Args{"token": tokens[i], "output": Args{}, "evidence": evidence[:len(evidence)-20], "summary": "x", "requestId": ID()})
	}) {
		if r.OK {
			taken++
			continue
		}
		require.Equal(t, run.NotAccepted, r.Error.Code, "%d: %v", i, r.Error)
	}
	require.Equal(t, 1, taken, "one fits")
	stands(t, s.Server, id)
}

func TestTenOfTheLongestSubmissionsInOneTask(t *testing.T) {
	long := strings.Repeat("x", operations.MaxRunDataBytes-200)
	for name, c := range map[string]struct {
		text string
		sub  run.Submission
	}{
		"that name a person nobody knows": {
			strings.Repeat("x", 96<<10),
			run.Submission{Output: json.RawMessage(`{"who":"` + long + `"}`), UnknownPersons: []string{long}, Summary: "x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := Start(t, func(o *server.Options) { o.RunDataBytes = operations.MaxRunDataBytes })
			s.Publish(wide("output: { who: person }, ", 0), nil)
			id := Must[run.View](s, Mira, "start_run", Args{"process": "wide", "inputs": Args{"text": c.text}, "requestId": ID()}).Run.ID
			commands := submits(c.sub)
			claims(t, s, id, commands)
			for i, err := range inOneTask(t, s, id, commands) {
				require.NoError(t, err, "%d", i)
			}
			stands(t, s, id)
		})
	}
}
