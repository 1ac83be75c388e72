package process

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	idPattern       = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	durationPattern = regexp.MustCompile(`^([0-9]+)([mhd])$`)
)

const (
	idRule     = "a lower-case letter, then up to 63 lower-case letters, digits, hyphens and underscores"
	maxMinutes = 1_000_000 * 24 * 60
)

var kinds = []Kind{Agent, Task, Approve, Wait, WaitUntil, WaitFor, Finish, Parallel}

// takes says which kinds a key goes with (spec §2.2, check profile §2).
var takes = map[string][]Kind{
	"output":     {Agent, Task},
	"evidence":   {Agent, Task},
	"next":       {Agent, Task, Approve, Wait, WaitUntil, WaitFor, Parallel},
	"person":     {Task, Approve},
	"on_reject":  {Approve},
	"due":        {Agent, Task, Approve},
	"timeout":    {WaitFor},
	"on_timeout": {WaitFor},
	"check":      {Agent, Task},
	"advisory":   {Agent, Task},
}

// ref is a step that another step names, and where it does.
type ref struct {
	to string
	at at
}

// draft is a step while the file is read: the step, and what the rules that
// look across steps need of it.
type draft struct {
	Step
	at at
	// label names the step in messages.
	label string
	// kinds are the kind keys found; a sound step has one.
	kinds     []string
	next      []ref
	onReject  []ref
	onTimeout []ref
	branches  []ref
	// named is set when the file gives `next`, whatever its worth.
	named  bool
	person *node
	until  *node
	keyAt  map[string]at
}

func (d *draft) settled() bool { return len(d.kinds) == 1 }

// steps reads the list, then the rules between steps.
func (r *report) steps(p *Process, n *node) {
	if n.shape != listNode || len(n.items) == 0 {
		r.add(n.at, "steps: expected a list of at least one step")
		return
	}
	g := &graph{report: r, process: p, index: map[string]int{}, fields: map[int]map[string]*Field{}}
	for i, item := range n.items {
		if item.shape != mapNode {
			r.add(item.at, "steps[%d]: expected a map with id and a kind, not %s", i, item.shape)
			g.unsure = true
			continue
		}
		d := r.step(item, i)
		g.steps = append(g.steps, d)
	}
	g.link()
	for _, d := range g.steps {
		for key, pos := range d.keyAt {
			p.at[d.ID+" "+key] = pos
		}
		p.Steps = append(p.Steps, d.Step)
	}
}

// step reads one step (spec §2.2).
func (r *report) step(n *node, i int) *draft {
	d := &draft{at: n.at, label: "steps[" + strconv.Itoa(i) + "]", keyAt: map[string]at{}}
	if id := n.get("id"); id == nil {
		r.add(n.at, "%s: add an id", d.label)
	} else if s, ok := r.text(id, d.label+": id"); ok {
		d.ID, d.at, d.label = s, id.at, "step "+quote(s)
		if !idPattern.MatchString(s) {
			r.add(id.at, "%s: an id is %s", d.label, idRule)
		}
	}
	for _, e := range n.pairs {
		if slices.Contains(kinds, Kind(e.key)) {
			d.kinds = append(d.kinds, e.key)
			d.Kind = Kind(e.key)
		}
	}
	if !d.settled() {
		r.unsettled(d, n)
		d.Kind = ""
	}
	for _, e := range n.pairs {
		d.keyAt[e.key] = e.at
		fit, optional := takes[e.key]
		switch {
		case e.key == "id":
		case slices.Contains(kinds, Kind(e.key)):
			r.kindValue(d, Kind(e.key), e.value)
		case !optional:
			r.add(e.at, "%s: unknown key %s", d.label, quote(e.key))
		case d.settled() && d.Kind == Finish && e.key == "next":
			r.add(e.at, "%s: a finish ends the run and takes no next; remove it", d.label)
		case d.settled() && !slices.Contains(fit, d.Kind):
			r.add(e.at, "%s: %s does not go with %s, only with %s; remove it", d.label, e.key, d.Kind, either(fit))
		default:
			r.optionalValue(d, e)
		}
	}
	r.together(d, n)
	return d
}

// unsettled says what is wrong with the kind keys.
func (r *report) unsettled(d *draft, n *node) {
	if len(d.kinds) == 0 {
		r.add(n.at, "%s: add one kind: %s", d.label, either(kinds))
		return
	}
	r.add(n.at, "%s: exactly one kind is allowed, found %s; keep one", d.label, strings.Join(d.kinds, " and "))
}

