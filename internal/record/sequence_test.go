package record_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/builders"
)

var update = flag.Bool("update", false, "write the golden files anew")

func usual() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("a").Clients(2).Prepare("layout").Steady("write", "10s").
		Steady("read", "10s").With(builders.Fio().Reads())
}

// sequences are whole runs, each under its name in testdata.
var sequences = map[string]func(*testing.T) *world{
	"good": func(t *testing.T) *world { return newWorld(t, usual()) },
	"two-targets": func(t *testing.T) *world {
		return newWorld(t, builders.Benchmark("b").Target("a").Target("b").Retain().Clients(2).
			Prepare("layout").Steady("write", "10s").Sequential())
	},
	"agent-never-ready": func(t *testing.T) *world {
		w := newWorld(t, usual())
		w.silent["a/1"] = true
		return w
	},
	"load-refused": func(t *testing.T) *world {
		w := newWorld(t, usual().Clients(3))
		w.refuse["a/1"] = true
		return w
	},
	"tool-fails": func(t *testing.T) *world {
		w := newWorld(t, usual().Clients(3))
		w.fail["a/2"] = true
		return w
	},
	"stopped-early-by-itself": func(t *testing.T) *world {
		w := newWorld(t, usual())
		key := decide.ClientKey{Target: "a", Index: 1}
		w.after(20*time.Second, "a/1 runs out of its own time", func() { w.stop(decide.Attempt{Step: "01-write", Number: 1}, key) })
		return w
	},
	"nothing-done": func(t *testing.T) *world {
		w := newWorld(t, usual())
		w.after(20*time.Second, "both do nothing from now on", func() { w.idle["a/0"], w.idle["a/1"] = true, true })
		return w
	},
	"cancelled": func(t *testing.T) *world {
		w := newWorld(t, usual())
		w.after(25*time.Second, "interrupted", w.cancel(t))
		return w
	},
	"cancelled-before-ready": func(t *testing.T) *world {
		w := newWorld(t, usual())
		w.after(time.Second, "interrupted", w.cancel(t))
		return w
	},
	"lost-and-replaced": func(t *testing.T) *world {
		w := newWorld(t, usual().Clients(3))
		w.after(20*time.Second, "a/1 dies", w.lose("a", 1))
		return w
	},
	"lost-twice": func(t *testing.T) *world {
		w := newWorld(t, usual().OnLoss(v1alpha1.OnLossRestartStep, 1))
		w.after(20*time.Second, "a/1 dies", w.lose("a", 1))
		w.after(28*time.Second, "a/1 dies again", w.lose("a", 1))
		return w
	},
	"lost-before-start": func(t *testing.T) *world {
		w := newWorld(t, usual())
		w.after(2005*time.Millisecond, "a/0 dies", w.lose("a", 0))
		return w
	},
	"lost-between-steps": func(t *testing.T) *world {
		w := newWorld(t, usual())
		w.after(2*time.Second+20*time.Millisecond+lead+10*time.Second+5*time.Millisecond, "a/0 dies", w.lose("a", 0))
		return w
	},
	"lost-fail-run": func(t *testing.T) *world {
		w := newWorld(t, usual().OnLoss(v1alpha1.OnLossFailRun, 2))
		w.after(20*time.Second, "a/1 dies", w.lose("a", 1))
		return w
	},
	"lost-continue": func(t *testing.T) *world {
		w := newWorld(t, usual().Clients(3).OnLoss(v1alpha1.OnLossContinueDegraded, 2))
		w.after(20*time.Second, "a/1 dies", w.lose("a", 1))
		return w
	},
	"lost-continue-none-left": func(t *testing.T) *world {
		w := newWorld(t, usual().Clients(1).OnLoss(v1alpha1.OnLossContinueDegraded, 2))
		w.after(20*time.Second, "a/0 dies", w.lose("a", 0))
		return w
	},
	"active-deadline": func(t *testing.T) *world {
		w := newWorld(t, usual().ActiveDeadline("25s"))
		w.after(25*time.Second, "the deadline", func() {})
		return w
	},
	"agent-never-ends": func(t *testing.T) *world {
		w := newWorld(t, usual().ActiveDeadline("1h"))
		w.after(20*time.Second, "a/1 hangs", func() { w.deaf["a/1"] = true })
		return w
	},
	"data-left": func(t *testing.T) *world {
		w := newWorld(t, usual())
		w.left = []v1alpha1.DataLeft{{Target: "a", Path: "/mnt/a/.storagebench/x", Reason: "permission denied"}}
		return w
	},
}

func (w *world) cancel(t *testing.T) func() {
	return func() {
		w.facts.Failure = &decide.Failure{Reason: v1alpha1.ReasonStopped, Message: "the command got the signal: interrupt"}
		w.facts.EndingSince = second(w.now)
		w.both(t, func(r *v1alpha1.BenchmarkRun) { record.Fail(r, *w.facts.Failure, w.now) })
	}
}

func TestSequences(t *testing.T) {
	for name, build := range sequences {
		t.Run(name, func(t *testing.T) {
			w := build(t)
			w.run(t)
			if diff := cmp.Diff(summary(w.memory), summary(w.read(t))); diff != "" {
				t.Errorf("what was stored became something else (-memory +stored):\n%s", diff)
			}
			golden(t, name, strings.Join(w.log, "\n")+"\n\n"+summary(w.read(t)))
		})
	}
}

// summary is a status for people to compare: figures are the business of package result.
func summary(run *v1alpha1.BenchmarkRun) string {
	var b strings.Builder
	status := &run.Status
	fmt.Fprintf(&b, "stage %s", status.Stage)
	if status.Message != "" {
		fmt.Fprintf(&b, ": %s", status.Message)
	}
	b.WriteString("\n")
	if status.Display != nil {
		fmt.Fprintf(&b, "headline %s, %s\n", status.Display.Throughput, status.Display.P99)
	}
	for _, c := range status.Conditions {
		fmt.Fprintf(&b, "condition %s=%s %s %s %q\n", c.Type, c.Status, since(c.LastTransitionTime.Time), c.Reason, c.Message)
	}
	for _, s := range status.Steps {
		fmt.Fprintf(&b, "step %s#%d %s", s.ID, s.Attempt, s.State)
		if s.StartTime != nil {
			fmt.Fprintf(&b, " start %s deadline %s", since(s.StartTime.Time), since(s.Deadline.Time))
		}
		if s.EndTime != nil {
			fmt.Fprintf(&b, " end %s", since(s.EndTime.Time))
		}
		fmt.Fprintf(&b, " %q\n", s.Message)
	}
	for _, phase := range status.Phases {
		for _, target := range phase.Targets {
			fmt.Fprintf(&b, "phase %s, target %s: %d clients, %d operations\n", phase.Name, target.Target, target.Clients, len(target.Operations))
			for _, w := range target.Warnings {
				if w.Severity != v1alpha1.SeverityInfo || w.Type == v1alpha1.WarningClientReplaced {
					fmt.Fprintf(&b, "    %s %s %v %s\n", w.Severity, w.Type, w.Clients, w.Message)
				}
			}
		}
	}
	for _, l := range status.LostClients {
		fmt.Fprintf(&b, "lost %s/%d at %s in %q, replaced %t: %s\n", l.Target, l.Client, since(l.Time.Time), l.Step, l.Replaced, l.Reason)
	}
	for _, d := range status.DataLeft {
		fmt.Fprintf(&b, "left %s %s: %s\n", d.Target, d.Path, d.Reason)
	}
	return b.String()
}

func since(at time.Time) string { return at.Sub(builders.Start).String() }

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run differs (-want +got):\n%s", diff)
	}
}
