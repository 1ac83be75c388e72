package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/evaluator/openai/openaitest"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
)

func (s *checking) report(who, process, since string) (int, operations.CheckReport) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL+"/api/processes/"+process+"/checks?since="+since, nil)
	require.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+s.Token(who))
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	var envelope struct{ Data operations.CheckReport }
	require.NoError(s.t, json.Unmarshal(text, &envelope), "%s", text)
	return res.StatusCode, envelope.Data
}

func memo(advisory string) string {
	return `---
name: memo
description: d.
steps:
  - id: write
    agent: Write it.
    output: { text: string }
    check:
      - { ask: Is it clear?, pass: 0.9, fail: 0.5 }
      - { ask: What is it?, one_of: { fact: A fact., guess: A guess. }, pass: [fact] }
` + advisory + `
  - { id: review, person: who, approve: Fine?, on_reject: write, next: end }
  - { id: end, finish: done }
---
`
}

func TestTheReportComparesEachQuestionWithWhatPeopleDecided(t *testing.T) {
	s := startChecking(t)
	roles := map[string]string{"who": "finance"}
	s.Publish(memo("    advisory: true"), roles)
	hand := func(id string, lucid float64, what string) {
		s.evaluator.Answer(answersOf(lucid, what, 1, 0, 0))
		Must[run.View](s.Server, A1, "submit", work(s.claim(id, "write").Token))
	}
	approve, reject := Args{"decision": "approved"}, Args{"decision": "rejected", "note": "No."}

	id := s.begin("memo", Args{})
	hand(id, 0.95, "fact") // both right
	s.decide(Mira, id, approve)
	id = s.begin("memo", Args{})
	hand(id, 0.95, "guess") // a false pass, and a right fail
	s.decide(Mira, id, reject)
	hand(id, 0.1, "fact") // a false fail, and a right pass
	s.decide(Mira, id, approve)
	id = s.begin("memo", Args{})
	hand(id, 0.7, "fact") // unsure, and nobody has decided
	id = s.begin("memo", Args{})
	s.evaluator.Answer(always(openaitest.Reply{Status: 401}))
	Must[run.View](s.Server, A1, "submit", work(s.claim(id, "write").Token)) // recorded as an error
	id = Must[run.View](s.Server, Mira, "start_run", Args{"process": "memo", "inputs": Args{}, "mode": "test", "requestId": ID()}).Run.ID
	hand(id, 0.95, "fact") // a test does not count

	s.Publish(memo(""), roles) // enforced from here on
	id = s.begin("memo", Args{})
	hand(id, 0.7, "fact")
	s.decide(Boss, id, Args{"decision": "returned", "note": "No."})
	hand(id, 0.7, "fact")
	s.decide(Boss, id, Args{"decision": "completed"})
	s.decide(Mira, id, approve)

	status, report := s.report(Boss, "memo", "30d")
	require.Equal(t, http.StatusOK, status)
	require.NotNil(t, report.Since)
	type line struct {
		version, question                           int
		model                                       string
		advisory                                    bool
		asked, passed, failed, unsure, none         int
		compared, agreed, falsePasses, falseFails   int
		approved, rejected, returned, personallyEnd int
	}
	var got []line
	for _, m := range report.Questions {
		require.Equal(t, "write", m.Step)
		require.Equal(t, m.Asked, m.Passed+m.Failed+m.Unsure+m.NotAnswered)
		require.Equal(t, m.Compared, m.Agreement.N)
		got = append(got, line{m.Version, m.Question, m.Model, m.Advisory, m.Asked, m.Passed, m.Failed, m.Unsure, m.NotAnswered,
			m.Compared, m.Compared - m.FalsePasses - m.FalseFails, m.FalsePasses, m.FalseFails,
			m.Decisions[run.JudgedApproved], m.Decisions[run.JudgedRejected], m.Decisions[run.JudgedReturned], m.Decisions[run.JudgedCompleted]})
	}
	require.Equal(t, []line{
		{2, 1, openaitest.Model, false, 2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 1},
		{2, 2, openaitest.Model, false, 2, 2, 0, 0, 0, 2, 1, 1, 0, 0, 0, 1, 1},
		{1, 1, "", true, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
		{1, 1, openaitest.Model, true, 4, 2, 1, 1, 0, 3, 1, 1, 1, 2, 1, 0, 0},
		{1, 2, "", true, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
		{1, 2, openaitest.Model, true, 4, 3, 1, 0, 0, 3, 3, 0, 0, 2, 1, 0, 0},
	}, got)
	require.Equal(t, "Is it clear?", report.Questions[0].Ask)
	require.Equal(t, run.Choice, report.Questions[1].Kind)
	require.InDelta(t, 0.25, report.Questions[3].UnsureShare, 1e-9)
	require.InDelta(t, 1.0/3, *report.Questions[3].Agreement.Share, 1e-9)
	require.Nil(t, report.Questions[0].Agreement.Share)

	status, _ = s.report(Mira, "memo", "")
	require.Equal(t, http.StatusForbidden, status)
	status, _ = s.report(Boss, "memo", "soon")
	require.Equal(t, http.StatusBadRequest, status)
	status, _ = s.report(Boss, "nothing", "")
	require.Equal(t, http.StatusNotFound, status)
}
