package decide_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/test/golden"
)

func steps() []decide.Step {
	return []decide.Step{
		{ID: "00-layout", Targets: []string{"a"}, Limit: 20 * time.Second},
		{ID: "01-write", Targets: []string{"a"}, Limit: 11 * time.Second},
		{ID: "02-read", Targets: []string{"a"}, Limit: 11 * time.Second},
	}
}

func key(index int) decide.ClientKey { return decide.ClientKey{Target: "a", Index: index} }

// sequences holds whole runs by the name of their golden file.
var sequences = map[string]func() *world{
	"good": func() *world { return newWorld(1, 2, steps()...) },
	"two-targets": func() *world {
		return newWorld(2, 2,
			decide.Step{ID: "00-write", Targets: []string{"a", "b"}, Limit: 11 * time.Second},
			decide.Step{ID: "01-read-a", Targets: []string{"a"}, Limit: 11 * time.Second},
			decide.Step{ID: "01-read-b", Targets: []string{"b"}, ClientsPerTarget: 1, Limit: 11 * time.Second})
	},
	"agent-never-ready": func() *world {
		w := newWorld(1, 2, steps()...)
		w.silent["a/1"] = true
		return w
	},
	"load-refused": func() *world {
		w := newWorld(1, 3, steps()...)
		w.refuse["a/1"] = true
		return w
	},
	"tool-fails": func() *world {
		w := newWorld(1, 3, steps()...)
		w.fail["a/2"] = true
		return w
	},
	"cancelled": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(25*time.Second, "interrupted", func(w *world) {
			w.snapshot.Cancel, w.snapshot.EndingSince = &decide.Failure{Reason: "Stopped", Message: "interrupted"}, w.now
		})
		return w
	},
	"cancelled-before-ready": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(time.Second, "interrupted", func(w *world) {
			w.snapshot.Cancel, w.snapshot.EndingSince = &decide.Failure{Reason: "Stopped", Message: "interrupted"}, w.now
		})
		return w
	},
	"lost-and-replaced": func() *world {
		w := newWorld(1, 3, steps()...)
		w.after(30*time.Second, "a/1 dies", w.lose(key(1)))
		return w
	},
	"lost-twice": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(30*time.Second, "a/1 dies", w.lose(key(1)))
		w.after(38*time.Second, "a/1 dies again", w.lose(key(1)))
		return w
	},
	"lost-with-another": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(30*time.Second, "a/1 dies", w.lose(key(1)))
		w.after(38*time.Second, "both die", func(w *world) { w.lose(key(0))(w); w.lose(key(1))(w) })
		return w
	},
	"lost-before-start": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(2005*time.Millisecond, "a/0 dies", w.lose(key(0)))
		return w
	},
	"lost-after-its-part": func() *world {
		w := newWorld(1, 2, steps()...)
		// a/0 ends the second step 5 ms before a/1.
		w.after(32047*time.Millisecond, "a/0 dies", w.lose(key(0)))
		return w
	},
	"told-to-end": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(30*time.Second, "a/1 is told to end", w.told(key(1), time.Second))
		return w
	},
	// No other client takes part, so the step ends before the client is gone.
	"told-to-end-alone": func() *world {
		w := newWorld(1, 1, steps()...)
		w.after(30*time.Second, "a/0 is told to end", w.told(key(0), 5*time.Second))
		return w
	},
	"told-to-end-fail-run": func() *world {
		w := newWorld(1, 2, steps()...)
		w.snapshot.Policy.OnLoss = decide.FailRun
		w.after(30*time.Second, "a/1 is told to end", w.told(key(1), 5*time.Second))
		return w
	},
	"told-to-end-continue": func() *world {
		w := newWorld(1, 2, steps()...)
		w.snapshot.Policy.OnLoss = decide.ContinueDegraded
		w.after(30*time.Second, "a/1 is told to end", w.told(key(1), 5*time.Second))
		return w
	},
	"lost-fail-run": func() *world {
		w := newWorld(1, 2, steps()...)
		w.snapshot.Policy.OnLoss = decide.FailRun
		w.after(30*time.Second, "a/1 dies", w.lose(key(1)))
		return w
	},
	"lost-continue": func() *world {
		w := newWorld(1, 2, steps()...)
		w.snapshot.Policy.OnLoss = decide.ContinueDegraded
		w.after(30*time.Second, "a/1 dies", w.lose(key(1)))
		return w
	},
	// A loss before a drain does not end that drain.
	"lost-continue-before-a-drain": func() *world {
		w := newWorld(1, 2, onA("00-layout", 20*time.Second), drain("01-burst"))
		w.snapshot.Policy.OnLoss = decide.ContinueDegraded
		w.enough["01-burst"] = time.Minute
		w.after(10*time.Second, "a/1 dies", w.lose(key(1)))
		return w
	},
	// A drain that has lost a client is ended, even if a new conductor does not know what the client had done.
	"lost-continue-in-a-drain": func() *world {
		w := newWorld(1, 2, onA("00-layout", 20*time.Second), drain("01-burst"))
		w.snapshot.Policy.OnLoss = decide.ContinueDegraded
		w.after(40*time.Second, "a/1 and the conductor die, and another one takes over", func(w *world) {
			w.lose(key(1))(w)
			comeBack(w)
		})
		return w
	},
	"lost-continue-none-left": func() *world {
		w := newWorld(1, 1, steps()...)
		w.snapshot.Policy.OnLoss = decide.ContinueDegraded
		w.after(30*time.Second, "a/0 dies", w.lose(key(0)))
		return w
	},
	"active-deadline": func() *world {
		w := newWorld(1, 2, steps()...)
		w.snapshot.Policy.ActiveDeadline = 25 * time.Second
		return w
	},
	"active-deadline-and-a-client-hangs": func() *world {
		w := newWorld(1, 2, steps()...)
		w.snapshot.Policy.ActiveDeadline = 25 * time.Second
		w.deaf["a/1"] = true
		return w
	},
	"lost-and-another-hangs": func() *world {
		w := newWorld(1, 3, steps()...)
		w.snapshot.Policy.ActiveDeadline = 3 * time.Minute
		w.deaf["a/2"] = true
		w.after(10*time.Second, "a/1 dies", w.lose(key(1)))
		return w
	},
	"agent-never-ends": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(30*time.Second, "a/1 hangs", func(w *world) { w.deaf["a/1"] = true })
		return w
	},
}

