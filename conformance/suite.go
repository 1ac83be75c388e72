package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options adjust a session.
type Options struct {
	// URL of the MCP endpoint.
	URL    string
	Config *Config
	// Fixtures are walked instead of the embedded ones, which the other checks
	// still use where they are published.
	Fixtures map[string]*Fixture
	// Only keeps the checks that match (see the command's help).
	Only []string
	// Profile is core, parallel, check, or all, which is the default.
	Profile string
	// SkipSlow leaves slow checks out.
	SkipSlow bool
	// Parallel is how many checks run at once; 0 means 8.
	Parallel int
	// FailFast stops at the first failure.
	FailFast bool
	// Progress, if set, hears of every finished check.
	Progress func(Outcome)
}

// CannotRunError is why there is no verdict, in one line.
type CannotRunError struct{ Reason string }

// Error implements error.
func (e *CannotRunError) Error() string { return e.Reason }

func cannot(format string, args ...any) error { return &CannotRunError{fmt.Sprintf(format, args...)} }

// Suite is one session with one server.
type Suite struct {
	opts Options
	// Describe is what the server says of itself.
	Describe V
	Tools    []string
	Profiles []string
	Lease    time.Duration
	// Fixtures are the embedded ones; walked is the set of the fixture checks.
	Fixtures map[string]*Fixture
	walked   map[string]*Fixture
	// published are the processes that list_processes shows, by name.
	published map[string]V
	// unpublished are fixtures that should be there and are not, and why.
	unpublished map[string]string

	One, Two                            *Actor
	Member, Colleague, Outsider, Boss   *Actor
	OtherAgent, OtherBoss               *Actor
	Group                               string
	agents, humans, everyone, strangers []*Actor
}

// Open connects to a server and finds out what it offers. A *[CannotRunError] says
// why it is none to test.
func Open(ctx context.Context, opts Options) (*Suite, error) {
	if opts.URL == "" {
		opts.URL = opts.Config.URL
	}
	if opts.URL == "" {
		return nil, cannot("no URL is given")
	}
	if opts.Parallel == 0 {
		opts.Parallel = 8
	}
	s := &Suite{opts: opts, Group: opts.Config.Group, published: map[string]V{}, unpublished: map[string]string{}}
	var err error
	if s.Fixtures, err = Embedded(); err != nil {
		return nil, fmt.Errorf("fixtures: %w", err)
	}
	if s.walked = opts.Fixtures; s.walked == nil {
		s.walked = s.Fixtures
	}
	if err := s.known(opts.Only); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	if err := s.learn(ctx); err != nil {
		return nil, err
	}
	return s, s.publishFixtures(ctx)
}

// known refuses filters that no check matches: a slip of the pen would pass.
func (s *Suite) known(filters []string) error {
	all := slices.Concat(Checks(), s.walkChecks())
	for _, only := range filters {
		if !slices.ContainsFunc(all, func(c Check) bool { return c.matches(only) }) {
			return cannot("%q is neither the id of a check nor a clause; --list shows them", only)
		}
	}
	return nil
}

func (s *Suite) connect(ctx context.Context) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	actor := func(name string, id Identity) (*Actor, error) {
		ctx, cancel := context.WithTimeout(ctx, helloWithin)
		defer cancel()
		w, err := dial(ctx, transport, s.opts.URL, id.Token)
		if err != nil {
			return nil, s.whyNot(name, err)
		}
		return &Actor{Name: name, ID: id.ID, Person: id.Person, wire: w}, nil
	}
	c := s.opts.Config
	for _, a := range []struct {
		name string
		id   Identity
		into **Actor
	}{
		{"agents.one", c.Agents.One, &s.One}, {"agents.two", c.Agents.Two, &s.Two},
		{"people.member", c.People.Member, &s.Member}, {"people.colleague", c.People.Colleague, &s.Colleague},
		{"people.outsider", c.People.Outsider, &s.Outsider}, {"people.operator", c.People.Operator, &s.Boss},
	} {
		var err error
		if *a.into, err = actor(a.name, a.id); err != nil {
			return err
		}
		s.everyone = append(s.everyone, *a.into)
	}
	s.agents, s.humans = s.everyone[:2:2], s.everyone[2:]
	if c.Other == nil {
		return nil
	}
	var err error
	if s.OtherAgent, err = actor("other.agent", c.Other.Agent); err != nil {
		return err
	}
	s.OtherBoss, err = actor("other.operator", c.Other.Operator)
	s.strangers = []*Actor{s.OtherAgent, s.OtherBoss}
	return err
}

// identify learns how the server names each caller, from a run that each starts.
func (s *Suite) identify(ctx context.Context) error {
	for _, a := range s.everyone { // strangers start nothing: their organization has no fixtures
		if a.ID != "" {
			continue
		}
		id, err := s.whoIs(ctx, a)
		if err != nil {
			return err
		}
		a.ID = id
	}
	return nil
}

func (s *Suite) whoIs(ctx context.Context, a *Actor) (string, error) {
	name := s.simplest()
	if name == "" {
		return "", nil
	}
	r, err := s.ask(ctx, a, "start_run", Args{"process": name, "inputs": Args{}, "requestId": newID()})
	if err != nil {
		return "", cannot("%s could not start a run of %s: %v", a.Name, name, oneLine(err))
	}
	s.cancel(ctx, r.Data.Str("run.id"))
	return r.Data.Str("run.startedBy"), nil
}

