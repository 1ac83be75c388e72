package main

import (
	"context"
	"slices"
	"time"

	"github.com/agentprocess-temporal/server/operations"
)

// latency is measured with one caller.
type latency struct {
	Claim  compared `json:"claim"`
	Submit compared `json:"submit"`
}

// compared is a write beside a bare update of its size.
type compared struct {
	Bare  spread  `json:"bare"`
	Ours  spread  `json:"ours"`
	Ratio float64 `json:"ratio"`
	// Ratios are those of the rounds: how much the machine disturbed.
	Ratios []float64 `json:"ratios"`
	// Stages are the stages of the write, in their order.
	Stages []stage `json:"stages"`
}

type stage struct {
	Name string `json:"name"`
	spread
}

// outside names what a call took besides the stages of its write: HTTP, MCP,
// the credential, the checking of arguments, the answer.
const outside = "mcp, http"

var stageNames = []string{
	operations.StageLook, operations.StageReserve, operations.StageVerify, operations.StageUpdate, operations.StageApply,
}

// latency works whole runs beside bare workflows of as many updates.
func (w *writes) latency(ctx context.Context, rounds int) (*latency, error) {
	if _, _, err := w.latencyRound(ctx); err != nil { // warm up
		return nil, err
	}
	w.stages.take()
	var bare, ours [2]samples
	l := &latency{}
	both := [2]*compared{&l.Claim, &l.Submit}
	for range rounds {
		b, o, err := w.latencyRound(ctx)
		if err != nil {
			return nil, err
		}
		for kind, c := range both {
			bare[kind], ours[kind] = append(bare[kind], b[kind]...), append(ours[kind], o[kind]...)
			c.Ratios = append(c.Ratios, ratio(ms(o[kind].quantile(0.5)), ms(b[kind].quantile(0.5))))
		}
	}
	took := w.stages.take()
	for kind, c := range both {
		c.Bare, c.Ours = bare[kind].spread(), ours[kind].spread()
		c.Ratio = ratio(c.Ours.P50, c.Bare.P50)
		rest := c.Ours.Mean
		for _, name := range stageNames {
			s := took[stageKey{[]string{"claim", "submit"}[kind], name}].spread()
			rest -= s.Mean
			c.Stages = append(c.Stages, stage{name, s})
		}
		c.Stages = append(c.Stages, stage{outside, spread{N: c.Ours.N, Mean: rounded(rest)}})
	}
	return l, nil
}

// latencyRound is one bare workflow and one run: of each, the durations of
// claims and of submissions. The two take turns call by call, and in who is
// first, so that each finds the machine as the other left it: Temporal answers
// an update that follows another at once faster than one after a pause.
func (w *writes) latencyRound(ctx context.Context) (bare, ours [2]samples, err error) {
	id, err := startBare(ctx, w.client, len(w.sizes))
	if err != nil {
		return bare, ours, err
	}
	runID, err := w.caller.start(ctx, sequenceName)
	if err != nil {
		return bare, ours, err
	}
	var token string
	for i, size := range w.sizes {
		both := []struct {
			into *samples
			call func() error
		}{
			{&bare[i%2], func() error { return updateBare(ctx, w.client, id, size) }},
			{&ours[i%2], func() error { return w.write(ctx, runID, i, &token) }},
		}
		if i/2%2 == 1 {
			slices.Reverse(both)
		}
		for _, one := range both {
			began := time.Now()
			if err := one.call(); err != nil {
				return bare, ours, err
			}
			*one.into = append(*one.into, time.Since(began))
		}
	}
	return bare, ours, nil
}
