package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/agentprocess-temporal/server/run"
)

// Operation is one write, or the read at the end, and its answer. Exactly one of
// Start, Command and Read is set.
type Operation struct {
	Start   *run.Start
	Command *run.Command
	Read    bool

	// Call and Return are when it was sent first and answered at last.
	Call, Return time.Time
	// At is when it was carried out, as far as that is known.
	At time.Time

	// Refused is the answer if it was refused.
	Refused *run.Error
	// Claim is what a claim or a renewal granted, ConsumedBy the wait that took an
	// event, View what a read showed.
	Claim      *run.Granted
	ConsumedBy string
	View       *run.View
	// Note is printed with the operation.
	Note string
}

// precision is what the run cuts times to.
const precision = time.Millisecond

// state is a run, and the last moment at which it is known to have been.
type state struct {
	r    *run.Run
	last time.Time
	sum  [32]byte
}

// seal computes what two states are compared by.
func (s *state) seal() *state {
	s.r.Requests = nil // a requestId that comes again is no matter of the model
	text, err := json.Marshal([]any{s.r.State, s.r.Snapshot, s.r.Steps, s.r.Held, s.r.Items, s.r.Claims, s.r.Completions, s.r.Notified, s.last})
	if err != nil {
		panic(err) // strings, numbers and times
	}
	s.sum = sha256.Sum256(text)
	return s
}

// Result is what Check found.
type Result struct {
	Linearizable bool
	// GaveUp means that the time did not suffice.
	GaveUp bool
	// Longest is how many operations can be put in order at most, and Stuck a
	// description of those that cannot follow.
	Longest int
	Stuck   []string
}

// Check looks for an order of the operations of one run.
func Check(operations []Operation, limit time.Duration) Result {
	history := make([]porcupine.Operation, len(operations))
	for i := range operations {
		o := &operations[i]
		history[i] = porcupine.Operation{ClientId: i % 64, Input: o, Call: o.Call.UnixNano(), Return: o.Return.UnixNano()}
	}
	m := porcupine.Model{
		Init:  func() any { return (*state)(nil) },
		Step:  func(s, o, _ any) (bool, any) { return step(s.(*state), o.(*Operation)) },
		Equal: func(a, b any) bool { return equal(a.(*state), b.(*state)) },
		Hash:  func(s any) uint64 { return hash(s.(*state)) },
	}
	verdict, info := porcupine.CheckOperationsVerbose(m, history, limit)
	result := Result{Linearizable: verdict == porcupine.Ok, GaveUp: verdict == porcupine.Unknown}
	if verdict == porcupine.Illegal {
		result.explain(operations, info)
	}
	return result
}

// explain finds the longest order there is, and what each of the rest would have
// done after it.
func (r *Result) explain(operations []Operation, info porcupine.LinearizationInfo) {
	var longest []int
	for _, partition := range info.PartialLinearizations() {
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	r.Longest = len(longest)
	var s *state
	for _, i := range longest {
		if ok, next := step(s, &operations[i]); ok {
			s = next.(*state)
		}
	}
	rest := []int{}
	for i := range operations {
		if !slices.Contains(longest, i) {
			rest = append(rest, i)
		}
	}
	slices.SortFunc(rest, func(a, b int) int { return operations[a].Call.Compare(operations[b].Call) })
	for _, i := range rest[:min(len(rest), 4)] {
		r.Stuck = append(r.Stuck, fmt.Sprintf("%s: %s", operations[i].Note, wouldBe(s, &operations[i])))
	}
	for _, i := range longest[max(0, len(longest)-4):] {
		r.Stuck = append(r.Stuck, "after "+operations[i].Note)
	}
}

func equal(a, b *state) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.sum == b.sum
}

func hash(s *state) uint64 {
	if s == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(s.sum[:])
}

// step carries an operation out on a state, and tells whether the answer fits.
func step(s *state, o *Operation) (bool, any) {
	if o.Start != nil {
		if s != nil || o.Refused != nil {
			return o.Refused != nil, s
		}
		return true, (&state{r: run.New(*o.Start, o.At), last: o.At}).seal()
	}
	if s == nil {
		return false, (*state)(nil)
	}
	for _, now := range moments(s, o) {
		if next := try(s, o, now); next != nil {
			return true, next
		}
	}
	return false, s
}

// moments are those at which an operation may have been carried out: the known
// one, or the earliest and every deadline after it.
func moments(s *state, o *Operation) []time.Time {
	from, to := o.Call.Truncate(precision), o.Return.Add(precision)
	if s.last.After(from) {
		from = s.last
	}
	if !o.At.IsZero() {
		if o.At.Before(from) || o.At.After(to) {
			return nil
		}
		return []time.Time{o.At}
	}
	if from.After(to) {
		return nil
	}
	all := []time.Time{from}
	for r := s.r.Clone(); ; {
		next := r.NextDeadline()
		if next.IsZero() || next.After(to) {
			return all
		}
		if next.After(from) {
			all = append(all, next)
		}
		r.Advance(next)
	}
}

// try is the state after an operation at a moment, nil if the answer differs.
func try(s *state, o *Operation, now time.Time) *state {
	r := s.r.Clone()
	if o.Read {
		r.Advance(now)
		if !sameView(r, o.View) {
			return nil
		}
		return (&state{r: r, last: now}).seal()
	}
	outcome, refused := r.Execute(*o.Command, now)
	if refused == nil {
		refused = outcome.Refusal
	}
	switch {
	case o.Refused != nil:
		if refused == nil || refused.Code != o.Refused.Code || !slices.Equal(refused.Issues, o.Refused.Issues) {
			return nil
		}
		if outcome.Refusal == nil {
			return s // time will pass for others, too
		}
	case refused != nil, !sameGrant(outcome.Claim, o.Claim), outcome.ConsumedBy != o.ConsumedBy:
		return nil
	}
	return (&state{r: r, last: now}).seal()
}

func sameGrant(a, b *run.Granted) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Holder == b.Holder && a.ExpiresAt.Equal(b.ExpiresAt)
}

// wouldBe describes what an operation comes to in a state, for whoever reads why
// it cannot have been there.
func wouldBe(s *state, o *Operation) string {
	if s == nil {
		return "the run has not started"
	}
	when := moments(s, o)
	if len(when) == 0 {
		return fmt.Sprintf("it was carried out at %v; the run had been at %v, the call lasted from %v to %v", o.At, s.last, o.Call, o.Return)
	}
	r := s.r.Clone()
	if o.Read {
		r.Advance(when[0])
		return fmt.Sprintf("the run reads\n    %s\n  and not\n    %s", comparableView(r.View()), comparableView(*o.View))
	}
	outcome, refused := r.Execute(*o.Command, when[0])
	return fmt.Sprintf("would come to %+v %v", outcome, refused)
}
