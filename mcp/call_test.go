package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/mcp"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/schemas"
)

var versions = []string{newest, handshake, structured, batches, ""}

// texts are values that a decoder on the way would change or refuse.
var texts = []string{
	`12345678901234567890.123456789012345678901234567890`,
	`1234567890123456789012345678901234567890`,
	`-0.10`, `1e400`, `-1E-400`, `9007199254740993`,
	`"<a href=\"x\">&\u2028\u0000</a>"`, `"\u00e9 é 😀"`, `[1.0,{"b":2,"a":1.00}]`,
}

func startRun(value string) string {
	return `{"process":"p","inputs":{"n":` + value + `},"requestId":"00000000-0000-4000-8000-000000000001"}`
}

func TestNumbersComeThroughAsTheyWereWritten(t *testing.T) {
	url := serve(t, echo, mcp.Options{})
	client := dial(t, url, "a1")
	for _, value := range texts {
		args := startRun(value)
		for _, version := range versions {
			m := send(t, "POST", url, toolCall(version, "start_run", args)).message(t)
			require.Len(t, m.Result.Content, 1, "%s %+v", version, m.Error)
			require.Equal(t, `{"ok":true,"data":`+args+`}`, m.Result.Content[0].Text, version)
			requireSameValue(t, m.Result.Content[0].Text, string(m.Result.StructuredContent))
			require.False(t, m.Result.IsError)
		}
		result, err := client.Call(t.Context(), "start_run", json.RawMessage(args))
		require.NoError(t, err)
		require.True(t, result.OK)
		require.Nil(t, result.Error)
		requireSameValue(t, args, string(result.Data))
	}
}

// requireSameValue compares JSON texts without rounding a number.
func requireSameValue(t *testing.T, a, b string) {
	t.Helper()
	decode := func(text string) (v any) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		require.NoError(t, d.Decode(&v), text)
		return v
	}
	require.Equal(t, decode(a), decode(b))
}

func TestEachCallSeesItsOwnCaller(t *testing.T) {
	url := serve(t, func(_ context.Context, c identity.Caller, tool string, _ json.RawMessage) (json.RawMessage, *run.Error) {
		return json.RawMessage(`"` + c.Subject + " " + tool + `"`), nil
	}, mcp.Options{})
	var g errgroup.Group
	for i := range 8 {
		subject := fmt.Sprintf("a%d", i)
		client := dial(t, url, subject)
		for range 4 {
			g.Go(func() error {
				for range 10 {
					result, err := client.Call(t.Context(), "get_work", nil)
					if err != nil {
						return err
					}
					if want := `"` + subject + ` get_work"`; string(result.Data) != want {
						return fmt.Errorf("%s instead of %s", result.Data, want)
					}
				}
				return nil
			})
		}
	}
	require.NoError(t, g.Wait())
}

func TestInvalidArgumentsListEveryIssue(t *testing.T) {
	url := serve(t, func(context.Context, identity.Caller, string, json.RawMessage) (json.RawMessage, *run.Error) {
		return json.RawMessage(`"reached"`), nil
	}, mcp.Options{})
	client := dial(t, url, "a1")
	for name, c := range map[string]struct {
		tool, args string
		issues     int
	}{
		"all is missing":          {"claim", `{}`, 3},
		"no arguments":            {"claim", `null`, 3},
		"wrong types and unknown": {"claim", `{"runId":1,"stepId":[],"requestId":{},"more":1}`, 4},
		"no object":               {"claim", `[]`, 1},
		"a member given twice":    {"claim", `{"runId":"r_1","runId":"r_1","stepId":"a","requestId":"00000000-0000-4000-8000-000000000001"}`, 1},
		"a limit that is no number of items, of 40 digits": {"get_work", `{"limit":1234567890123456789012345678901234567890}`, 1},
	} {
		for _, version := range versions {
			m := send(t, "POST", url, toolCall(version, c.tool, c.args)).message(t)
			require.Nil(t, m.Error, name)
			require.True(t, m.Result.IsError, name)
			var got struct {
				OK    bool
				Error run.Error
			}
			require.NoError(t, json.Unmarshal(m.Result.StructuredContent, &got))
			require.False(t, got.OK)
			require.Equal(t, run.Invalid, got.Error.Code, name)
			require.Equal(t, schemas.CheckArguments(c.tool, json.RawMessage(c.args)), got.Error.Issues, name)
			require.Len(t, got.Error.Issues, c.issues, name)
		}
	}
	result, err := client.Call(t.Context(), "get_work", nil)
	require.NoError(t, err)
	require.Equal(t, `"reached"`, string(result.Data))
}

