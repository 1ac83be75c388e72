package workflows

import "go.temporal.io/sdk/workflow"

// The counters that runs keep themselves. The SDK leaves out what is counted
// again in a replay.
const (
	MetricLeasesLost = "agentprocess_leases_expired"
	MetricOverdues   = "agentprocess_steps_overdue"
	MetricVerdicts   = "agentprocess_check_verdicts"
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

// verdict is the newest verdict of the run: about which step and when it was
// reached, and what it is.
func (w *processRun) verdict() (of, result string) {
	if len(w.r.Judged) == 0 {
		return "", ""
	}
	j := &w.r.Judged[len(w.r.Judged)-1]
	return j.Step + "@" + j.At.String(), string(j.Verdict)
}

// countVerdict counts the newest verdict, unless it was there before.
func (w *processRun) countVerdict(ctx workflow.Context, before string) {
	if of, result := w.verdict(); of != before {
		workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"result": result}).Counter(MetricVerdicts).Inc(1)
	}
}
