package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// throughput is measured with many callers at once.
type throughput struct {
	Callers int     `json:"callers"`
	Bare    rate    `json:"bare"`
	Ours    rate    `json:"ours"`
	Ratio   float64 `json:"ratio"`
	// Ratios are those of the rounds: how much the machine disturbed.
	Ratios []float64 `json:"ratios"`
}

// rate is how much was done, and how long each took.
type rate struct {
	PerSecond float64 `json:"perSecond"`
	spread

	took time.Duration
	each samples
}

func (r *rate) add(took time.Duration, each samples) float64 {
	r.took += took
	r.each = append(r.each, each...)
	return float64(len(each)) / took.Seconds()
}

func (t *throughput) finish() *throughput {
	for _, r := range []*rate{&t.Bare, &t.Ours} {
		r.PerSecond = rounded(float64(len(r.each)) / r.took.Seconds())
		r.spread = r.each.spread()
	}
	t.Ratio = ratio(t.Ours.PerSecond, t.Bare.PerSecond)
	return t
}

// prepared hands out the ids of runs that were started before the clock was.
// When none is left, it starts one while the clock runs.
type prepared struct {
	ids   chan string
	start func(ctx context.Context) (string, error)
}

// startersAtOnce bounds how many runs are started at once.
const startersAtOnce = 16

func prepare(ctx context.Context, n int, start func(ctx context.Context) (string, error)) (*prepared, error) {
	p := &prepared{ids: make(chan string, n), start: start}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(startersAtOnce)
	for range n {
		g.Go(func() error {
			id, err := start(ctx)
			p.ids <- id
			return err
		})
	}
	return p, g.Wait()
}

func (p *prepared) take(ctx context.Context) (string, error) {
	select {
	case id := <-p.ids:
		return id, nil
	default:
		return p.start(ctx)
	}
}

// throughput lets every caller work runs of its own for a while, bare and ours
// in turn.
func (w *writes) throughput(ctx context.Context, rounds int, lasts time.Duration) (*throughput, error) {
	t := &throughput{Callers: callersAtOnce}
	startOurs := func(ctx context.Context) (string, error) { return w.caller.start(ctx, sequenceName) }
	bareStart := func(ctx context.Context) (string, error) { return startBare(ctx, w.client, len(w.sizes)) }
	for range rounds {
		var both [2]float64
		for side, start := range []func(context.Context) (string, error){bareStart, startOurs} {
			runs, err := prepare(ctx, callersAtOnce*3/2, start)
			if err != nil {
				return nil, err
			}
			took, each, err := load(ctx, callersAtOnce, lasts, func(ctx context.Context, _ int, record func(func() error) error) error {
				id, err := runs.take(ctx)
				if err != nil {
					return err
				}
				var token string
				for i, size := range w.sizes {
					err := record(func() error {
						if side == 0 {
							return updateBare(ctx, w.client, id, size)
						}
						return w.write(ctx, id, i, &token)
					})
					if err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			both[side] = []*rate{&t.Bare, &t.Ours}[side].add(took, each)
		}
		t.Ratios = append(t.Ratios, ratio(both[1], both[0]))
	}
	return t.finish(), nil
}

// errTimeUp ends a caller's work.
var errTimeUp = errors.New("time is up")

// load runs work again and again for each caller until the time is up; what
// is under way then is finished and counts. A zero time means once each.
func load(ctx context.Context, callers int, lasts time.Duration,
	work func(ctx context.Context, caller int, record func(func() error) error) error,
) (took time.Duration, each samples, err error) {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for caller := range callers {
		g.Go(func() error {
			var mine samples
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				each = append(each, mine...)
			}()
			record := func(do func() error) error {
				at := time.Now()
				if lasts != 0 && at.Sub(began) > lasts {
					return errTimeUp
				}
				if err := do(); err != nil {
					return err
				}
				mine = append(mine, time.Since(at))
				return nil
			}
			for {
				if err := work(ctx, caller, record); err != nil {
					if errors.Is(err, errTimeUp) {
						return nil
					}
					return err
				}
				if lasts == 0 {
					return nil
				}
			}
		})
	}
	err = g.Wait()
	return time.Since(began), each, err
}

// contention lets callers work the branches of one run at once, and as many
// update one bare workflow.
func (w *writes) contention(ctx context.Context, rounds int) (*throughput, error) {
	t := &throughput{Callers: branches}
	for range rounds {
		id, err := startBare(ctx, w.client, 2*branches*branchSteps)
		if err != nil {
			return nil, err
		}
		took, each, err := load(ctx, branches, 0, func(ctx context.Context, _ int, record func(func() error) error) error {
			for i := range 2 * branchSteps {
				// The payloads of a run in its middle; its branches' are alike.
				if err := record(func() error { return updateBare(ctx, w.client, id, w.sizes[len(w.sizes)/2+i%2]) }); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		bare := t.Bare.add(took, each)
		runID, err := w.caller.start(ctx, parallelName)
		if err != nil {
			return nil, err
		}
		took, each, err = load(ctx, branches, 0, func(ctx context.Context, branch int, record func(func() error) error) error {
			for n := range branchSteps {
				var token string
				err := record(func() (err error) {
					token, err = w.caller.claim(ctx, runID, branchStep(branch, n))
					return err
				})
				if err != nil {
					return err
				}
				if err := record(func() error { return w.caller.submit(ctx, token) }); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		t.Ratios = append(t.Ratios, ratio(t.Ours.add(took, each), bare))
	}
	return t.finish(), nil
}
