package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
	"gopkg.in/yaml.v3"

	"github.com/agentprocess-temporal/server/evaluator/openai/openaitest"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

const overdueSoon = `---
name: overdue-soon
description: d.
steps:
  - { id: work, agent: Do it., due: 1m, next: ask }
  - { id: ask, person: role, approve: Good?, next: end }
  - { id: end, finish: done }
---
`

// scrape reads the metrics: the sum of each metric's samples that have these
// labels, and the names of all.
func scrape(t *testing.T, s *Server) (sum func(name string, labels ...string) float64, names []string) {
	t.Helper()
	res, err := http.Get(s.MetricsURL) //nolint:noctx // on loopback, in a test
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, http.StatusOK, res.StatusCode)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	require.NoError(t, err)
	for name := range families {
		names = append(names, name)
	}
	slices.Sort(names)
	return func(name string, labels ...string) (total float64) {
		for _, m := range families[name].GetMetric() {
			have := map[string]string{}
			for _, l := range m.GetLabel() {
				have[l.GetName()] = l.GetValue()
			}
			matches := true
			for i := 0; i+1 < len(labels); i += 2 {
				matches = matches && have[labels[i]] == labels[i+1]
			}
			if matches {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		return total
	}, names
}

// load makes a server do a bit of everything, and returns its metrics after it.
func load(t *testing.T) (sum func(name string, labels ...string) float64, names []string) {
	t.Helper()
	s := startChecking(t, func(o *server.Options) { o.MetricsAddr, o.Lease = "127.0.0.1:0", 2*time.Second })
	s.Publish(one, nil)
	s.Publish(overdueSoon, map[string]string{"role": "finance"})
	id := s.begin("one", Args{})
	token := s.claim(id, "work").Token
	good := work(token)
	_ = s.Refused(run.NotAccepted, A1, "submit", Args{"token": token, "output": Args{}, "summary": "x", "requestId": ID()})
	first := Must[json.RawMessage](s.Server, A1, "submit", good)
	require.JSONEq(t, string(first), string(Must[json.RawMessage](s.Server, A1, "submit", good)))
	_ = s.Refused(run.Invalid, A1, "claim", Args{"runId": id})
	lost := s.begin("one", Args{})
	s.begin("one", Args{}) // stays ready
	s.claim(lost, "work")
	waiting := s.begin("overdue-soon", Args{})
	Must[run.View](s.Server, A1, "submit", Args{
		"token":  Must[claimed](s.Server, A1, "claim", Args{"runId": waiting, "stepId": "work", "requestId": ID()}).Token,
		"output": Args{}, "summary": "x", "requestId": ID(),
	})
	s.evaluator.Answer(always(openaitest.Reply{Status: 503}))
	unchecked := s.begin("one", Args{})
	_ = s.Refused(run.Retry, A1, "submit", work(s.claim(unchecked, "work").Token))
	// The lease that was lost is over once its step can be claimed again.
	require.Eventually(t, func() bool {
		return s.Call(A2, "claim", Args{"runId": lost, "stepId": "work", "requestId": ID()}).OK
	}, time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool { // news is delivered, and the lost lease stored, after the answers
		sum, names = scrape(t, s.Server)
		return sum("agentprocess_reconciler_passes_total", "result", "ok") > 0 &&
			sum("agentprocess_notifications_total") > 0 && sum("agentprocess_projection_lag_seconds") > 0
	}, time.Minute, 100*time.Millisecond)
	return sum, names
}

func TestWhatHappensIsMeasured(t *testing.T) {
	sum, _ := load(t)
	require.InDelta(t, 5, sum("agentprocess_calls_total", "tool", "start_run", "result", "ok"), 0)
	require.InDelta(t, 3, sum("agentprocess_calls_total", "tool", "submit", "result", "ok"), 0)
	require.InDelta(t, 1, sum("agentprocess_calls_total", "tool", "submit", "result", "not_accepted"), 0)
	require.InDelta(t, 1, sum("agentprocess_calls_total", "tool", "submit", "result", "retry"), 0)
	require.InDelta(t, 1, sum("agentprocess_calls_total", "tool", "claim", "result", "invalid"), 0, "a call that does not fit the schema")
	require.InDelta(t, 1, sum("agentprocess_check_verdicts_total", "result", "pass"), 0)
	require.InDelta(t, 1, sum("agentprocess_check_verdicts_total"), 0, "one that is not answered is no verdict")
	require.InDelta(t, 1, sum("agentprocess_replays_total", "tool", "submit"), 0)
	require.InDelta(t, 5, sum("agentprocess_call_duration_seconds", "tool", "submit"), 0)
	require.InDelta(t, 2, sum("agentprocess_write_stage_duration_seconds", "tool", "submit", "stage", "apply"), 0)
	for _, stage := range []string{"look", "reserve", "verify", "update", "apply"} {
		require.Positive(t, sum("agentprocess_write_stage_duration_seconds", "tool", "claim", "stage", stage), stage)
	}
	require.Positive(t, sum("agentprocess_leases_expired_total"))
	require.Positive(t, sum("agentprocess_projection_lag_seconds"), "the run stored that its lease was lost")
	require.InDelta(t, 1, sum("agentprocess_notifications_total", "kind", "work", "result", "sent"), 0)
	require.InDelta(t, 1, sum("agentprocess_evaluations_total", "kind", "yes_no", "result", "answered"), 0)
	require.InDelta(t, 2, sum("agentprocess_evaluations_total", "kind", "yes_no", "result", "failed"), 0, "once more by itself")
	require.InDelta(t, 4, sum("agentprocess_runs_open"), 0)
	require.InDelta(t, 1, sum("agentprocess_work_items_open", "process", "overdue-soon"), 0)
	require.Positive(t, sum("agentprocess_steps_ready", "process", "one"))
	require.Positive(t, sum("temporal_request_total"), "what the SDK measures is there, too")
}

// documented are the metrics of docs/observability.md.
func documented(t *testing.T) (text string, names []string) {
	raw, err := os.ReadFile("../../docs/observability.md")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?m)^\\| `(agentprocess_[a-z_]+)`").FindAllStringSubmatch(string(raw), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return string(raw), names
}

