package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/agentprocess-temporal/server/internal/faults/faultpoint"
)

// replicas is how many servers run.
const replicas = 2

// The parts that faults hit, besides links and points.
const (
	partPostgres = "postgres"
	partTemporal = "temporal"
)

func partServer(i int) string { return fmt.Sprintf("server-%d", i+1) }

// The kinds of fault.
const (
	kill    = "kill"    // SIGKILL, and a new start
	stop    = "stop"    // SIGSTOP for a while
	restart = "restart" // an orderly end, and a new start
	crash   = "crash"   // Postgres' immediate shutdown: as after a loss of power
	cut     = "cut"     // connections break, and none is made for a while
	reset   = "reset"   // connections break
	freeze  = "freeze"  // connections let nothing through for a while
	delay   = "delay"   // connections are slow for a while
	point   = "point"   // the server dies when it comes by a point next
)

// fault is one thing to do at one moment.
type fault struct {
	At   time.Duration
	Kind string
	// On is a part, a link (as links names them), or `server/point`.
	On string
	// For is how long it lasts, where it does not end by itself.
	For time.Duration
}

func (f fault) String() string {
	s := fmt.Sprintf("%6.1fs  %-7s %s", f.At.Seconds(), f.Kind, f.On)
	if f.For > 0 {
		s += fmt.Sprintf(" for %.1fs", f.For.Seconds())
	}
	return s
}

// links names the connections between any two.
func links() []string {
	var names []string
	for i := range replicas {
		s := partServer(i)
		names = append(names, "clients-"+s, s+"-"+partPostgres, s+"-"+partTemporal)
	}
	return names
}

// kinds are the faults there are, each once for each thing it can hit.
func kinds() []fault {
	var all []fault
	add := func(kind string, on ...string) {
		for _, each := range on {
			all = append(all, fault{Kind: kind, On: each})
		}
	}
	for i := range replicas {
		s := partServer(i)
		add(kill, s)
		add(stop, s)
		add(restart, s)
		for _, p := range faultpoint.All {
			add(point, s+"/"+p)
		}
	}
	add(kill, partPostgres, partTemporal)
	add(crash, partPostgres)
	add(stop, partPostgres, partTemporal)
	add(restart, partPostgres, partTemporal)
	for _, kind := range []string{cut, reset, freeze, delay} {
		add(kind, links()...)
	}
	return all
}

// first are the faults that even a short run begins with, in some order.
func first() []fault {
	return []fault{
		{Kind: point, On: partServer(0) + "/" + faultpoint.Updated},
		{Kind: point, On: partServer(1) + "/" + faultpoint.Reserved},
		{Kind: kill, On: partServer(0)},
		{Kind: kill, On: partPostgres},
		{Kind: kill, On: partTemporal},
		{Kind: cut, On: partServer(1) + "-" + partPostgres},
	}
}

// gaps are how far apart faults are, on average, in a short and in a long run.
const (
	shortGap = 1500 * time.Millisecond
	longGap  = 3 * time.Second
	short    = time.Minute
)

// schedule draws the faults of a run: the first ones, then every kind once
// before any comes again, until shortly before its end.
func schedule(seed uint64, duration time.Duration) []fault {
	rng := rand.New(rand.NewPCG(seed, 1))
	gap := longGap
	if duration < short {
		gap = shortGap
	}
	shuffled := func(deck []fault) []fault {
		rng.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		return deck
	}
	var faults []fault
	deck := shuffled(first())
	for at := gap; at < duration-gap; at += gap/2 + time.Duration(rng.Int64N(int64(gap))) {
		if len(deck) == 0 {
			deck = shuffled(kinds())
		}
		f := deck[0]
		deck = deck[1:]
		f.At = at.Round(time.Millisecond)
		switch f.Kind {
		case stop, cut, freeze:
			f.For = 300*time.Millisecond + time.Duration(rng.Int64N(int64(5*time.Second)))
		case delay:
			f.For = time.Second + time.Duration(rng.Int64N(int64(8*time.Second)))
		}
		f.For = min(f.For, duration-f.At).Round(time.Millisecond)
		faults = append(faults, f)
	}
	return faults
}

// slowness is how much a delayed link holds up each piece, drawn from its name
// and time so that it follows from the schedule.
func (f fault) slowness() time.Duration {
	return 20*time.Millisecond + time.Duration(int64(f.At)%int64(180*time.Millisecond))
}

// count says how many faults of each kind there are, in the order of names.
func count(kinds []string) string {
	n := map[string]int{}
	for _, k := range kinds {
		n[k]++
	}
	names := make([]string, 0, len(n))
	for k := range n {
		names = append(names, k)
	}
	slices.Sort(names)
	parts := make([]string, len(names))
	for i, k := range names {
		parts[i] = fmt.Sprintf("%s %d", k, n[k])
	}
	return strings.Join(parts, ", ")
}
