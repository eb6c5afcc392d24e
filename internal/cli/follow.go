package cli

import (
	"sync"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/live"
	"github.com/storagebench/storagebench/internal/plan"
)

// redrawEvery is the interval at which the view is redrawn. The view shows the time, so it is redrawn even if the run
// has not changed.
const redrawEvery = time.Second

// follower shows a run in progress, as a live view on a terminal or line by line in a pipe.
type follower struct {
	screen *live.Screen
	lines  *live.Lines
	plan   *plan.Plan
	stop   chan struct{}
	over   sync.WaitGroup

	mu  sync.Mutex
	run *v1alpha1.BenchmarkRun
	// behind is the lag of the clock that sets the run's timestamps behind this machine's clock. It is negative if the
	// clock of the run is ahead. known is false until behind has been measured.
	behind time.Duration
	known  bool
}

// follow returns a follower that has started to show a run. hint is the last line of the live view.
func follow(streams Streams, planned *plan.Plan, hint string) *follower {
	f := &follower{screen: live.NewScreen(streams.screen, hint), plan: planned, stop: make(chan struct{})}
	if f.screen == nil {
		f.lines = live.NewLines(streams.Err, planned, time.Now())
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

// see shows the current state of the run. The caller must not change run afterwards.
func (f *follower) see(run *v1alpha1.BenchmarkRun) {
	f.mu.Lock()
	f.run = run
	if figures := run.Status.Live; figures != nil {
		// The difference between the current time and the timestamp of the live figures is the clock offset plus the
		// delay of the update. The smallest difference contains the least delay, so it is the best estimate of the
		// offset.
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

// now returns the current time by this machine's clock. If the clock that sets the run's timestamps differs from it by
// more than a network delay can explain, now returns the estimated time of that clock instead.
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

// end draws the last frame, which stays on the terminal.
func (f *follower) end() {
	if f.screen == nil {
		return
	}
	close(f.stop)
	f.over.Wait()
	f.draw()
}
