package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

const initiated = `
steps:
  - { id: ask, person: initiator, task: A. }
  - { id: done, finish: ok }`

const byPath = `
inputs: { who: { type: person, optional: true } }
steps:
  - { id: ask, person: inputs.who, approve: A? }
  - { id: done, finish: ok }`

func TestInitiator(t *testing.T) {
	t.Run("is the person who started the run (spec §3.4)", func(t *testing.T) {
		w := begin(t, initiated)
		require.Equal(t, run.Assignment{Person: mira.ID}, w.item("ask").AssignedTo)
		w.refused(run.Forbidden, finn, w.decideOf("ask", run.Completed, ""))
		w.decide(mira, "ask", run.Completed, "")
	})
	t.Run("an agent cannot start a run that has a step for the initiator (spec §3.4)", func(t *testing.T) {
		err := run.CheckStart(parse(t, initiated), nil, ada, run.Limits{RunDataBytes: 1000}, nil)
		require.Equal(t, run.Invalid, err.Code)
		require.Len(t, err.Issues, 1)
	})
	t.Run("a run that an agent started has none (spec §3.4)", func(t *testing.T) {
		w := begin(t, oneAgent, by(ada))
		require.Empty(t, w.r.Initiator)
		require.Equal(t, ada.ID, w.r.StartedBy)
	})
	t.Run("should there be one all the same, the run fails and says why", func(t *testing.T) {
		r := run.New(startOf(parse(t, initiated), by(ada)), epoch)
		require.Equal(t, "person: an agent started this run, so it has no initiator", *r.Record.Ended.Note)
	})
}

func TestPersonPath(t *testing.T) {
	t.Run("names the one person who may decide (spec §2.2)", func(t *testing.T) {
		w := begin(t, byPath, inputs(`{"who":"finn@example.com"}`))
		require.Equal(t, run.Assignment{Person: finn.ID}, w.item("ask").AssignedTo)
		w.refused(run.Forbidden, faye, w.decideOf("ask", run.Approved, ""))
		w.decide(finn, "ask", run.Approved, "")
	})
	t.Run("compares addresses whatever their case", func(t *testing.T) {
		w := begin(t, byPath, inputs(`{"who":"Finn@Example.com"}`))
		w.decide(finn, "ask", run.Approved, "")
	})
	t.Run("that resolves to nothing fails that step by the server, and so ends the run (spec §3.4, §3.5)", func(t *testing.T) {
		w := begin(t, byPath)
		require.Equal(t, "failed -", w.states())
		require.Equal(t, "failed", *w.r.Outcome)
		require.Equal(t, &run.End{By: run.Server, At: epoch, Note: stringP("person: inputs.who holds no person")}, w.r.Record.Ended)
		require.Contains(t, w.current("ask"), `"decision":"failed"`)
		require.Empty(t, w.r.Outbox, "nobody is told of work that is not there")
	})
}

func TestRole(t *testing.T) {
	t.Run("a role that is bound to no group fails the run and says why", func(t *testing.T) {
		r := run.New(startOf(parse(t, `
steps:
  - { id: ask, person: finance, task: A. }
  - { id: done, finish: ok }`), bind("other", "g")), epoch)
		require.Equal(t, "person: the role finance is bound to no group", *r.Record.Ended.Note)
		checkState(t, r)
	})
}

func TestCheckStart(t *testing.T) {
	p := parse(t, `
inputs: { who: person, n: { type: number, optional: true } }
steps: [{ id: done, finish: ok }]`)
	for name, c := range map[string]struct {
		inputs  string
		unknown []string
		issues  []string
	}{
		"what is declared":            {`{"who":"a@b.c","n":1}`, nil, nil},
		"what is missing":             {`{}`, nil, []string{"inputs.who: missing"}},
		"nothing at all":              {``, nil, []string{"inputs.who: missing"}},
		"null":                        {`null`, nil, []string{"inputs: expected object"}},
		"every issue at once":         {`{"n":"x","m":1}`, nil, []string{"inputs.who: missing", "inputs.n: expected number", "inputs.m: not declared"}},
		"a person nobody knows":       {`{"who":"a@b.c"}`, []string{"a@b.c"}, []string{"inputs.who: no such person"}},
		"a key given twice":           {`{"who":"a@b.c","who":"b@b.c"}`, nil, []string{"inputs.who: given more than once"}},
		"half a character, deep down": {`{"who":"a@b.c","n":[{"x":"\ud800"}]}`, nil, []string{"inputs.n[0].x: holds half of a surrogate pair"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := run.CheckStart(p, []byte(c.inputs), mira, run.Limits{RunDataBytes: 1000}, c.unknown)
			if c.issues == nil {
				require.Nil(t, err)
				return
			}
			require.Equal(t, run.Invalid, err.Code)
			require.Equal(t, c.issues, err.Issues)
		})
	}
	t.Run("a run without inputs shows an empty object", func(t *testing.T) {
		r := run.New(startOf(parse(t, oneAgent), inputs("")), epoch)
		require.JSONEq(t, `{"inputs":{},"steps":{}}`, asJSON(t, r.Data))
	})
}
