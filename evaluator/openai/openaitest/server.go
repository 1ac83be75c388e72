// Package openaitest is an endpoint that speaks OpenAI's chat completions for
// tests: on loopback, with answers that a test chooses, sound and broken.
//
// Start at [Start]. Only tests import it.
package openaitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Model is what the server says it is.
const Model = "test-model-1"

// Call is one request, as the model sees it.
type Call struct {
	// System and User are the messages, Question is the one asked in the first.
	System, User, Question string
	// Form is the name of the form of the answer, empty where log probabilities
	// are asked for; Word is the word that the answer must repeat.
	Form, Word string
	// Schema is that of the answer, byte for byte.
	Schema   string
	Logprobs bool
	// Key is the Authorization header, Body the whole request.
	Key  string
	Body map[string]any
}

// Reply is what to answer.
type Reply struct {
	// Status is 200 where it is zero. Body is sent as it is, unless empty.
	Status int
	Body   string
	// Content is what the model says, Logprobs of its first token what else there was.
	Content  string
	Logprobs map[string]float64
	Finish   string
	// Model is [Model] where it is empty.
	Model string
	// Refusal is set by models that decline.
	Refusal string
	// Wait is how long the answer takes.
	Wait time.Duration
}

// Server is the endpoint.
type Server struct {
	URL string

	mu     sync.Mutex
	answer func(Call) Reply
	calls  []Call
}

// Start runs a server until the test ends, which answers as answer says.
func Start(t testing.TB, answer func(Call) Reply) *Server {
	s, end := Run(answer)
	t.Cleanup(end)
	return s
}

// Run runs a server until end, for what is no test.
func Run(answer func(Call) Reply) (s *Server, end func()) {
	s = &Server{answer: answer}
	ended := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, ended) }))
	s.URL = h.URL + "/v1"
	return s, func() { close(ended); h.Close() }
}

// Answer changes how the server answers from now on.
func (s *Server) Answer(answer func(Call) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Calls are the requests so far.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call{}, s.calls...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, ended <-chan struct{}) {
	text, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, "no", http.StatusNotFound)
		return
	}
	call, err := read(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	call.Key = r.Header.Get("Authorization")
	s.mu.Lock()
	s.calls = append(s.calls, call)
	answer := s.answer
	s.mu.Unlock()
	reply := answer(call)
	if reply.Wait > 0 {
		select {
		case <-time.After(reply.Wait):
		case <-r.Context().Done():
			return
		case <-ended:
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if reply.Status != 0 {
		w.WriteHeader(reply.Status)
	}
	if reply.Body == "" {
		reply.Body = reply.completion()
	}
	_, _ = io.WriteString(w, reply.Body)
}

func read(text []byte) (Call, error) {
	var in struct {
		Messages []struct{ Role, Content string }
		Logprobs bool
		Format   struct {
			Schema struct {
				Name   string
				Schema json.RawMessage
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	var c Call
	if err := json.Unmarshal(text, &in); err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c.Body); err != nil {
		return c, err
	}
	if len(in.Messages) != 2 || in.Messages[0].Role != "system" || in.Messages[1].Role != "user" {
		return c, fmt.Errorf("two messages are expected")
	}
	c.System, c.User, c.Logprobs, c.Form = in.Messages[0].Content, in.Messages[1].Content, in.Logprobs, in.Format.Schema.Name
	c.Schema = string(in.Format.Schema.Schema)
	_, rest, _ := strings.Cut(c.System, `"for" is "`)
	c.Word, _, _ = strings.Cut(rest, `"`)
	_, rest, _ = strings.Cut(c.System, "The question: ")
	c.Question, _, _ = strings.Cut(rest, "\n")
	return c, nil
}

func (r Reply) completion() string {
	finish := r.Finish
	if finish == "" {
		finish = "stop"
	}
	message := map[string]any{"role": "assistant", "content": r.Content}
	if r.Refusal != "" {
		message["refusal"] = r.Refusal
	}
	choice := map[string]any{"index": 0, "message": message, "finish_reason": finish, "logprobs": nil}
	if r.Logprobs != nil {
		var top []map[string]any
		for token, p := range r.Logprobs {
			top = append(top, map[string]any{"token": token, "logprob": math.Log(p), "bytes": nil})
		}
		choice["logprobs"] = map[string]any{"content": []any{map[string]any{
			"token": r.Content, "logprob": math.Log(r.Logprobs[r.Content]), "bytes": nil, "top_logprobs": top,
		}}}
	}
	text, err := json.Marshal(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": cmp.Or(r.Model, Model),
		"choices": []any{choice}, "usage": map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
	})
	if err != nil {
		panic(err) // nothing in it cannot be written
	}
	return string(text)
}

// Yes answers a yes/no question with a probability, in whichever way was asked.
func Yes(c Call, p float64) Reply {
	if c.Logprobs {
		return Reply{Content: "yes", Finish: "length", Logprobs: map[string]float64{"yes": p * 0.99, "no": (1-p)*0.99 + 1e-9, "Maybe": 0.005}}
	}
	return Say(c, fmt.Sprintf(`"probability": %v`, p))
}

// Say answers in a form, with the word and these fields.
func Say(c Call, fields string) Reply {
	return Reply{Content: fmt.Sprintf(`{"for": %q, %s}`, c.Word, fields)}
}

// Choice answers a choice.
func Choice(c Call, name string, confidence float64) Reply {
	return Say(c, fmt.Sprintf(`"answer": %q, "confidence": %v`, name, confidence))
}

// Level answers a rubric.
func Level(c Call, n int, confidence float64) Reply {
	return Say(c, fmt.Sprintf(`"level": %d, "confidence": %v`, n, confidence))
}
