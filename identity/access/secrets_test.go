package access

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/evaluator/openai"
	"github.com/agentprocess-temporal/server/evaluator/openai/openaitest"
	"github.com/agentprocess-temporal/server/internal/keyring"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

const judged = `---
name: judged
description: Checked.
steps:
  - { id: work, agent: Do it., output: { text: string }, check: Is it done?, next: done }
  - { id: done, finish: done }
---
X.
`

// everything is what a server says anywhere: its log at its most talkative, every
// event of every history, its error answers, and the audit log.
type everything struct{ parts map[string]*strings.Builder }

func (e *everything) add(where, text string) {
	if e.parts[where] == nil {
		e.parts[where] = &strings.Builder{}
	}
	e.parts[where].WriteString(text + "\n")
}

func TestNoSecretIsSaidAnywhere(t *testing.T) {
	const apiKey = "sk-secret-of-the-evaluator"
	signing, secret := []byte("signing-key-of-thirty-two-bytes!"), []byte("secret-for-ids-of-thirty-two-byt")
	ring, err := keyring.New("k1", map[string][]byte{"k1": signing})
	require.NoError(t, err)
	log := &Lines{}
	endpoint := openaitest.Start(t, func(c openaitest.Call) openaitest.Reply { return openaitest.Yes(c, 1) })
	asker, err := openai.New(openai.Options{URL: endpoint.URL, Model: "m", APIKey: apiKey})
	require.NoError(t, err)
	const temporalKey = "key-of-temporal-cloud-0123456789"
	w := start(t, func(o *server.Options) {
		o.Temporal.Credentials, o.Temporal.ConnectionOptions.TLSDisabled = client.NewAPIKeyStaticCredentials(temporalKey), true
		o.MetricsAddr = "127.0.0.1:0"
		// One that a cluster without passwords does not ask for is a secret, too.
		if dsn, err := url.Parse(o.Postgres); err == nil {
			if _, has := dsn.User.Password(); !has {
				dsn.User = url.UserPassword(dsn.User.Username(), "password-of-postgres-0123456789")
				o.Postgres = dsn.String()
			}
		}
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.Keys, o.Secret, o.Evaluator = ring, secret, asker
	})
	w.Publish(judged, nil)
	w.Publish(evidenceProcess, nil)
	said := &everything{parts: map[string]*strings.Builder{}}
	refuse := func(id, tool string, args Args) {
		t.Helper()
		r := w.Call(id, tool, args)
		require.False(t, r.OK, tool)
		said.add("error answers", fmt.Sprintf("%+v", r.Error))
	}

	// Writes that succeed, are refused, come twice, and fail inside.
	judgedRun := Must[run.View](w.Server, A1, "start_run", Args{"process": "judged", "inputs": Args{}, "requestId": ID()}).Run.ID
	token := Must[run.ClaimView](w.Server, A1, "claim", Args{"runId": judgedRun, "stepId": "work", "requestId": ID()}).Token
	good := Args{"token": token, "output": Args{"text": "x"}, "summary": "Done.", "requestId": ID()}
	refuse(A2, "submit", with(good, "requestId", ID()))
	refuse(A1, "submit", with(good, "output", Args{}))
	endpoint.Answer(func(openaitest.Call) openaitest.Reply {
		return openaitest.Reply{Status: 401, Body: `{"error":{"message":"` + apiKey + `"}}`}
	})
	refuse(A1, "submit", good)
	endpoint.Answer(func(c openaitest.Call) openaitest.Reply { return openaitest.Yes(c, 1) })
	Must[run.View](w.Server, A1, "submit", good)
	Must[run.View](w.Server, A1, "submit", good)
	refuse(A1, "submit", with(good, "requestId", ID()))
	refuse(A1, "escalate", Args{"token": token, "note": "x", "requestId": ID()})
	refuse(A1, "renew", Args{"token": token + "A", "requestId": ID()})
	link := w.fileLink()
	w.over()

	// Credentials that are turned away.
	bad := w.Token(A1)
	bad = bad[:len(bad)-4] + "AAAA"
	for _, header := range []string{bad, w.TokenWith(map[string]any{"aud": "https://other.test/mcp"})} {
		res, text := w.http(header, http.MethodPost, "/mcp", `{}`)
		require.Equal(t, http.StatusUnauthorized, res.StatusCode)
		said.add("error answers", text+fmt.Sprint(res.Header))
	}
	res, text := w.http("", http.MethodGet, strings.Replace(link, "&s=", "&s=A", 1), "")
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	said.add("error answers", text)

	// Uploads, and servers that do not come up.
	Must[any](w.Server, A1, "upload", uploadArgs())
	refuse(A1, "upload", with(uploadArgs(), "contentBase64", "-"))
	for _, change := range []func(o *server.Options){
		func(o *server.Options) { o.Postgres = strings.Replace(o.Postgres, "?", "x?sslmode=none&", 1) },
		func(o *server.Options) {
			o.Postgres = "host = 127.0.0.1 port = x password = " + passwordOf(t, o.Postgres)
		},
		func(o *server.Options) { o.Temporal.Namespace = "never-heard-of" },
		func(o *server.Options) { o.Temporal.HostPort = "127.0.0.1:1" },
	} {
		o := w.Options
		o.Addr, o.MetricsAddr = "127.0.0.1:0", ""
		change(&o)
		_, err := server.New(t.Context(), o)
		require.Error(t, err)
		said.add("errors of the command", err.Error())
	}
	metrics, err := http.Get(w.MetricsURL) //nolint:noctx // on loopback, in a test
	require.NoError(t, err)
	shown, err := io.ReadAll(metrics.Body)
	require.NoError(t, err)
	require.NoError(t, metrics.Body.Close())
	require.Contains(t, string(shown), "agentprocess")
	said.add("metrics", string(shown))

	require.NoError(t, err)
	secrets := map[string]string{
		"bearer token": w.Token(A1), "refused bearer token": bad, "claim token": token, "evaluator's key": apiKey,
		"signing key": string(signing), "signing key, as hex": hex.EncodeToString(signing), "signing key, as base64": base64.StdEncoding.EncodeToString(signing),
		"secret": string(secret), "secret, as base64": base64.StdEncoding.EncodeToString(secret),
	}
	if u, err := url.Parse(link); err == nil {
		secrets["link to a file"] = u.RawQuery
	}
	secrets["password of Postgres"] = passwordOf(t, w.Options.Postgres)
	secrets["key of Temporal"] = temporalKey

	lines, _ := log.All()
	said.add("log", strings.Join(lines, "\n"))
	require.NotEmpty(t, said.parts["log"].String())
	_, audit := w.http(w.Token(Boss), http.MethodGet, "/api/audit", "")
	said.add("audit log", audit)
	require.Contains(t, audit, "submit")
	w.histories(said)
	require.Contains(t, said.parts["histories"].String(), "Done.", "payloads can be read here")
	for where, text := range said.parts {
		for what, secret := range secrets {
			// Of a token, a part would do harm, too.
			require.NotContains(t, text.String(), secret, "%s holds the %s", where, what)
			if len(secret) > 60 {
				require.NotContains(t, text.String(), secret[len(secret)-40:], "%s holds a part of the %s", where, what)
			}
		}
	}
	lines, _ = w.Notifications.All()
	for what, secret := range secrets {
		require.NotContains(t, strings.Join(lines, "\n"), secret, "notifications hold the %s", what)
	}
}

func passwordOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	password, _ := u.User.Password()
	require.NotEmpty(t, password)
	return password
}

// with is args with one changed, under a requestId of its own.
func with(args Args, key string, value any) Args {
	changed := Args{}
	for k, v := range args {
		changed[k] = v
	}
	changed["requestId"], changed[key] = ID(), value
	return changed
}

// histories adds every event of every workflow of the server, payloads decoded.
func (w world) histories(into *everything) {
	w.t.Helper()
	ctx := context.Background()
	c, err := client.Dial(client.Options{HostPort: w.Temporal.Address, Namespace: w.Temporal.Namespace})
	require.NoError(w.t, err)
	defer c.Close()
	listed, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: `WorkflowType = 'ProcessRun'`})
	require.NoError(w.t, err)
	require.NotEmpty(w.t, listed.Executions)
	for _, each := range listed.Executions {
		events := c.GetWorkflowHistory(ctx, each.Execution.WorkflowId, each.Execution.RunId, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			require.NoError(w.t, err)
			text, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(e)
			require.NoError(w.t, err)
			into.add("histories", string(text)+e.String())
		}
	}
}