func TestAbsentArgumentsAreAnEmptyObject(t *testing.T) {
	url := serve(t, echo, mcp.Options{})
	for _, version := range versions {
		for _, params := range []string{`{"name":"describe"`, `{"name":"describe","arguments":null`, `{"name":"describe","arguments": {} `} {
			m := send(t, "POST", url, request(version, "tools/call", "describe", params)).message(t)
			require.Equal(t, `{"ok":true,"data":{}}`, string(m.Result.StructuredContent), version)
		}
	}
}

func TestARefusalIsAToolResultWithIsError(t *testing.T) {
	url := serve(t, refuse, mcp.Options{})
	want := run.Refuse(run.Conflict, "Another agent <holds> this step.", "claimed_by_other")
	for _, tool := range schemas.Tools() {
		schema := compile(t, schemas.OutputSchema(tool))
		for _, version := range versions {
			args := `{}`
			if len(schemas.CheckArguments(tool, json.RawMessage(args))) > 0 {
				continue // refused before
			}
			m := send(t, "POST", url, toolCall(version, tool, args)).message(t)
			require.True(t, m.Result.IsError)
			require.Equal(t, `{"ok":false,"error":{"code":"conflict","message":"Another agent <holds> this step.","issues":["claimed_by_other"]}}`, m.Result.Content[0].Text)
			requireSameValue(t, m.Result.Content[0].Text, string(m.Result.StructuredContent))
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(m.Result.StructuredContent))
			require.NoError(t, err)
			require.NoError(t, schema.Validate(value))
		}
	}
	result, err := dial(t, url, "a1").Call(t.Context(), "describe", nil)
	require.NoError(t, err)
	require.False(t, result.OK)
	require.Nil(t, result.Data)
	require.Equal(t, want, result.Error)
}

func TestWhatGoesWrongHereIsRetryAndLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })

	for name, f := range map[string]ops{
		"a panic": func(context.Context, identity.Caller, string, json.RawMessage) (json.RawMessage, *run.Error) {
			panic("internal detail")
		},
		"data that is not JSON": func(context.Context, identity.Caller, string, json.RawMessage) (json.RawMessage, *run.Error) {
			return json.RawMessage(`{internal detail`), nil
		},
		"no data": func(context.Context, identity.Caller, string, json.RawMessage) (json.RawMessage, *run.Error) {
			return nil, nil
		},
	} {
		log.Reset()
		url := serve(t, f, mcp.Options{})
		m := send(t, "POST", url, toolCall(newest, "describe", `{}`)).message(t)
		require.True(t, m.Result.IsError, name)
		require.Contains(t, string(m.Result.StructuredContent), `"code":"retry"`, name)
		require.NotContains(t, string(m.Result.StructuredContent), "detail", name)
		require.Equal(t, 1, strings.Count(log.String(), "level="), "%s: %s", name, log.String())
		require.Contains(t, log.String(), "tool=describe", name)
	}
}

func TestACallGoesOnWhenItsClientLeavesAndItsRequestWaitsForIt(t *testing.T) {
	for _, version := range versions {
		begun, left, returned := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		finished := errors.New("the request ended before its call")
		h := bearer.Middleware(names{}, mcp.New(ops(func(ctx context.Context, _ identity.Caller, _ string, args json.RawMessage) (json.RawMessage, *run.Error) {
			close(begun)
			<-left
			finished = ctx.Err()
			return args, nil
		}), mcp.Options{}))
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			context.AfterFunc(r.Context(), func() { close(left) })
			h.ServeHTTP(w, r)
			returned <- finished
		}))
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- try(ctx, s.URL, toolCall(version, "describe", `{}`)) }()
		<-begun
		leave()
		require.ErrorIs(t, <-gone, context.Canceled)
		require.NoError(t, <-returned, version)
		s.Close()
	}
}
