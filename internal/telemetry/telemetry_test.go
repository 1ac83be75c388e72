package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/telemetry"
	"github.com/agentprocess-temporal/server/notify"
	"github.com/agentprocess-temporal/server/run"
)

type tool struct{ refused *run.Error }

func (c tool) Call(context.Context, identity.Caller, string, json.RawMessage) (json.RawMessage, *run.Error) {
	return json.RawMessage(`{}`), c.refused
}

func start(t testing.TB) *telemetry.Telemetry {
	t.Helper()
	m, err := telemetry.New(context.Background(), "test", true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close(context.Background())) })
	return m
}

func scraped(t testing.TB, m *telemetry.Telemetry) (status int, text string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), "GET", "/metrics", nil))
	raw, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.Code, string(raw)
}

func TestACallIsCountedByItsResult(t *testing.T) {
	m := start(t)
	_, _ = m.Calls(tool{}).Call(t.Context(), identity.Caller{Org: "acme", Subject: "a1"}, "claim", nil)
	_, refused := m.Calls(tool{run.Refuse(run.Stale, "x")}).Call(t.Context(), identity.Caller{}, "claim", nil)
	require.Equal(t, run.Stale, refused.Code)
	_, text := scraped(t, m)
	require.Contains(t, text, `agentprocess_calls_total{result="ok",tool="claim"} 1`)
	require.Contains(t, text, `agentprocess_calls_total{result="stale",tool="claim"} 1`)
	require.NotContains(t, text, "acme")
}

type channel struct{ err error }

func (c channel) Deliver(context.Context, []notify.Notification) error { return c.err }

func TestWhatAChannelDoesNotTakeIsCountedApart(t *testing.T) {
	m := start(t)
	news := []notify.Notification{{Kind: notify.Work}, {Kind: notify.Overdue}}
	require.NoError(t, m.Channel(channel{}).Deliver(t.Context(), news))
	require.Error(t, m.Channel(channel{errors.New("x")}).Deliver(t.Context(), news[:1]))
	_, text := scraped(t, m)
	require.Contains(t, text, `agentprocess_notifications_total{kind="work",result="sent"} 1`)
	require.Contains(t, text, `agentprocess_notifications_total{kind="work",result="failed"} 1`)
	require.Contains(t, text, `agentprocess_notifications_total{kind="overdue",result="sent"} 1`)
}

func TestWithoutPostgresTheOtherMetricsAreThere(t *testing.T) {
	m := start(t)
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/x")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, m.Watch(pool, slog.New(slog.DiscardHandler)))
	m.Replayed(t.Context(), "claim")
	status, text := scraped(t, m)
	require.Equal(t, 200, status)
	require.Contains(t, text, "agentprocess_replays_total")
	require.NotContains(t, text, "agentprocess_requests_pending")
}

func TestNoEvaluatorStaysNone(t *testing.T) {
	require.Nil(t, start(t).Evaluator(nil))
}

func TestTheEnvironmentSaysWhatIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		env map[string]string
		bad bool
	}{
		"nothing":             {nil, false},
		"an unknown exporter": {map[string]string{"OTEL_TRACES_EXPORTER": "carrier-pigeon"}, true},
		"another one":         {map[string]string{"OTEL_METRICS_EXPORTER": "carrier-pigeon"}, true},
		"none":                {map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false},
		"switched off":        {map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "carrier-pigeon"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			m, err := telemetry.New(context.Background(), "test", true)
			require.Equal(t, c.bad, err != nil, "%v", err)
			if err == nil {
				require.False(t, c.env == nil && m == nil)
			}
		})
	}
}

// BenchmarkOneWrite is what measuring adds to a write, traces left out.
func BenchmarkOneWrite(b *testing.B) {
	m := start(b)
	call := m.Calls(tool{})
	b.ReportAllocs()
	for b.Loop() {
		_, _ = call.Call(b.Context(), identity.Caller{}, "claim", nil)
		for _, stage := range []string{"look", "reserve", "verify", "update", "apply"} {
			m.Stage(b.Context(), "claim", stage, time.Millisecond)
		}
	}
}
