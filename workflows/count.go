package workflows

import "go.temporal.io/sdk/workflow"

// The counters that runs keep themselves. The SDK leaves out what is counted
// again in a replay.
const (
	MetricLeasesLost = "agentprocess_leases_expired"
	MetricOverdues   = "agentprocess_steps_overdue"
)

// count tells the worker's metrics what deadlines have done since the last time.
func (w *processRun) count(ctx workflow.Context) {
	counters := workflow.GetMetricsHandler(ctx)
	if n := w.r.LeasesLost - w.leasesLost; n > 0 {
		counters.Counter(MetricLeasesLost).Inc(n)
	}
	if n := w.r.Overdues - w.overdues; n > 0 {
		counters.Counter(MetricOverdues).Inc(n)
	}
	w.leasesLost, w.overdues = w.r.LeasesLost, w.r.Overdues
}
