package operations

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/files"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/keyring"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// Config are the choices of whoever runs the server.
type Config struct {
	// Lease is how long a claim lasts, in whole seconds.
	Lease time.Duration
	// RunDataBytes caps run data; at most MaxRunDataBytes.
	RunDataBytes int
	// MaxUploadBytes caps one upload, decoded.
	MaxUploadBytes int
	// Namespace is the Temporal namespace.
	Namespace string
	// TaskQueue is the Temporal task queue of the runs' workflows.
	TaskQueue string
	// Profiles are the profiles that the server offers.
	Profiles []string
	// CheckTry is how long one try of the evaluator may take, in whole seconds.
	CheckTry time.Duration
}

// Defaults and bounds. Ten updates at the cap must fit into one workflow task,
// which Temporal ends a run over at 4 MiB.
const (
	DefaultLease          = 10 * time.Minute
	DefaultRunDataBytes   = 128 << 10
	MaxRunDataBytes       = 160 << 10
	DefaultMaxUploadBytes = 10 << 20
	DefaultTaskQueue      = "agentprocess"
)

// Profiles that this server can offer: the second one while an evaluator is
// configured.
const (
	ProfileParallel = process.ParallelProfile
	ProfileCheck    = process.CheckProfile
)

// Service carries the operations out.
type Service struct {
	Config
	Pool     *pgxpool.Pool
	Temporal client.Client
	// Tokens signs claim tokens, Secret makes run ids, Links signs file URLs.
	Tokens *keyring.Ring
	Secret []byte
	Links  files.Links
	// People says who the organizations know.
	People *identity.People
	Log    *slog.Logger
	// Observe, if set, is told how long each stage of a write took. It is called
	// by many goroutines at once, on the way of the write: it must not wait.
	Observe func(ctx context.Context, tool, stage string, took time.Duration)
	// Projected, if set, is told how old a change was when the run itself had it
	// stored, not a front end.
	Projected func(ctx context.Context, age time.Duration)

	versions versionCache
}

// operation is one tool: arguments in, data out.
type operation func(ctx context.Context, caller identity.Caller, args json.RawMessage) (any, error)

// tool makes an operation of a method with typed arguments, which the transport
// has checked against the schema.
func tool[A any](do func(context.Context, identity.Caller, A) (any, error)) operation {
	return func(ctx context.Context, caller identity.Caller, raw json.RawMessage) (any, error) {
		var args A
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &args); err != nil {
				return nil, run.Refuse(run.Invalid, "the arguments do not fit the tool")
			}
		}
		return do(ctx, caller, args)
	}
}

// writing is tool for a write, which needs its arguments as they came, too.
func writing[A any](do func(context.Context, identity.Caller, A, json.RawMessage) (any, error)) operation {
	return func(ctx context.Context, caller identity.Caller, raw json.RawMessage) (any, error) {
		return tool(func(ctx context.Context, caller identity.Caller, args A) (any, error) {
			return do(ctx, caller, args, raw)
		})(ctx, caller, raw)
	}
}

func (s *Service) operation(name string) operation {
	switch name {
	case "describe":
		return tool(s.describe)
	case "list_processes":
		return tool(s.listProcesses)
	case "start_run":
		return writing(s.startRun)
	case "get_run":
		return tool(s.getRun)
	case "get_work":
		return tool(s.getWork)
	case "claim":
		return writing(s.claim)
	case "renew":
		return writing(s.renew)
	case "upload":
		return writing(s.upload)
	case "submit":
		return writing(s.submit)
	case "escalate":
		return writing(s.escalate)
	case "decide":
		return writing(s.decide)
	case "cancel":
		return writing(s.cancel)
	case "send_event":
		return writing(s.sendEvent)
	case "list_runs":
		return tool(s.listRuns)
	}
	return nil
}

// Call carries out one tool for a caller. args must have passed
// schemas.CheckArguments. Whatever is not a refusal of the protocol is logged
// here, once, and answered as retry.
func (s *Service) Call(ctx context.Context, caller identity.Caller, name string, args json.RawMessage) (json.RawMessage, *run.Error) {
	op := s.operation(name)
	if op == nil {
		return nil, run.Refuse(run.NotFound, "no such tool")
	}
	result, err := op(ctx, caller, args)
	if err != nil {
		return nil, s.refusal(ctx, err, name, caller)
	}
	data, err := json.Marshal(result)
	if err != nil {
		return nil, s.refusal(ctx, err, name, caller)
	}
	return data, nil
}

// refusal is the one place where any other error becomes one of the protocol.
func (s *Service) refusal(ctx context.Context, err error, what string, caller identity.Caller) *run.Error {
	var refused *run.Error
	if errors.As(err, &refused) {
		return refused
	}
	s.Log.ErrorContext(ctx, "operation failed", "operation", what, "org", caller.Org, "caller", caller.Subject, "error", err)
	return run.Refuse(run.Retry, "the server could not finish the call; send it again with the same requestId")
}

func actor(c identity.Caller) run.Actor {
	return run.Actor{
		ID: c.Subject, Person: c.IsPerson(), Groups: c.Groups, Operator: c.Operator, Client: c.Client, OnBehalfOf: c.OnBehalfOf,
	}
}
