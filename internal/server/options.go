package server

import (
	"crypto/ed25519"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/identity"
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

	// Directory is who the organization knows.
	Directory *identity.Directory
	// TokenKey verifies bearer tokens by Issuer for Audience.
	TokenKey         ed25519.PublicKey
	Issuer, Audience string
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

	// Channel takes notifications.
	Channel notify.Channel
	Log     *slog.Logger
	Version string
	// Observe, if set, is told how long each stage of a write took; see
	// operations.Service.
	Observe func(tool, stage string, took time.Duration)
}
