package process

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// shapes draws each kind in a form of its own: what opens and closes the node.
var shapes = map[Kind][2]string{
	Agent:     {"[", "]"},
	Task:      {"[/", "/]"},
	Approve:   {"{{", "}}"},
	Wait:      {"([", "])"},
	WaitUntil: {"([", "])"},
	WaitFor:   {">", "]"},
	Finish:    {"(((", ")))"},
	Parallel:  {"[[", "]]"},
}

// Mermaid draws the process as a Mermaid flowchart: one node a step, in a form by
// kind, `when` on the routes, rejections dashed, and a join node where branches
// meet. The nodes are named s0, s1, … in file order. No text of the file can
// break out of its label.
func (p *Process) Mermaid() string {
	m := mermaid{process: p, index: map[string]int{}, fork: map[string]int{}}
	for i := range p.Steps {
		m.index[p.Steps[i].ID] = i
	}
	for i := range p.Steps {
		for _, e := range p.Steps[i].Branches {
			m.branch(e, i)
		}
	}
	m.line("flowchart TD")
	m.line(`    start(("start"))`)
	for i := range p.Steps {
		m.node(i)
	}
	m.line("    start --> s0")
	for i := range p.Steps {
		m.edges(i)
	}
	for _, k := range kinds {
		m.line("    classDef %s %s", k, styles[k])
	}
	return m.text.String()
}

// styles colours the kinds: agents, people, the server.
var styles = map[Kind]string{
	Agent:     "fill:#e3f2fd,stroke:#1565c0",
	Task:      "fill:#fff8e1,stroke:#ef6c00",
	Approve:   "fill:#fff3e0,stroke:#ef6c00",
	Wait:      "fill:#f5f5f5,stroke:#616161",
	WaitUntil: "fill:#f5f5f5,stroke:#616161",
	WaitFor:   "fill:#f5f5f5,stroke:#616161",
	Finish:    "fill:#e8f5e9,stroke:#2e7d32",
	Parallel:  "fill:#f3e5f5,stroke:#6a1b9a",
}

type mermaid struct {
	process *Process
	text    strings.Builder
	index   map[string]int
	// fork is the parallel step of every step in a branch.
	fork map[string]int
}

func (m *mermaid) line(format string, args ...any) {
	fmt.Fprintf(&m.text, format+"\n", args...)
}

// branch notes which parallel step a branch belongs to.
func (m *mermaid) branch(entry string, fork int) {
	for queue := []string{entry}; len(queue) > 0; queue = queue[1:] {
		i, ok := m.index[queue[0]]
		if _, seen := m.fork[queue[0]]; seen || !ok {
			continue
		}
		s := &m.process.Steps[i]
		m.fork[s.ID] = fork
		queue = append(queue, s.Next, s.OnTimeout)
		for _, route := range s.Routes {
			queue = append(queue, route.To)
		}
	}
}

// node draws one step.
func (m *mermaid) node(i int) {
	s := &m.process.Steps[i]
	lines := []string{s.ID, string(s.Kind)}
	switch s.Kind {
	case Task, Approve:
		lines[1] += ": " + s.Person.String()
	case Wait:
		lines[1] += " " + s.Wait.String()
	case WaitUntil:
		if s.Until != nil {
			lines[1] += " " + s.Until.String()
		}
	case WaitFor:
		lines[1] += " " + s.Event
	case Finish:
		lines[1] += ": " + s.Outcome
	}
	if len(s.Check) > 0 {
		lines = append(lines, map[bool]string{true: "checked (advisory)", false: "checked"}[s.Advisory])
	}
	for n := range lines {
		lines[n] = label(lines[n])
	}
	form := shapes[s.Kind]
	m.line(`    s%d%s"%s"%s:::%s`, i, form[0], strings.Join(lines, "<br/>"), form[1], s.Kind)
	if s.Kind == Parallel {
		m.line(`    j%d(("join")):::%s`, i, s.Kind)
	}
}

// edges draws what leads out of one step.
func (m *mermaid) edges(i int) {
	s := &m.process.Steps[i]
	from := "s" + strconv.Itoa(i)
	if s.Kind == Parallel {
		for _, e := range s.Branches {
			m.edge(s, from, "-->", e, "")
		}
		from = "j" + strconv.Itoa(i)
	}
	timeout := ""
	if s.Kind == WaitFor && !s.Timeout.IsZero() {
		timeout = "timeout " + s.Timeout.String()
	}
	switch {
	case s.Kind == Approve:
		m.edge(s, from, "-->", s.Next, "approved")
	case s.Next != "":
		m.edge(s, from, "-->", s.Next, "")
	}
	for _, route := range s.Routes {
		m.edge(s, from, "-->", route.To, route.When)
	}
	if timeout != "" {
		m.edge(s, from, "-->", s.OnTimeout, timeout)
	}
	if s.OnReject != "" {
		m.edge(s, from, "-.->", s.OnReject, "rejected")
	}
}

func (m *mermaid) edge(s *Step, from, arrow, to, text string) {
	target := ""
	if i, ok := m.index[to]; ok {
		target = "s" + strconv.Itoa(i)
	} else if i, ok := m.fork[s.ID]; ok && to == Join {
		target = "j" + strconv.Itoa(i)
	} else {
		return
	}
	if text != "" {
		arrow += `|"` + label(text) + `"|`
	}
	m.line("    %s %s %s", from, arrow, target)
}

// label makes any text safe inside the quotes of a Mermaid label: what is not a
// letter, a digit or plain punctuation becomes a character code, white space one
// space, and a long text is cut.
func label(s string) string {
	const most = 80
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > most {
		runes = append(runes[:most-1], '…')
	}
	var b strings.Builder
	for _, c := range runes {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune(" .,:-_()/…", c) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "#%d;", c)
		}
	}
	return b.String()
}
