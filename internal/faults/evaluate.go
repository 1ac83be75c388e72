package main

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/agentprocess-temporal/server/evaluator/openai/openaitest"
)

// startEvaluator runs what answers the questions of checks: always that the work
// is good, sometimes late, and sometimes not at all.
func (s *stack) startEvaluator(seed uint64) {
	rng, mu := rand.New(rand.NewPCG(seed, 3)), sync.Mutex{}
	server, end := openaitest.Run(func(c openaitest.Call) openaitest.Reply {
		mu.Lock()
		n := rng.IntN(100)
		mu.Unlock()
		if n < 4 {
			return openaitest.Reply{Status: 503}
		}
		reply := openaitest.Yes(c, 0.97)
		if c.Form == "rubric" {
			reply = openaitest.Level(c, 1, 0.95)
		}
		if n < 15 {
			reply.Wait = time.Duration(n) * 200 * time.Millisecond
		}
		return reply
	})
	s.evaluatorURL, s.endEvaluator = server.URL, end
}
