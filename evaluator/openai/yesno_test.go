package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/evaluator/openai/openaitest"
	"github.com/agentprocess-temporal/server/process"
)

// tokens is an answer with these log probabilities, as they are sent.
func tokens(first, top string) openaitest.Reply {
	return openaitest.Reply{Body: `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"length",` +
		`"message":{"role":"assistant","content":"yes"},"logprobs":{"content":[{` + first + `,"top_logprobs":[` + top + `]}]}}]}`}
}

// What does not tell how probable a yes is, is never taken for a certain one.
func TestOddTokensAreNoCertainYes(t *testing.T) {
	const stated = 0.25
	for name, c := range map[string]struct {
		first, top string
		want       float64 // below 0: no answer
	}{
		"no probability":                        {`"token":"yes"`, ``, -1},
		"null for a probability":                {`"token":"yes","logprob":null`, ``, -1},
		"a probability as text":                 {`"token":"yes","logprob":"-0.1"`, ``, -1},
		"text that is no number":                {`"token":"yes","logprob":"NaN"`, ``, -1},
		"true for a probability":                {`"token":"yes","logprob":true`, ``, -1},
		"null for that of another":              {`"token":"yes","logprob":-0.7`, `{"token":"no","logprob":null}`, -1},
		"a probability above one":               {`"token":"yes","logprob":0.5`, ``, -1},
		"more than there can be":                {`"token":"yes","logprob":-0.1`, `{"token":"Well","logprob":-0.1}`, -1},
		"only the token that was chosen":        {`"token":"yes","logprob":-0.6`, `{"token":"yes","logprob":-0.6}`, stated},
		"only the token that was chosen, a no":  {`"token":"no","logprob":-0.6`, ``, stated},
		"the beginning of a thought":            {`"token":"<think>","logprob":0`, ``, stated},
		"an empty token":                        {`"token":"","logprob":0`, ``, stated},
		"a word that begins like a yes":         {`"token":"yesterday","logprob":0`, ``, stated},
		"a line break":                          {`"token":"\n","logprob":-0.01`, `{"token":"yes","logprob":-5}`, stated},
		"the least that can be said":            {`"token":"yes","logprob":-0.0001`, `{"token":"no","logprob":-9999}`, 1},
		"one token twice":                       {`"token":"yes","logprob":-0.6931`, `{"token":"yes","logprob":-0.6931},{"token":"yes","logprob":-0.6931},{"token":"no","logprob":-0.6931}`, 0.5},
		"the marks of tokenizers and of pauses": {`"token":"▁Yes","logprob":-1.3863`, `{"token":"ĠYES","logprob":-1.3863},{"token":"\"no","logprob":-1.3863},{"token":"**No**","logprob":-1.3863}`, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			s := openaitest.Start(t, func(call openaitest.Call) openaitest.Reply {
				if call.Logprobs {
					return tokens(c.first, c.top)
				}
				return openaitest.Yes(call, stated)
			})
			a, err := ask(t, dial(t, s.URL), material, questions[0])
			if c.want < 0 {
				require.Error(t, err)
				require.Empty(t, a)
				return
			}
			require.NoError(t, err)
			require.InDelta(t, c.want, *a.Answers[0].Yes, 1e-4)
		})
	}
}

func TestALongNameOfAChoiceFitsIntoItsAnswer(t *testing.T) {
	long := strings.Repeat("a very long name ", 100)
	s := openaitest.Start(t, func(c openaitest.Call) openaitest.Reply { return openaitest.Choice(c, long, 1) })
	q := process.Question{Ask: "Which?", OneOf: []process.Choice{{Name: "short", Text: "x"}, {Name: long, Text: "y"}}}
	_, err := ask(t, dial(t, s.URL), material, q)
	require.NoError(t, err)
	require.Greater(t, s.Calls()[0].Body["max_tokens"], float64(len(long)))
}

func TestEveryModelThatAnsweredIsNamed(t *testing.T) {
	s := openaitest.Start(t, func(c openaitest.Call) openaitest.Reply {
		r := sound(c)
		r.Model = map[string]string{"choice": "router/b", "rubric": "router/a"}[c.Form]
		return r
	})
	a, err := ask(t, dial(t, s.URL), material, questions...)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("router/a, router/b, %s", openaitest.Model), a.Model)
}

func TestOneAnswerWithoutProbabilitiesIsNotTakenForWhatTheEndpointCannotDo(t *testing.T) {
	var n atomic.Int32
	s := openaitest.Start(t, func(c openaitest.Call) openaitest.Reply {
		switch {
		case n.Add(1) == 2:
			return openaitest.Reply{Content: "yes"}
		case c.Logprobs:
			return openaitest.Yes(c, 0.6)
		}
		return openaitest.Yes(c, 0.3)
	})
	e := dial(t, s.URL)
	for _, want := range []float64{0.6, 0.3, 0.6} {
		a, err := ask(t, e, material, questions[0])
		require.NoError(t, err)
		require.InDelta(t, want, *a.Answers[0].Yes, 1e-6)
	}
}

func TestOneRefusedRequestIsNotTakenForWhatTheEndpointCannotDo(t *testing.T) {
	var n atomic.Int32
	s := openaitest.Start(t, func(c openaitest.Call) openaitest.Reply {
		if n.Add(1) == 2 {
			return openaitest.Reply{Status: http.StatusBadRequest, Body: `{"error":{"message":"odd"}}`}
		}
		return sound(c)
	})
	e := dial(t, s.URL)
	for range 3 {
		_, err := ask(t, e, material, questions[1])
		require.NoError(t, err)
	}
	calls := s.Calls()
	require.Len(t, calls, 4)
	require.NotContains(t, calls[2].Body, "max_tokens")
	require.Contains(t, calls[3].Body, "max_tokens")
}

// A model that thinks says neither yes nor no at first, and uses the bound of an
// answer up before there is one.
func TestAModelThatThinksIsAskedWithoutABound(t *testing.T) {
	s := openaitest.Start(t, func(c openaitest.Call) openaitest.Reply {
		switch {
		case c.Logprobs:
			return openaitest.Reply{Content: "<think>", Finish: "length", Logprobs: map[string]float64{"<think>": 1}}
		case c.Body["max_tokens"] != nil:
			return openaitest.Reply{Finish: "length"}
		}
		return sound(c)
	})
	e := dial(t, s.URL)
	for range 5 {
		_, err := ask(t, e, material, questions...)
		require.NoError(t, err)
	}
	calls := s.Calls()
	for _, c := range calls[len(calls)-3:] {
		require.False(t, c.Logprobs, "what such a model cannot do is not asked again and again")
		require.NotContains(t, c.Body, "max_tokens")
	}
}

func TestAModelThatSaysSomethingElseFirstIsAskedForAStatementAfterAWhile(t *testing.T) {
	s := openaitest.Start(t, func(c openaitest.Call) openaitest.Reply {
		if c.Logprobs {
			return openaitest.Reply{Content: "Well", Logprobs: map[string]float64{"Well": 1}}
		}
		return sound(c)
	})
	e := dial(t, s.URL)
	for range 5 {
		_, err := ask(t, e, material, questions[0])
		require.NoError(t, err)
	}
	require.Len(t, s.Calls(), 3*2+2)
}
