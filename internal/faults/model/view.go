package model

import (
	"encoding/json"
	"time"

	"github.com/agentprocess-temporal/server/run"
)

func sameView(r *run.Run, v *run.View) bool { return comparableView(r.View()) == comparableView(*v) }

// comparableView is a view without what need not be equal: the handoff, which
// refusals change; links; and moments of writes that do not show theirs.
func comparableView(v run.View) string {
	v.Body = ""
	v.Run.UpdatedAt = time.Time{}
	v.Data = v.Data.WithURLs(func(string) string { return "" })
	v.WorkItems = append([]run.WorkItem{}, v.WorkItems...)
	for i := range v.WorkItems {
		w := &v.WorkItems[i]
		w.Handoff = nil
		if w.Escalation != nil {
			w.Escalation = &run.Escalation{Note: w.Escalation.Note, By: w.Escalation.By}
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was read from JSON, or is about to be sent as such
	}
	return string(text)
}
