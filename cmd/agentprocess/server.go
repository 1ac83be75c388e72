package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/trust"
	"github.com/agentprocess-temporal/server/internal/keyring"
	"github.com/agentprocess-temporal/server/internal/payloadcodec"
	"github.com/agentprocess-temporal/server/internal/server"
	"github.com/agentprocess-temporal/server/notify"
)

type serverFlags struct {
	addr, publicURL, postgres, taskQueue, metrics string
	directory, identity, keys, secret             string
	tokenKey, issuer, audience                    string
	payloadKeys, codecOrigins                     string
	deployment, buildID                           string
	lease                                         time.Duration
	runData, upload                               int
	evaluator                                     evaluatorFlags
}

func newServerCommand() *cobra.Command {
	var f serverFlags
	c := &cobra.Command{
		Use:   "server",
		Short: "Run the server against your Temporal and your Postgres",
		Long: `Run the server: MCP at /mcp, the catalog at /api, and a Temporal worker.

Temporal is configured as every Temporal client is: TEMPORAL_ADDRESS,
TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS…, or a TEMPORAL_CONFIG_FILE.
Before the first start, run ` + "`agentprocess migrate`" + ` and ` + "`agentprocess setup-temporal`" + `.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return runServer(ctx, f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.addr, "addr", env("AGENTPROCESS_ADDR", "127.0.0.1:8080"), "address to listen on (AGENTPROCESS_ADDR)")
	fl.StringVar(&f.metrics, "metrics-addr", env("AGENTPROCESS_METRICS_ADDR", ""), "address to serve metrics for Prometheus on, apart from everything else (AGENTPROCESS_METRICS_ADDR)")
	fl.StringVar(&f.publicURL, "public-url", env("AGENTPROCESS_PUBLIC_URL", ""), "how callers reach the server, for file links (AGENTPROCESS_PUBLIC_URL)")
	fl.StringVar(&f.postgres, "postgres", "", "Postgres DSN (AGENTPROCESS_POSTGRES)")
	fl.StringVar(&f.taskQueue, "task-queue", env("AGENTPROCESS_TASK_QUEUE", ""), "Temporal task queue (AGENTPROCESS_TASK_QUEUE; default agentprocess)")
	fl.StringVar(&f.deployment, "deployment-name", env("TEMPORAL_DEPLOYMENT_NAME", ""), "Worker Deployment of which this is a version, see docs/upgrades.md (TEMPORAL_DEPLOYMENT_NAME; default: none, no versioning)")
	fl.StringVar(&f.buildID, "build-id", env("TEMPORAL_WORKER_BUILD_ID", ""), "which version of it this is (TEMPORAL_WORKER_BUILD_ID; with --deployment-name, default: the binary's version)")
	fl.StringVar(&f.identity, "identity", env("AGENTPROCESS_IDENTITY", ""), "file with the token issuers to trust, see docs/identity.md (AGENTPROCESS_IDENTITY)")
	fl.StringVar(&f.directory, "directory", env("AGENTPROCESS_DIRECTORY", ""), "files with people, groups, operators and agents, one an organization, separated by commas (AGENTPROCESS_DIRECTORY)")
	fl.StringVar(&f.keys, "keys", env("AGENTPROCESS_KEYS", ""), "file with the keys that sign claim tokens and file links (AGENTPROCESS_KEYS)")
	fl.StringVar(&f.secret, "secret", env("AGENTPROCESS_SECRET", ""), "file with the secret that run ids are made with (AGENTPROCESS_SECRET)")
	fl.StringVar(&f.tokenKey, "token-key", env("AGENTPROCESS_TOKEN_KEY", ""), "for development: file with a public key that verifies bearer tokens (AGENTPROCESS_TOKEN_KEY)")
	fl.StringVar(&f.issuer, "token-issuer", env("AGENTPROCESS_TOKEN_ISSUER", ""), "issuer of bearer tokens (AGENTPROCESS_TOKEN_ISSUER)")
	fl.StringVar(&f.audience, "token-audience", env("AGENTPROCESS_TOKEN_AUDIENCE", "agentprocess"), "audience of bearer tokens (AGENTPROCESS_TOKEN_AUDIENCE)")
	fl.StringVar(&f.payloadKeys, "payload-keys", env("AGENTPROCESS_PAYLOAD_KEYS", ""), "file with keys that encrypt business data in Temporal (AGENTPROCESS_PAYLOAD_KEYS; default: not encrypted)")
	fl.StringVar(&f.codecOrigins, "codec-origins", env("AGENTPROCESS_CODEC_ORIGINS", ""), "origins of the Temporal UIs that may decode it, separated by commas (AGENTPROCESS_CODEC_ORIGINS)")
	fl.DurationVar(&f.lease, "lease", 0, "how long a claim lasts (default 10m)")
	fl.IntVar(&f.runData, "run-data-bytes", 0, "cap on run data in bytes (default 131072, at most 163840)")
	fl.IntVar(&f.upload, "max-upload-bytes", 0, "cap on one upload in bytes (default 10485760)")
	f.evaluator.flags(fl)
	return c
}

func env(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func runServer(ctx context.Context, f serverFlags) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	server.TuneRuntime()
	s, err := server.New(ctx, o)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// dsn is where Postgres is, empty where nothing says so.
func (f serverFlags) dsn() string {
	if f.postgres != "" {
		return f.postgres
	}
	return os.Getenv("AGENTPROCESS_POSTGRES")
}

// options reads the files that the flags name. Secrets come from files and the
// environment only: a command line is for everyone to see.
func (f serverFlags) options() (o server.Options, err error) {
	o = server.Options{
		Addr: f.addr, MetricsAddr: f.metrics, PublicURL: f.publicURL, Postgres: f.dsn(), TaskQueue: f.taskQueue,
		Issuer: f.issuer, Audience: f.audience, Lease: f.lease, RunDataBytes: f.runData, MaxUploadBytes: f.upload,
		Channel: notify.NewLog(os.Stdout),
		Log:     slog.New(slog.NewJSONHandler(os.Stderr, nil)), Version: version(),
	}
	if err := f.deploymentVersion(&o); err != nil {
		return o, err
	}
	if o.Temporal, err = temporalOptions(); err != nil {
		return o, err
	}
	if o.Keys, err = keyring.Load(f.keys); err != nil {
		return o, err
	}
	if o.Secret, err = keyring.LoadFixed(f.secret); err != nil {
		return o, err
	}
	if err := f.callers(&o); err != nil {
		return o, err
	}
	if err := f.evaluator.set(&o); err != nil {
		return o, err
	}
	return o, f.codec(&o)
}

// deploymentVersion is the version of the worker. A build that has none of its own
// must be told: two builds under one id could not be told apart.
func (f serverFlags) deploymentVersion(o *server.Options) error {
	o.Deployment, o.BuildID = f.deployment, f.buildID
	switch {
	case f.deployment == "" && f.buildID != "":
		return misuse("--build-id is a version of what --deployment-name names")
	case f.deployment == "" || f.buildID != "":
	case buildVersion == "" || buildVersion == "dev" || strings.HasSuffix(buildVersion, "-dirty"):
		return misuse("this binary was not built from a commit: say which build it is with --build-id")
	default:
		o.BuildID = buildVersion
	}
	return nil
}

// callers reads who may call, and how that is known.
func (f serverFlags) callers(o *server.Options) (err error) {
	o.Rate = trust.DefaultRate
	if f.identity != "" {
		if o.Trust, err = trust.Load(f.identity); err != nil {
			return err
		}
		o.Rate = o.Trust.Rate
	}
	switch {
	case f.tokenKey != "":
		if o.TokenKey, err = identity.LoadPublicKey(f.tokenKey); err != nil {
			return err
		}
	case o.Trust == nil:
		return misuse("say whose tokens to take: --identity, or --token-key for development")
	}
	var files []string
	for file := range strings.SplitSeq(f.directory, ",") {
		if file != "" {
			files = append(files, file)
		}
	}
	if len(files) == 0 && (o.Trust == nil || o.Trust.People.From == identity.Listed || !o.Trust.People.Open) {
		return misuse("--directory is needed, unless people are known by their tokens and any address is taken (persons: open)")
	}
	if o.Directories, err = identity.LoadRegistry(files...); err != nil {
		return err
	}
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	o.Reload = reload
	return nil
}

func (f serverFlags) codec(o *server.Options) error {
	if f.payloadKeys == "" {
		return nil
	}
	text, err := os.ReadFile(f.payloadKeys)
	if err != nil {
		return err
	}
	if o.PayloadKeys, err = payloadcodec.ParseKeys(string(text)); err != nil {
		return err
	}
	o.CodecOrigins, err = payloadcodec.ParseOrigins(f.codecOrigins)
	return err
}

// temporalOptions are Temporal's own environment configuration.
func temporalOptions() (client.Options, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err == nil && o.ConnectionOptions.TLS != nil && o.ConnectionOptions.TLS.MinVersion == 0 {
		o.ConnectionOptions.TLS.MinVersion = tls.VersionTLS12
	}
	return o, err
}