// together checks the keys that need one another.
func (r *report) together(d *draft, n *node) {
	if (d.Kind == Task || d.Kind == Approve) && n.get("person") == nil {
		r.add(n.at, "%s: add person: a role, initiator, or a path to a person", d.label)
	}
	if at, given := d.keyAt["advisory"]; given && n.get("check") == nil && (!d.settled() || d.Kind == Agent || d.Kind == Task) {
		r.add(at, "%s: advisory goes beside check; add check or remove advisory", d.label)
	}
	if d.settled() && d.Kind != WaitFor {
		return
	}
	if at, given := d.keyAt["on_timeout"]; given && n.get("timeout") == nil {
		r.add(at, "%s: on_timeout is never taken without timeout; add timeout or remove on_timeout", d.label)
	}
}

// kindValue reads the value of a kind key.
func (r *report) kindValue(d *draft, kind Kind, n *node) {
	what := d.label + ": " + string(kind)
	switch kind {
	case Agent, Task, Approve:
		d.Text, _ = r.say(n, what)
	case Wait:
		d.Wait = r.duration(n, what)
	case WaitUntil:
		if _, ok := r.say(n, what); ok {
			d.until = n
		}
	case WaitFor:
		if s, ok := r.text(n, what); ok {
			d.Event = s
			if !idPattern.MatchString(s) {
				r.add(n.at, "%s: an event name is %s", what, idRule)
			}
		}
	case Finish:
		if s, ok := r.say(n, what); ok {
			d.Outcome = s
			if strings.TrimSpace(s) != s || utf8.RuneCountInString(s) > 64 || strings.ContainsFunc(s, unprintable) {
				r.add(n.at, "%s: an outcome is one line of 1 to 64 characters, without white space at its ends", what)
			}
		}
	case Parallel:
		r.branches(d, n)
	}
}

func unprintable(c rune) bool { return c != ' ' && !unicode.IsGraphic(c) }

// optionalValue reads the value of an optional key.
func (r *report) optionalValue(d *draft, e pair) {
	what := d.label + ": " + e.key
	switch e.key {
	case "output":
		d.Output = r.fields(e.value, what)
	case "evidence":
		d.Evidence = r.evidence(e.value, what)
	case "next":
		d.named = true
		r.next(d, e.value, what)
	case "person":
		if _, ok := r.say(e.value, what); ok {
			d.person = e.value
		}
	case "on_reject":
		d.onReject = r.one(e.value, what)
	case "on_timeout":
		d.onTimeout = r.one(e.value, what)
	case "due":
		d.Due = r.duration(e.value, what)
	case "timeout":
		d.Timeout = r.duration(e.value, what)
	case "check":
		d.Check = r.check(e.value, what)
	case "advisory":
		d.Advisory = r.flag(e.value, what)
	}
}

// duration reads a duration (spec §2.4).
func (r *report) duration(n *node, what string) Duration {
	m := durationPattern.FindStringSubmatch(n.text)
	if n.shape != stringNode || m == nil {
		r.add(n.at, "%s: a duration is digits followed by m, h or d, such as 30m, 4h or 3d", what)
		return Duration{}
	}
	unit := map[string]int64{"m": 1, "h": 60, "d": 24 * 60}[m[2]]
	count, err := strconv.ParseInt(m[1], 10, 64)
	switch {
	case err != nil || count > maxMinutes/unit:
		r.add(n.at, "%s: %s is longer than 1000000d, the longest duration", what, quote(n.text))
		return Duration{}
	case count == 0:
		r.add(n.at, "%s: %s is no time at all; the shortest duration is 1m", what, quote(n.text))
	}
	return Duration{Minutes: count * unit}
}

// evidence reads the kinds of evidence a step asks for.
func (r *report) evidence(n *node, what string) []EvidenceKind {
	if n.shape != listNode {
		r.add(n.at, "%s: expected a list of file and link, not %s", what, n.shape)
		return nil
	}
	var out []EvidenceKind
	for _, item := range n.items {
		kind := EvidenceKind(item.text)
		switch {
		case item.shape != stringNode || kind != File && kind != Link:
			r.add(item.at, "%s: a kind of evidence is file or link, not %s", what, quote(item.text))
		case slices.Contains(out, kind):
			r.add(item.at, "%s: %s is listed twice; list it once", what, kind)
		default:
			out = append(out, kind)
		}
	}
	return out
}

// either lists kinds for a message: "agent, task or approve".
func either(list []Kind) string {
	words := make([]string, len(list))
	for i, k := range list {
		words[i] = string(k)
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
