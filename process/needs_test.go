package process_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
)

func TestWhatAServerLacksIsNamedWithItsPosition(t *testing.T) {
	p := parse(t, string(read(t, "testdata/golden/onboarding.md")))
	all := []string{
		`16:5: step "screen": evidence needs the tool upload, which this server does not offer`,
		`22:20: step "prepare": parallel needs the profile parallel-1, which this server does not offer`,
		`23:18: step "badge": wait_for needs the tool send_event, which this server does not offer`,
		`25:60: step "laptop": check needs the profile check-1, which this server does not offer`,
	}
	require.Equal(t, all, p.Missing(nil, nil).Strings())
	require.Equal(t, []string{all[1]}, p.Missing([]string{"check-1"}, []string{"upload", "send_event"}).Strings())
	require.Equal(t, []string{all[0]}, p.Missing([]string{"check-1", "parallel-1"}, []string{"send_event"}).Strings())
	require.Empty(t, p.Missing([]string{"check-1", "parallel-1"}, []string{"upload", "send_event"}))
	require.Equal(t, process.Use{Name: "check-1", Line: 25, Col: 60, Step: "laptop", Key: "check"}, p.Needs().Profiles[1])
}

func TestNeedsSurviveJSONWithoutPositions(t *testing.T) {
	raw, err := json.Marshal(parse(t, string(read(t, "testdata/golden/onboarding.md"))))
	require.NoError(t, err)
	var p process.Process
	require.NoError(t, json.Unmarshal(raw, &p))
	require.Equal(t, process.Issues{{Message: `step "prepare": parallel needs the profile parallel-1, which this server does not offer`}},
		p.Missing([]string{"check-1"}, []string{"upload", "send_event"}))
}

func TestRolesAreListedOnceAndSorted(t *testing.T) {
	p := parse(t, wrap(`inputs: { boss: person }
steps:
  - { id: a, task: x, person: zebra }
  - { id: b, approve: x, person: apple }
  - { id: c, task: x, person: zebra }
  - { id: d, task: x, person: inputs.boss }
  - { id: done, finish: done }
`))
	require.Equal(t, []string{"apple", "zebra"}, p.Roles())
	require.False(t, p.UsesInitiator())
	require.True(t, parse(t, string(read(t, "testdata/golden/onboarding.md"))).UsesInitiator())
}

// mermaidLine matches every line a map may consist of, whatever is in its labels.
var mermaidLine = regexp.MustCompile(`^(flowchart TD|    start\(\("start"\)\)|    start --> s0|    classDef [a-z_]+ fill:#[0-9a-f]{6},stroke:#[0-9a-f]{6}|` +
	`    [sj][0-9]+(\[|\[/|\{\{|\(\[|>|\(\(\(|\[\[|\(\()"(?:[^"\[\]{}<>|;` + "`" + `]|<br/>|#[0-9]+;)*"(\]|/\]|\}\}|\]\)|\)\)\)|\]\]|\)\)):::[a-z_]+|` +
	`    [sj][0-9]+ (-->|-\.->)(\|"(?:[^"\[\]{}<>|;` + "`" + `]|#[0-9]+;)*"\|)? [sj][0-9]+)$`)

func TestNoTextBreaksOutOfTheMap(t *testing.T) {
	hostile := []string{`a"] --> s1`, "`md`", `<script>alert(1)</script>`, `#quot;`, `a|b`, `end`, `%% c`, `}}`, "x\u2028y", `\"`, `:::agent`, strings.Repeat("long ", 100), `&lt;`}
	for _, text := range hostile {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		p, issues := process.Parse([]byte(wrap(`steps:
  - { id: a, agent: x, next: [{ to: b, when: ` + string(quoted) + ` }, done] }
  - { id: b, finish: ` + string(quoted) + ` }
  - { id: done, finish: done }
`)))
		if p == nil {
			require.NotEmpty(t, issues)
			p = parse(t, wrap("steps:\n  - { id: a, agent: x, next: [{ to: b, when: "+string(quoted)+" }, done] }\n  - { id: b, finish: b }\n  - { id: done, finish: done }\n"))
		}
		for _, line := range strings.Split(strings.TrimSuffix(p.Mermaid(), "\n"), "\n") {
			require.Regexp(t, mermaidLine, line, "for %q", text)
		}
	}
}

func TestDurationsAndAssigneesReadAsWritten(t *testing.T) {
	for minutes, want := range map[int64]string{1: "1m", 60: "1h", 90: "90m", 1440: "1d", 2880: "2d", 1500: "25h", 0: "0m"} {
		require.Equal(t, want, process.Duration{Minutes: minutes}.String())
	}
	require.Equal(t, "boss", (&process.Assignee{Role: "boss"}).String())
	require.Equal(t, "initiator", (&process.Assignee{Initiator: true}).String())
	require.Equal(t, "steps.a.output.b", (&process.Assignee{Path: &process.Path{Step: "a", Field: "b"}}).String())
	require.Empty(t, (*process.Assignee)(nil).String())
}
