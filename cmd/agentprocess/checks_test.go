package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/server"
)

const reported = `{"process":"memo","since":"2026-10-06T09:00:00Z","questions":[
{"step":"write","question":1,"ask":"Is it clear?","kind":"yes_no","version":2,"model":"m-1","advisory":true,"asked":40,"passed":30,"failed":6,"unsure":4,"notAnswered":0,"unsureShare":0.1,"decisions":{"approved":32},"compared":36,"agreement":{"n":36,"share":0.9444,"low":0.8186,"high":0.9846},"falsePasses":1,"falseFails":1},
{"step":"write","question":1,"ask":"Is it\nclear?","kind":"yes_no","version":1,"model":"","advisory":false,"asked":1,"passed":0,"failed":0,"unsure":0,"notAnswered":1,"unsureShare":0,"decisions":{},"compared":0,"agreement":{"n":0,"share":null,"low":null,"high":null},"falsePasses":0,"falseFails":0}]}`

func TestAReportIsATableOrTheJSONOfTheServer(t *testing.T) {
	t.Setenv(serverVariable, "")
	t.Setenv(tokenVariable, "")
	data, asked := reported, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.String()
		_, _ = w.Write([]byte(`{"ok":true,"data":` + data + `}`))
	}))
	defer s.Close()
	at := []string{"--server", s.URL, "--token", "t"}

	r := program(t, append([]string{"checks", "report", "memo", "--since", "30d"}, at...)...)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "GET /api/processes/memo/checks?since=30d", asked)
	require.Equal(t, `VERSION  STEP   QUESTION         MODE      MODEL  ASKED  UNSURE  DECIDED  AGREEMENT (95 %)  FALSE PASSES  FALSE FAILS
2        write  1. Is it clear?  advisory  m-1    40     10 %    36       94 % (82 %–98 %)  1             1
1        write  1. Is it clear?  enforced  -      1      -       0        -                 0             0
`, r.stdout)

	r = program(t, append([]string{"checks", "report", "memo", "--json"}, at...)...)
	require.JSONEq(t, reported, r.stdout)
	require.Equal(t, "GET /api/processes/memo/checks", asked)

	data = `{"process":"memo","since":null,"questions":[]}`
	r = program(t, append([]string{"checks", "report", "memo"}, at...)...)
	require.Equal(t, "No submission of this process was checked in that time.\n", r.stdout)
	require.Equal(t, 2, program(t, append([]string{"checks", "report"}, at...)...).code)
}

func TestAnEvaluatorIsConfiguredByFlagsOrTheEnvironment(t *testing.T) {
	for _, name := range []string{evaluatorURL, evaluatorModel, evaluatorKey} {
		t.Setenv(name, "")
	}
	configured := func(f evaluatorFlags) (bool, error) {
		var o server.Options
		err := f.set(&o)
		return o.Evaluator != nil, err
	}
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte("sk-secret\n"), 0o600))

	got, err := configured(evaluatorFlags{})
	require.NoError(t, err)
	require.False(t, got, "without a URL there is none")
	got, err = configured(evaluatorFlags{url: "http://127.0.0.1:1/v1", model: "m", keyFile: file})
	require.NoError(t, err)
	require.True(t, got)
	for _, f := range []evaluatorFlags{
		{model: "m"}, {url: "http://127.0.0.1:1/v1"}, {url: "127.0.0.1:1", model: "m"},
		{url: "http://127.0.0.1:1/v1", model: "m", keyFile: "sk-secret"}, {try: 1500000000},
	} {
		_, err = configured(f)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "sk-secret", "a key that is given as a file is not repeated")
	}
	t.Setenv(evaluatorURL, "http://127.0.0.1:1/v1")
	t.Setenv(evaluatorModel, "m")
	t.Setenv(evaluatorKey, "sk-secret")
	got, err = configured(evaluatorFlags{})
	require.NoError(t, err)
	require.True(t, got)

	f := evaluatorFlags{url: "http://x", model: "m", keyFile: "k", try: 9e9}
	require.Equal(t, []string{"--evaluator-url", "http://x", "--evaluator-model", "m", "--evaluator-api-key", "k", "--evaluator-timeout", "9s"}, f.args(),
		"dev hands them on to its server, and never a key itself")
}
