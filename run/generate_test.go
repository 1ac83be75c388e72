package run_test

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"
)

// generator draws a valid process: a main line that goes on to the next step
// by default, with detours forward, forks, and rejections back.
type generator struct {
	t     *rapid.T
	steps []map[string]any
	// before are the steps of the main line so far, for rejections.
	before []string
	// people and moments are paths to what earlier steps may hold.
	people, moments []string
	n               int
}

// processText draws the frontmatter of a process.
func processText(t *rapid.T) string {
	g := &generator{t: t, people: []string{"inputs.who"}, moments: []string{"inputs.when"}}
	length := rapid.SampledFrom([]int{1, 2, 3, 4, 5}).Draw(t, "length")
	names := make([]string, length+1)
	for i := range names {
		names[i] = fmt.Sprintf("m%d", i)
	}
	for i, id := range names[:length] {
		g.main(id, names[i+1], names[i+1:])
	}
	g.add(map[string]any{"id": names[length], "finish": "finished"})
	return "inputs: { when: { type: datetime, optional: true }, who: { type: person, optional: true } }\nsteps: " + text(g.steps)
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (g *generator) add(step map[string]any) { g.steps = append(g.steps, step) }

func (g *generator) chance(percent int, what string) bool {
	return chance(g.t, percent, what)
}

// main adds a step of the main line; onward are the main steps it may lead to,
// the next one first.
func (g *generator) main(id, next string, onward []string) {
	kind := rapid.SampledFrom([]string{"agent", "agent", "task", "approve", "approve", "parallel", "wait", "wait_until", "wait_for"}).Draw(g.t, "kind")
	if kind == "parallel" {
		g.fork(id, next)
		g.before = append(g.before, id)
		return
	}
	step := g.step(id, kind, next, onward)
	if kind == "approve" && g.chance(70, "rejects") {
		switch {
		case g.chance(25, "repairs"):
			// A step that only this rejection reaches, and that leads back over
			// some of what came before.
			g.n++
			repair := fmt.Sprintf("repair%d", g.n)
			step["on_reject"] = repair
			back := rapid.SampledFrom(append([]string{id}, g.before...)).Draw(g.t, "back")
			g.add(map[string]any{"id": repair, "agent": "Repair it.", "next": back})
		default:
			step["on_reject"] = rapid.SampledFrom(append([]string{id}, g.before...)).Draw(g.t, "on_reject")
		}
	}
	g.add(step)
	g.swapLast(step)
	g.before = append(g.before, id)
}

// swapLast keeps the first step of the file the first of the main line.
func (g *generator) swapLast(step map[string]any) {
	if last := len(g.steps) - 1; last > 0 && step["id"] == "m0" {
		g.steps[0], g.steps[last] = g.steps[last], g.steps[0]
	}
}

// step draws one step of a kind that leads to next, and where it may choose to
// any of onward too.
func (g *generator) step(id, kind, next string, onward []string) map[string]any {
	step := map[string]any{"id": id, "next": next}
	switch kind {
	case "agent", "task":
		step[kind] = "Do it."
		if g.chance(60, "output") {
			step["output"] = map[string]any{
				"n":   "number",
				"who": map[string]any{"type": "person", "optional": true},
				"at":  map[string]any{"type": "datetime", "optional": true},
			}
			g.people = append(g.people, "steps."+id+".output.who")
			g.moments = append(g.moments, "steps."+id+".output.at")
		}
		if g.chance(20, "evidence") {
			step["evidence"] = []string{"file"}
		}
		if g.chance(35, "check") {
			step["check"] = []any{
				map[string]any{"ask": "Is it so?", "pass": 0.8, "fail": 0.3},
				map[string]any{"ask": "What is it?", "one_of": map[string]any{"good": "Good.", "bad": "Bad."}, "pass": []string{"good"}},
			}
			if g.chance(30, "advisory") {
				step["advisory"] = true
			}
		}
		if len(onward) > 1 && g.chance(40, "routes") {
			other := rapid.SampledFrom(onward[1:]).Draw(g.t, "other")
			step["next"] = []any{next, map[string]any{"to": other, "when": "It helps."}}
		}
	case "approve":
		step["approve"] = "Is it fine?"
	case "wait":
		step["wait"] = rapid.SampledFrom([]string{"1m", "10m", "2h"}).Draw(g.t, "wait")
	case "wait_until":
		step["wait_until"] = rapid.SampledFrom(g.moments).Draw(g.t, "until")
	case "wait_for":
		step["wait_for"] = rapid.SampledFrom([]string{"paid", "sent"}).Draw(g.t, "event")
		if g.chance(60, "timeout") {
			step["timeout"] = rapid.SampledFrom([]string{"5m", "1h"}).Draw(g.t, "timeout")
			if g.chance(60, "on_timeout") {
				step["on_timeout"] = rapid.SampledFrom(onward).Draw(g.t, "late")
			}
		}
	}
	if kind == "task" || kind == "approve" {
		step["person"] = g.person()
	}
	if (kind == "agent" || kind == "task" || kind == "approve") && g.chance(40, "due") {
		step["due"] = rapid.SampledFrom([]string{"1m", "10m", "1h"}).Draw(g.t, "due")
	}
	return step
}

func (g *generator) person() string {
	if g.chance(15, "by path") {
		return rapid.SampledFrom(g.people).Draw(g.t, "path")
	}
	return rapid.SampledFrom([]string{"finance", "finance", "legal", "initiator"}).Draw(g.t, "person")
}

// fork adds a parallel step and its branches.
func (g *generator) fork(id, next string) {
	var entries []string
	people, moments := g.people, g.moments
	at := len(g.steps)
	g.add(nil)
	for b := range rapid.IntRange(2, 3).Draw(g.t, "branches") {
		length := rapid.IntRange(1, 3).Draw(g.t, "branch length")
		names := make([]string, length, length+1)
		for i := range names {
			names[i] = fmt.Sprintf("%s_b%d_%d", id, b, i)
		}
		entries = append(entries, names[0])
		names = append(names, "join")
		for i, member := range names[:length] {
			kind := rapid.SampledFrom([]string{"agent", "agent", "task", "approve", "wait", "wait_until", "wait_for"}).Draw(g.t, "branch kind")
			step := g.step(member, kind, names[i+1], names[i+1:])
			if kind == "approve" && g.chance(70, "branch rejects") {
				step["on_reject"] = rapid.SampledFrom(names[:i+1]).Draw(g.t, "branch on_reject")
			}
			g.add(step)
		}
	}
	// What a sibling holds may not be there yet: a later step may read it, or fail.
	if g.chance(50, "forget") {
		g.people, g.moments = people, moments
	}
	g.steps[at] = map[string]any{"id": id, "parallel": entries, "next": next}
}
