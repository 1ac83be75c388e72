package server

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/evaluator"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/trust"
	"github.com/agentprocess-temporal/server/internal/keyring"
	"github.com/agentprocess-temporal/server/internal/payloadcodec"
	"github.com/agentprocess-temporal/server/notify"
)

// Options are what a server needs to know.
type Options struct {
	// Addr is where to listen, such as 127.0.0.1:8080. Port 0 takes a free one.
	Addr string
	// PublicURL is how callers reach the server; empty means http://Addr. File
	// links start with it.
	PublicURL string
	// Postgres is a DSN. The schema must have been migrated.
	Postgres string
	// Temporal says how to reach Temporal: address, namespace, TLS, API key.
	Temporal client.Options
	// TaskQueue of the runs; empty means operations.DefaultTaskQueue.
	TaskQueue string
	// Deployment and BuildID, if set, put the worker into that version of that
	// Worker Deployment; see docs/upgrades.md. Both are set or none is.
	Deployment, BuildID string

	// Directories are who the organizations know, read again when their files
	// change, or when Reload is sent to. Directory is one that never does, for
	// tests; it is used where Directories is nil.
	Directories *identity.Registry
	Directory   *identity.Directory
	Reload      <-chan os.Signal
	// Trust are the issuers whose access tokens are taken.
	Trust *trust.Config
	// TokenKey, unless nil, verifies development tokens by Issuer for Audience.
	TokenKey         ed25519.PublicKey
	Issuer, Audience string
	// Rate bounds the calls of each caller; zero bounds nothing.
	Rate trust.Rate
	// Keys sign claim tokens and file links; Secret makes run ids. Replicas
	// share them.
	Keys   *keyring.Ring
	Secret []byte

	// PayloadKeys, if set, encrypt business data in Temporal's histories, and
	// CodecOrigins are the Temporal UIs that may have them decoded.
	PayloadKeys  *payloadcodec.Keys
	CodecOrigins []string

	// Lease is how long a claim lasts; zero means operations.DefaultLease.
	Lease time.Duration
	// RunDataBytes and MaxUploadBytes are limits; zero means the defaults.
	RunDataBytes, MaxUploadBytes int

	// Timeouts bound what a client may take its time for; zero means
	// DefaultTimeouts.
	Timeouts Timeouts

	// Evaluator answers the questions of checks. Without one the server does not
	// offer the check profile. CheckTry is how long one try of it may take, in
	// whole seconds; zero means operations.DefaultCheckTry.
	Evaluator evaluator.Evaluator
	CheckTry  time.Duration

	// MetricsAddr, unless empty, is where Prometheus reads metrics: a port of their
	// own, since they need no credential.
	MetricsAddr string

	// Channel takes notifications.
	Channel notify.Channel
	Log     *slog.Logger
	Version string
	// Observe, if set, is told how long each stage of a write took; see
	// operations.Service.
	Observe func(ctx context.Context, tool, stage string, took time.Duration)
	// Tracer, if set, sees every query. For tests.
	Tracer pgx.QueryTracer
}

// Timeouts are how long one connection may take.
type Timeouts struct {
	// Header bounds the headers of a request, Idle a connection without one.
	Header, Idle time.Duration
	// Read bounds a whole request: an upload over a slow line, too. Write bounds
	// everything until the answer is sent; a check may wait for a model, and a
	// download for a slow line.
	Read, Write time.Duration
}

// DefaultTimeouts are those of a server that is told none.
var DefaultTimeouts = Timeouts{Header: 10 * time.Second, Idle: 2 * time.Minute, Read: 2 * time.Minute, Write: 5 * time.Minute}
