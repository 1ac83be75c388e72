package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/oauth2"
)

const (
	clientVariable = "AGENTPROCESS_CLIENT"
	// defaultClient is the client id of the command line, to be registered at the
	// identity provider as a public, human client.
	defaultClient = "agentprocess-cli"
	// signInWithin bounds how long a person may take in the browser.
	signInWithin = 5 * time.Minute
)

func newLoginCommand() *cobra.Command {
	var to, client, scope string
	var noBrowser bool
	cmd := &cobra.Command{
		Use:   "login [--server URL]",
		Short: "Sign in for the command line",
		Long: `Sign in with a browser, at the identity provider that the server names. The
tokens are kept in a file that only you may read, and used and renewed by the
commands that talk to this server; --token and AGENTPROCESS_TOKEN go first.

What holds these tokens is you: it can approve and cancel. Keep them where no
agent reads them.

The identity provider must know the client id (--client) as a public client with
PKCE and the redirect address http://127.0.0.1/callback, on any port.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			base, err := serverAddress(to)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), signInWithin)
			defer cancel()
			open := openBrowser
			if noBrowser {
				open = func(context.Context, string) error { return nil }
			}
			l := login{client: client, scopes: strings.Fields(scope), out: cmd.OutOrStdout(), open: open}
			kept, err := l.run(ctx, base)
			if err != nil {
				return err
			}
			path, err := keepLogin(base, *kept)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "Signed in at %s. The tokens are in %s.\n", base, path)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&to, "server", "", "address of the server, such as https://process.example.com ("+serverVariable+")")
	f.StringVar(&client, "client", env(clientVariable, defaultClient), "client id of the command line at the identity provider ("+clientVariable+")")
	f.StringVar(&scope, "scope", "openid email offline_access", "scopes to ask for, and those that the server names")
	f.BoolVar(&noBrowser, "no-browser", false, "only print the address to open")
	return cmd
}

func newLogoutCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "logout [--server URL]",
		Short: "Forget the tokens of a sign-in",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			base, err := serverAddress(to)
			if err != nil {
				return err
			}
			return forgetLogin(base)
		},
	}
	cmd.Flags().StringVar(&to, "server", "", "address of the server ("+serverVariable+")")
	return cmd
}

func init() {
	commands[groupCatalog] = append(commands[groupCatalog], newLoginCommand, newLogoutCommand)
}

// login is one sign-in: authorization code with PKCE, answered on loopback
// (RFC 8252 §7.3).
type login struct {
	client string
	scopes []string
	out    io.Writer
	open   func(ctx context.Context, address string) error
}

func (l login) run(ctx context.Context, base string) (*savedLogin, error) {
	found, err := discover(ctx, base)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = listener.Close() }() // closed by the server already
	config := found.config(l.client, append(l.scopes, found.scopes...))
	config.RedirectURL = "http://" + listener.Addr().String() + "/callback"
	verifier, state := oauth2.GenerateVerifier(), rand.Text()
	address := config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", found.resource))

	back, stop := await(listener, state)
	defer stop()
	_, _ = fmt.Fprintf(l.out, "Sign in with your browser:\n\n  %s\n\n", address)
	if err := l.open(ctx, address); err != nil {
		_, _ = fmt.Fprintln(l.out, "The browser could not be opened: open the address yourself.")
	}
	var code string
	select {
	case r := <-back:
		if r.err != nil {
			return nil, r.err
		}
		code = r.code
	case <-ctx.Done():
		return nil, errors.New("nobody signed in")
	}
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(verifier), oauth2.SetAuthURLParam("resource", found.resource))
	if err != nil {
		return nil, fmt.Errorf("the identity provider does not give a token: %w", err)
	}
	return &savedLogin{Token: token, TokenURL: config.Endpoint.TokenURL, Client: l.client}, nil
}

// cameBack is with what a browser came back.
type cameBack struct {
	code string
	err  error
}

// await serves the one request with which the browser comes back, until stop.
func await(listener net.Listener, state string) (back <-chan cameBack, stop func()) {
	done := make(chan cameBack, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1 {
			http.Error(w, "This is not the sign-in that is waited for.", http.StatusBadRequest)
			return
		}
		res := cameBack{code: q.Get("code")}
		if res.code == "" {
			res.err = fmt.Errorf("not signed in: %s", oneLine(q.Get("error")+" "+q.Get("error_description"), 200))
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "Done. You can close this window and go back to the command line.\n")
		select {
		case done <- res:
		default: // one is enough
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return done, func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(closing) // the browser has its answer
	}
}

func openBrowser(ctx context.Context, address string) error {
	var name string
	var args []string
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler"}
	default:
		name = "xdg-open"
	}
	// It goes on when this program ends.
	return exec.CommandContext(context.WithoutCancel(ctx), name, append(args, address)...).Start() //nolint:gosec // the program is fixed, the address is what the server named
}

// serverAddress is the base address of a server, as tokens are kept for.
func serverAddress(given string) (string, error) {
	if given == "" {
		given = env(serverVariable, "")
	}
	if given == "" {
		return "", misuse("say which server: --server (or %s)", serverVariable)
	}
	api, err := apiAddress(given)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(api, "/api"), nil
}

// isPrivate reports whether tokens may be sent to an address: over TLS, or to
// this machine.
func isPrivate(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