func TestEveryMetricIsDocumentedAndWhatDashboardAndAlertsNeedIsThere(t *testing.T) {
	_, names := load(t)
	_, known := documented(t)
	// What needs a step that is a minute late, or a server that died, is not there
	// after so short a time.
	rare := []string{"agentprocess_steps_overdue_total", "agentprocess_reservations_settled_total"}
	var ours []string
	for _, n := range names {
		if strings.HasPrefix(n, "agentprocess_") {
			ours = append(ours, n)
		}
	}
	ours = append(ours, rare...)
	slices.Sort(ours)
	require.Equal(t, slices.Compact(ours), known)

	needed := regexp.MustCompile(`\b(agentprocess|temporal)_[a-z_]+\b`)
	for _, file := range []string{"dashboard.json", "alerts.yaml"} {
		raw, err := os.ReadFile("../../docs/observability/" + file)
		require.NoError(t, err)
		if file == "alerts.yaml" {
			var rules struct {
				Groups []struct {
					Rules []struct {
						Alert, Expr, For string
						Annotations      struct{ Summary, Reason, Action string }
					}
				}
			}
			require.NoError(t, yaml.Unmarshal(raw, &rules))
			for _, r := range rules.Groups[0].Rules {
				for _, each := range []string{r.Alert, r.Expr, r.For, r.Annotations.Summary, r.Annotations.Reason, r.Annotations.Action} {
					require.NotEmpty(t, each, r.Alert)
				}
			}
		} else {
			require.True(t, json.Valid(raw))
		}
		used := needed.FindAllString(string(raw), -1)
		require.NotEmpty(t, used)
		for _, name := range used {
			base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
			require.True(t, slices.Contains(names, base) || slices.Contains(rare, base), "%s uses %s, which is not measured", file, name)
		}
	}
}

// collector takes traces, as an OTLP collector does over HTTP.
type collector struct {
	mu    sync.Mutex
	spans map[string]string // the name of each, and its parent's
	names map[string]string // by span id
	text  strings.Builder
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in tracepb.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &in) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.WriteString(in.String())
	for _, rs := range in.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.names[string(s.SpanId)] = s.Name
				c.spans[string(s.SpanId)] = string(s.ParentSpanId)
			}
		}
	}
}

// parents are the names of the spans from one up to its root.
func (c *collector) parents(name string) (path []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, n := range c.names {
		if n != name {
			continue
		}
		path = nil
		for at := id; at != ""; at = c.spans[at] {
			path = append(path, c.names[at])
		}
	}
	return path
}

func TestAWriteIsOneTraceFromItsCallToItsRun(t *testing.T) {
	c := &collector{spans: map[string]string{}, names: map[string]string{}}
	h := httptest.NewServer(c)
	t.Cleanup(h.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", h.URL+"/v1/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	s := Start(t)
	s.Publish(onboarding, map[string]string{"finance-approver": "finance"})
	id := Must[run.View](s, Mira, "start_run", Args{"process": "supplier-onboarding", "inputs": Args{"vendorName": "Hidden Ltd", "amount": 1}, "requestId": ID()}).Run.ID
	claim := Must[claimed](s, A1, "claim", Args{"runId": id, "stepId": "screen", "requestId": ID()})
	s.Stop() // which sends what was traced

	require.Equal(t, []string{"look", "tools/call claim"}, c.parents("look"))
	require.Equal(t, []string{"apply", "tools/call claim"}, c.parents("apply"))
	require.Equal(t, []string{"UpdateWorkflow:claim", "tools/call claim"}, c.parents("UpdateWorkflow:claim"))
	require.Equal(t, []string{"HandleUpdate:claim", "UpdateWorkflow:claim", "tools/call claim"}, c.parents("HandleUpdate:claim"))
	for _, secret := range []string{"Hidden Ltd", claim.Token, "mira@example.com", s.Token(A1)} {
		require.NotContains(t, c.text.String(), secret)
	}
	s.Run() // for the cleanup, which stops it
}