// ask makes a call that must succeed, before any check; `retry` is sent again.
func (s *Suite) ask(ctx context.Context, a *Actor, tool string, args Args) (Result, error) {
	for attempt := 0; ; attempt++ {
		raw, err := a.wire.call(ctx, tool, mustEncode(args))
		if err != nil {
			return Result{}, err
		}
		r, err := readResult(raw)
		switch {
		case err != nil:
			return r, err
		case r.OK:
			return r, nil
		case r.Code != "retry" || attempt == patience:
			return r, errors.New(clip(string(raw), 200))
		}
		time.Sleep(pause(attempt))
	}
}

// simplest is a published process without inputs that anybody can start.
func (s *Suite) simplest() string {
	if _, ok := s.published[firstFixture]; ok {
		return firstFixture
	}
	for _, name := range sortedKeys(s.walked) {
		f := s.walked[name]
		if _, ok := s.published[name]; ok && len(f.Process.Inputs) == 0 && !f.Process.UsesInitiator() {
			return name
		}
	}
	return ""
}

const firstFixture = "single-errand"

// cancel ends a run quietly, to leave nothing behind.
func (s *Suite) cancel(ctx context.Context, runID string) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer done()
	_, _ = s.ask(ctx, s.Boss, "cancel", Args{"runId": runID, "reason": "end of a conformance check", "requestId": newID()})
}

// Run runs the checks and returns what they found.
func (s *Suite) Run(ctx context.Context) *Report {
	report := s.newReport()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var group sync.WaitGroup
	slots := make(chan struct{}, s.opts.Parallel)
	checks := s.selected()
	report.Outcomes = make([]Outcome, len(checks))
	for i := range checks {
		c := &checks[i]
		if reason := s.skip(c); reason != "" {
			report.Outcomes[i] = Outcome{Check: c, Skipped: reason}
			continue
		}
		group.Add(1)
		go func() {
			defer group.Done()
			if !c.Needs.Slow && !s.slowLease(c) {
				slots <- struct{}{}
				defer func() { <-slots }()
			}
			outcome := Outcome{Check: c, Skipped: skipStopped}
			if ctx.Err() == nil {
				outcome = s.run(ctx, c)
			}
			mu.Lock()
			defer mu.Unlock()
			if s.opts.FailFast && ctx.Err() != nil && outcome.Failure != nil {
				outcome = Outcome{Check: c, Skipped: skipStopped}
			}
			report.Outcomes[i] = outcome
			if s.opts.Progress != nil {
				s.opts.Progress(outcome)
			}
			if outcome.Failure != nil && s.opts.FailFast {
				stop()
			}
		}()
	}
	group.Wait()
	report.Took = time.Since(report.Started)
	return report
}

func (s *Suite) selected() []Check {
	var out []Check
	for _, c := range slices.Concat(Checks(), s.walkChecks()) {
		if s.opts.Profile != "" && s.opts.Profile != "all" && c.Profile() != s.opts.Profile {
			continue
		}
		if len(s.opts.Only) == 0 || slices.ContainsFunc(s.opts.Only, c.matches) {
			out = append(out, c)
		}
	}
	return out
}

func (s *Suite) slowLease(c *Check) bool { return c.Needs.Lease && s.Lease > quickLease*time.Second }

// skip says why a check cannot run here, or "".
func (s *Suite) skip(c *Check) string {
	for _, p := range c.Needs.Profiles {
		if !slices.Contains(s.Profiles, p) {
			return "describe does not offer the profile " + p
		}
	}
	for _, tool := range c.Needs.Tools {
		if !slices.Contains(s.Tools, tool) {
			return "describe does not offer the tool " + tool
		}
	}
	for _, name := range c.Needs.Fixtures {
		f := s.Fixtures[name]
		if f == nil {
			f = s.walked[name]
		}
		if f == nil {
			return "there is no fixture " + name
		}
		if why := f.missing(s.Profiles, s.Tools); why != "" {
			return "the fixture " + name + " cannot be published: " + why
		}
		if _, ok := s.published[name]; !ok && (s.unpublished[name] == "" || !strings.HasPrefix(c.ID, "listed-")) {
			return skipFixture + "the fixture " + name
		}
	}
	switch {
	case c.Needs.Publish && s.opts.Config.Publish == nil:
		return skipConfig + " publish command"
	case c.Needs.Other && s.OtherAgent == nil:
		return skipConfig + " second organization"
	case s.opts.SkipSlow && c.Needs.Slow:
		return skipSlow
	case s.opts.SkipSlow && s.slowLease(c):
		return fmt.Sprintf(skipSlow+": a lease of this server lasts %s", s.Lease)
	}
	return ""
}

// run runs one check.
func (s *Suite) run(ctx context.Context, c *Check) (o Outcome) {
	limit := 3 * time.Minute
	if c.Needs.Slow {
		limit = 6 * time.Minute
	}
	if c.Needs.Lease {
		limit += 4 * s.Lease
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t := &T{Suite: s, Check: c, ctx: ctx, runs: map[string]bool{}}
	started := time.Now()
	defer func() {
		o.Check, o.Took = c, time.Since(started)
		switch p := recover().(type) {
		case nil:
		case failed:
			o.Failure, o.Calls = &p.Failure, t.masked()
		case skipped:
			o.Skipped = p.reason
		default:
			panic(p)
		}
		for id, open := range t.runs {
			if open {
				s.cancel(ctx, id)
			}
		}
	}()
	c.Run(t)
	return o
}