func TestSequences(t *testing.T) {
	for name, build := range sequences {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, name, build().run(t))
		})
	}
}

// TestAnyOrderEndsAlike checks that random orders of the clients' answers lead to the same verdict as in the golden
// files, and that no client is left running.
func TestAnyOrderEndsAlike(t *testing.T) {
	for name, build := range sequences {
		t.Run(name, func(t *testing.T) {
			reference := build()
			reference.run(t)
			for seed := range uint64(50) {
				w := build()
				w.shuffle = rand.New(rand.NewPCG(seed, seed))
				w.run(t)
				if (w.snapshot.Failure == nil) != (reference.snapshot.Failure == nil) {
					t.Fatalf("seed %d: failure %v, in the golden order %v", seed, w.snapshot.Failure, reference.snapshot.Failure)
				}
				for _, client := range w.clients {
					for attempt, part := range client.Attempts {
						live := part.Progress == decide.Loaded || part.Progress == decide.Running
						if live && client.Connection == decide.Ready && !w.deaf[client.Key.String()] {
							t.Errorf("seed %d: %s is left %s on %s", seed, attempt, part.Progress, client.Key)
						}
					}
				}
			}
		})
	}
}

// TestDegradedRunOutlivesItsConductor checks that a run that continues without a lost client survives a change of its
// conductor. When the new conductor first decides, no client is known to be ready.
func TestDegradedRunOutlivesItsConductor(t *testing.T) {
	w := newWorld(1, 2, steps()...)
	w.snapshot.Policy.OnLoss = decide.ContinueDegraded
	w.after(30*time.Second, "a/1 dies", w.lose(key(1)))
	w.after(31*time.Second, "the conductor dies and comes back", comeBack)
	log := w.run(t)
	if w.snapshot.Failure != nil {
		t.Errorf("%v\n%s", w.snapshot.Failure, log)
	}
}

// TestEndingRunKeepsItsResultOverARestart checks that a cancelled run records the result of its step even if its
// conductor has just taken over and knows no clients yet, or if the run has no conductor for a while.
func TestEndingRunKeepsItsResultOverARestart(t *testing.T) {
	for _, away := range []time.Duration{0, time.Minute, time.Hour} {
		w := newWorld(1, 2, steps()...)
		w.after(25*time.Second, "interrupted, and another conductor takes over", func(w *world) {
			cancel(w)
			hang(away)(w)
			comeBack(w)
		})
		if log := w.run(t); !w.snapshot.Records["01-write"].Done {
			t.Errorf("away for %s: the step has no result:\n%s", away, log)
		}
	}
}
