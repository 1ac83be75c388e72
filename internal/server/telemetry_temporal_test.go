package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/notify"
	"github.com/agentprocess-temporal/server/run"
)

// exposed is what Prometheus reads, line by line.
func exposed(t *testing.T, s *Server) []string {
	t.Helper()
	res, err := http.Get(s.MetricsURL) //nolint:noctx // on loopback, in a test
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return strings.Split(string(text), "\n")
}

func TestWhatTemporalTimesHasBoundsInSecondsAndOurMetricsHaveOurLabelsOnly(t *testing.T) {
	s := Start(t, func(o *server.Options) { o.MetricsAddr, o.Lease = "127.0.0.1:0", time.Second })
	s.Publish(overdueSoon, map[string]string{"role": "finance"})
	id := Must[run.View](s, Mira, "start_run", Args{"process": "overdue-soon", "inputs": Args{}, "requestId": ID()}).Run.ID
	Must[claimed](s, A1, "claim", Args{"runId": id, "stepId": "work", "requestId": ID()})
	require.Eventually(t, func() bool {
		sum, _ := scrape(t, s)
		return sum("agentprocess_leases_expired_total") == 1
	}, time.Minute, 100*time.Millisecond)

	timed := 0
	allowed := map[string]bool{
		"tool": true, "result": true, "stage": true, "process": true, "kind": true, "state": true, "executed": true, "le": true,
	}
	for _, line := range exposed(t, s) {
		if strings.HasPrefix(line, "temporal_request_latency_seconds_bucket") && strings.Contains(line, `le="0.005"`) {
			timed++
		}
		if !strings.HasPrefix(line, "agentprocess_") {
			continue
		}
		for _, label := range regexp.MustCompile(`([a-z_]+)="`).FindAllStringSubmatch(line, -1) {
			require.True(t, allowed[label[1]], line)
		}
	}
	require.Positive(t, timed)
}

// talkative is a channel whose errors say whom it could not reach.
type talkative struct{ failed chan struct{} }

func (c talkative) Deliver(context.Context, []notify.Notification) error {
	select {
	case c.failed <- struct{}{}:
	default:
	}
	return errors.New("no mailbox for hidden@example.com")
}

func TestATraceSaysThatThereWasAnErrorAndNotWhatItSays(t *testing.T) {
	c := &collector{spans: map[string]string{}, names: map[string]string{}}
	h := httptest.NewServer(c)
	t.Cleanup(h.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", h.URL+"/v1/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	channel := talkative{failed: make(chan struct{}, 2)}
	s := Start(t, func(o *server.Options) { o.Channel = channel })
	s.Publish(overdueSoon, map[string]string{"role": "finance"})
	id := Must[run.View](s, Mira, "start_run", Args{"process": "overdue-soon", "inputs": Args{}, "requestId": ID()}).Run.ID
	token := Must[claimed](s, A1, "claim", Args{"runId": id, "stepId": "work", "requestId": ID()}).Token
	Must[run.View](s, A1, "submit", Args{"token": token, "output": Args{}, "summary": "x", "requestId": ID()})
	<-channel.failed
	<-channel.failed // so the first try has ended
	s.Stop()
	require.Contains(t, c.parents("RunActivity:Notify"), "StartActivity:Notify")
	require.Contains(t, c.text.String(), "code:STATUS_CODE_ERROR")
	require.NotContains(t, c.text.String(), "hidden@example.com")
	s.Run() // for the cleanup, which stops it
}

func TestOverdueRunsAreCountedUntilSomebodyActs(t *testing.T) {
	s := Start(t, func(o *server.Options) { o.MetricsAddr = "127.0.0.1:0" })
	s.Publish(overdueSoon, map[string]string{"role": "finance"})
	id := Must[run.View](s, Mira, "start_run", Args{"process": "overdue-soon", "inputs": Args{}, "requestId": ID()}).Run.ID
	count := func(want float64) {
		t.Helper()
		require.Eventually(t, func() bool {
			sum, names := scrape(t, s)
			return slices.Contains(names, "agentprocess_runs_overdue") && sum("agentprocess_runs_overdue") == want
		}, 2*time.Minute, time.Second)
	}
	count(0)
	count(1) // its due is a minute after its start
	sum, _ := scrape(t, s)
	require.InDelta(t, 1, sum("agentprocess_steps_overdue_total"), 0)
	require.InDelta(t, 1, sum("agentprocess_notifications_total", "kind", "overdue", "result", "sent"), 0)
	token := Must[claimed](s, A1, "claim", Args{"runId": id, "stepId": "work", "requestId": ID()}).Token
	Must[run.View](s, A1, "submit", Args{"token": token, "output": Args{}, "summary": "x", "requestId": ID()})
	count(0)
}
