package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/agentprocess-temporal/server/devstack"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/workflows"
)

// Options say what a development stack is made of.
type Options struct {
	// Dir keeps everything the stack has; a second start with it goes on where
	// the first was.
	Dir string
	// Addr of the server; port 0, or a port that is taken, gives a free one.
	Addr string
	// Directory is a directory file; empty means the default one, written to Dir.
	Directory string
	// DefaultDirectory is the content of the default directory file.
	DefaultDirectory []byte
	// Lease is how long a claim lasts; zero means the server's default.
	Lease time.Duration
	// Binary is the agentprocess binary whose `server` command runs.
	Binary string
	// ServerArgs are further arguments of it.
	ServerArgs []string
	// Fast gives up durability against a crash of the machine. For tests.
	Fast bool
	// Log receives the output of all parts, and Progress a line a step.
	Log, Progress io.Writer
}

// Stack is a running development stack.
type Stack struct {
	Info     Info
	Server   *devstack.Process
	Postgres *devstack.Postgres
	Temporal *devstack.Temporal

	login *loginServer
	lock  *devstack.DirLock
	stop  sync.Once
}

// Info is what DIR/dev.json says of a running stack.
type Info struct {
	// MCP, API and TemporalUI are URLs, TemporalAddress is host:port, Postgres a DSN.
	MCP             string `json:"mcp"`
	API             string `json:"api"`
	TemporalAddress string `json:"temporalAddress"`
	TemporalUI      string `json:"temporalUI"`
	Postgres        string `json:"postgres"`
	// Metrics is where Prometheus reads the server's metrics.
	Metrics string `json:"metrics"`
	// Login is the URL of the authorization server.
	Login string `json:"login"`
	// Tokens are bearer tokens of every identity of the directory.
	Tokens map[string]string `json:"tokens"`
	// Secrets are the client secrets of the directory's agents, for tokens by
	// client credentials.
	Secrets map[string]string `json:"secrets"`
}

const (
	// InfoFile is the file in the stack's directory that holds Info.
	InfoFile    = "dev.json"
	database    = "agentprocess"
	readyWithin = 2 * time.Minute
)

// Start starts Postgres, Temporal and the server, each on loopback, and
// returns when the server is ready. ctx bounds the start only.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	// Passable, so that PostgreSQL's own user reaches its cluster in it; what is
	// secret has a mode of its own.
	if err := os.MkdirAll(o.Dir, 0o711); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	s := &Stack{}
	if s.lock, err = devstack.Lock(o.Dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	if o.Directory, err = EnsureDirectory(o.Dir, o.Directory, o.DefaultDirectory); err != nil {
		return nil, err
	}
	if _, err = WriteConfig(o.Dir, o.Directory); err != nil {
		return nil, err
	}
	if o.Addr, err = freeAddr(o.Addr); err != nil {
		return nil, err
	}
	if err := s.startLogin(o); err != nil {
		return nil, err
	}
	if err := s.startStores(ctx, o); err != nil {
		return nil, err
	}
	if err := s.startServer(ctx, o); err != nil {
		return nil, err
	}
	return s, s.writeInfo(o)
}

func (s *Stack) startStores(ctx context.Context, o Options) (err error) {
	fmt.Fprintln(o.Progress, "starting PostgreSQL")
	if s.Postgres, err = devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: filepath.Join(o.Dir, "postgres"), Fast: o.Fast, Log: o.Log}); err != nil {
		return err
	}
	if err := s.Postgres.EnsureDatabase(ctx, database); err != nil {
		return err
	}
	s.Info.Postgres = s.Postgres.DSN(database)
	if err := postgres.Migrate(ctx, s.Info.Postgres, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	fmt.Fprintln(o.Progress, "starting Temporal")
	attributes := map[string]string{}
	for name, kind := range workflows.SearchAttributes() {
		attributes[name] = attributeType(kind)
	}
	s.Temporal, err = devstack.StartTemporal(ctx, devstack.TemporalOptions{
		Dir: filepath.Join(o.Dir, "temporal"), Port: 7233, UIPort: 8233, SearchAttributes: attributes, Log: o.Log, Progress: o.Progress,
	})
	if err != nil {
		return err
	}
	s.Info.TemporalAddress, s.Info.TemporalUI = s.Temporal.Address, s.Temporal.UI
	return nil
}

func attributeType(t enumspb.IndexedValueType) string {
	switch t {
	case enumspb.INDEXED_VALUE_TYPE_BOOL:
		return "Bool"
	case enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST:
		return "KeywordList"
	default:
		return "Keyword"
	}
}

func (s *Stack) startServer(ctx context.Context, o Options) error {
	fmt.Fprintln(o.Progress, "starting the server")
	addr := o.Addr
	metrics, err := freeAddr("127.0.0.1:0")
	if err != nil {
		return err
	}
	args := []string{
		o.Binary, "server", "--addr", addr, "--metrics-addr", metrics,
		"--directory", o.Directory, "--identity", filepath.Join(o.Dir, identityFile),
		"--keys", filepath.Join(o.Dir, keysFile),
		"--secret", filepath.Join(o.Dir, secretFile),
	}
	if o.Lease != 0 {
		args = append(args, "--lease", o.Lease.String())
	}
	s.Server, err = devstack.StartProcess(devstack.ProcessOptions{
		Args: append(args, o.ServerArgs...), Log: o.Log,
		Env: append(os.Environ(), "AGENTPROCESS_POSTGRES="+s.Info.Postgres,
			"TEMPORAL_ADDRESS="+s.Temporal.Address, "TEMPORAL_NAMESPACE="+devstack.DefaultNamespace, "TEMPORAL_TLS=false"),
	})
	if err != nil {
		return err
	}
	base := "http://" + addr
	s.Info.MCP, s.Info.API, s.Info.Metrics = base+"/mcp", base+"/api", "http://"+metrics+"/metrics"
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	err = devstack.WaitReady(ctx, base+"/readyz", s.Server.Done())
	if errors.Is(err, devstack.ErrEnded) {
		err = fmt.Errorf("the server does not stay up: %w", s.Server.Err())
	}
	return err
}

// freeAddr settles the port now, so that the server has the same one when it is
// started again.
func freeAddr(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("address %q: %w", addr, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return "", fmt.Errorf("address %q: the port must be a number", addr)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(n)))
	if err != nil {
		l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// writeInfo writes dev.json, whole or not at all.
func (s *Stack) writeInfo(o Options) error {
	text, err := json.MarshalIndent(s.Info, "", "  ")
	if err != nil {
		return err
	}
	temp := filepath.Join(o.Dir, InfoFile+".new")
	if err := os.WriteFile(temp, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(o.Dir, InfoFile))
}

// Stop stops the server, then Temporal, then Postgres.
func (s *Stack) Stop() {
	s.stop.Do(func() {
		if s.Server != nil {
			s.Server.Stop()
		}
		if s.Temporal != nil {
			s.Temporal.Stop()
		}
		if s.Postgres != nil {
			s.Postgres.Stop()
		}
		if s.login != nil {
			s.login.stop()
		}
		if s.lock != nil {
			s.lock.Unlock()
		}
	})
}
