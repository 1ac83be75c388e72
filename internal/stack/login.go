package stack

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/devlogin"
)

const (
	// identityFile has the server take the tokens of the login server.
	identityFile = "identity.yaml"
	// loginAddr is where the authorization server listens, unless that is taken.
	loginAddr = "127.0.0.1:8090"
	// directoryEvery is how often the directory file is looked at.
	directoryEvery = 2 * time.Second
)

// loginServer is the authorization server of a stack.
type loginServer struct {
	http *http.Server
	end  context.CancelFunc
}

// startLogin starts the authorization server, writes what has the server take its
// tokens, and issues one for everybody.
func (s *Stack) startLogin(o Options) error {
	fmt.Fprintln(o.Progress, "starting the login server")
	registry, err := identity.LoadRegistry(o.Directory)
	if err != nil {
		return err
	}
	org := registry.Organizations()[0] // it is one file
	key, err := identity.LoadOrCreateKey(filepath.Join(o.Dir, privateFile))
	if err != nil {
		return err
	}
	listener, err := listenLogin()
	if err != nil {
		return err
	}
	s.Info.Login = "http://" + listener.Addr().String()
	provider, err := devlogin.New(devlogin.Options{
		Issuer: s.Info.Login, Resource: "http://" + o.Addr + "/mcp", Key: key,
		Directory: func() *identity.Directory { return registry.Directory(org) },
	})
	if err != nil {
		_ = listener.Close()
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	s.login = &loginServer{
		http: &http.Server{Handler: provider, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute},
		end:  end,
	}
	go registry.Watch(ctx, directoryEvery, nil, slog.New(slog.DiscardHandler)) // the server logs what is wrong with it
	go func() { _ = s.login.http.Serve(listener) }()
	if err := os.WriteFile(filepath.Join(o.Dir, identityFile), []byte(provider.IdentityFile(org)), 0o600); err != nil {
		return err
	}
	s.Info.Secrets = provider.Secrets()
	s.Info.Tokens = map[string]string{}
	for _, id := range registry.Directory(org).Identities() {
		if s.Info.Tokens[id], err = provider.Token(id, tokensLast); err != nil {
			return err
		}
	}
	return nil
}

func listenLogin() (net.Listener, error) {
	l, err := net.Listen("tcp", loginAddr)
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	return l, err
}

func (l *loginServer) stop() {
	l.end()
	_ = l.http.Close()
}
