package cli

import (
	"io"
	"sync"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/live"
	"github.com/storagebench/storagebench/internal/plan"
)

// redrawEvery is how often the view is drawn again when nothing is new: the clock goes on.
const redrawEvery = time.Second

// follower shows a run as it goes: a view on a terminal, lines in a pipe.
type follower struct {
	screen *live.Screen
	lines  *live.Lines
	plan   *plan.Plan
	stop   chan struct{}
	over   sync.WaitGroup

	mu  sync.Mutex
	run *v1alpha1.BenchmarkRun
	// behind is how far the clock of this machine is ahead of the one that the run's times are by.
	behind time.Duration
	known  bool
}

// follow begins to show; hint is the view's last line.
func follow(w io.Writer, planned *plan.Plan, hint string) *follower {
	f := &follower{screen: live.NewScreen(w, hint), plan: planned, stop: make(chan struct{})}
	if f.screen == nil {
		f.lines = live.NewLines(w, planned, time.Now())
		return f
	}
	f.over.Go(func() {
		ticker := time.NewTicker(redrawEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				f.draw()
			case <-f.stop:
				return
			}
		}
	})
	return f
}

// see takes a run as it stands, which is not changed after.
func (f *follower) see(run *v1alpha1.BenchmarkRun) {
	f.mu.Lock()
	f.run = run
	if figures := run.Status.Live; figures != nil {
		// What is on its way for the shortest time tells best how the clocks differ.
		if ahead := time.Since(figures.Time.Time); !f.known || ahead < f.behind {
			f.behind, f.known = ahead, true
		}
	}
	lines, now := f.lines, f.now()
	f.mu.Unlock()
	if lines != nil {
		lines.Tell(run, now)
	}
}

// now is the time by the run's clock, where that is another one than ours by more than a network explains.
func (f *follower) now() time.Time {
	const tolerance = 2 * time.Second
	if f.known && f.behind.Abs() > tolerance {
		return time.Now().Add(-f.behind)
	}
	return time.Now()
}

func (f *follower) draw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run != nil {
		f.screen.Draw(live.Of(f.run, f.plan, f.now()))
	}
}

// end draws the last frame, which stays.
func (f *follower) end() {
	if f.screen == nil {
		return
	}
	close(f.stop)
	f.over.Wait()
	f.draw()
}
