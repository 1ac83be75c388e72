// Package telemetry is what a server tells of itself: metrics, for Prometheus or
// over OTLP, and traces over OTLP. docs/observability.md says what each metric
// means.
//
// Metrics carry names of tools, stages, processes and error codes: no id, no
// person, no organization. Traces carry the ids of workflows besides, which have
// the organization and the run in them. Neither carries anything that somebody
// wrote.
//
// The pure packages and the use cases know nothing of it: it wraps the seams that
// they have (operations.Service.Observe, evaluator.Evaluator, notify.Channel, the
// guard's Call). Start at [New].
package telemetry
