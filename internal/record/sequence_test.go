package record_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/golden"
)

func usual() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("a").Clients(2).Prepare("layout").Steady("write", "10s").
		Steady("read", "10s").With(builders.Fio().Reads())
}

// sequence is a benchmark and the events of its run.
type sequence struct {
	benchmark *builders.BenchmarkBuilder
	happens   func(*world)
}

// sequences are whole runs by the name of their golden file.
var sequences = map[string]sequence{
	"good": {usual(), func(*world) {}},
	"two-targets": {builders.Benchmark("b").Target("a").Target("b").Retain().Clients(2).
		Prepare("layout").Steady("write", "10s").Sequential(), func(*world) {}},
	"agent-never-ready": {usual(), func(w *world) {
		w.silent["a/1"] = true
	}},
	"load-refused": {usual().Clients(3), func(w *world) {
		w.refuse["a/1"] = true
	}},
	"tool-fails": {usual().Clients(3), func(w *world) {
		w.fail["a/2"] = true
	}},
	"stopped-early-by-itself": {usual(), func(w *world) {
		key := decide.ClientKey{Target: "a", Index: 1}
		w.after(20*time.Second, "a/1 runs out of its own time", func() { w.stop(decide.Attempt{Step: "01-write", Number: 1}, key) })
	}},
	"nothing-done": {usual(), func(w *world) {
		w.after(20*time.Second, "both do nothing from now on", func() { w.idle["a/0"], w.idle["a/1"] = true, true })
	}},
	"cancelled": {usual(), func(w *world) {
		w.after(25*time.Second, "interrupted", w.cancel)
	}},
	"cancelled-before-ready": {usual(), func(w *world) {
		w.after(time.Second, "interrupted", w.cancel)
	}},
	"lost-and-replaced": {usual().Clients(3), func(w *world) {
		w.after(20*time.Second, "a/1 dies", w.lose("a", 1))
	}},
	"lost-with-its-data": {usual().Clients(3), func(w *world) {
		w.takesData = true
		w.after(28*time.Second, "a/1 dies", w.lose("a", 1))
	}},
	"lost-twice": {usual().OnLoss(v1alpha1.OnLossRestartStep, 1), func(w *world) {
		w.after(20*time.Second, "a/1 dies", w.lose("a", 1))
		w.after(28*time.Second, "a/1 dies again", w.lose("a", 1))
	}},
	"lost-before-start": {usual(), func(w *world) {
		w.after(2005*time.Millisecond, "a/0 dies", w.lose("a", 0))
	}},
	"lost-between-steps": {usual(), func(w *world) {
		w.after(2*time.Second+20*time.Millisecond+lead+10*time.Second+5*time.Millisecond, "a/0 dies", w.lose("a", 0))
	}},
	"lost-fail-run": {usual().OnLoss(v1alpha1.OnLossFailRun, 2), func(w *world) {
		w.after(20*time.Second, "a/1 dies", w.lose("a", 1))
	}},
	"lost-continue": {usual().Clients(3).OnLoss(v1alpha1.OnLossContinueDegraded, 2), func(w *world) {
		w.after(20*time.Second, "a/1 dies", w.lose("a", 1))
	}},
	"lost-continue-none-left": {usual().Clients(1).OnLoss(v1alpha1.OnLossContinueDegraded, 2), func(w *world) {
		w.after(20*time.Second, "a/0 dies", w.lose("a", 0))
	}},
	"active-deadline": {usual().ActiveDeadline("25s"), func(w *world) {
		w.after(25*time.Second, "the deadline", func() {})
	}},
	"agent-never-ends": {usual().ActiveDeadline("1h"), func(w *world) {
		w.after(20*time.Second, "a/1 hangs", func() { w.deaf["a/1"] = true })
	}},
	"drain-and-redrain": {drains(), func(w *world) {
		w.sayEnough("01-burst", 200*time.Second)
		w.sayEnough("02-001-refill-drain", 500*time.Second)
	}},
	"drain-until-its-end": {drains(), func(*world) {}},
	"drain-loses-a-client": {drains(), func(w *world) {
		w.after(60*time.Second, "a/1 dies", w.lose("a", 1))
	}},
	"ramp-and-sweep": {builders.Benchmark("b").Target("a").Clients(2).Prepare("layout").
		Ramp("ramp", v1alpha1.RampClients, "5s", 1, 2).
		Sweep("matrix", v1alpha1.RegimeAny, "5s", v1alpha1.SweepAxes{ReadPercent: []int32{0, 50, 100}}).
		Cooldown("pause", "1m"), func(*world) {}},
	"data-left": {usual(), func(w *world) {
		w.left = []v1alpha1.DataLeft{{Target: "a", Path: "/mnt/a/.storagebench/x", Reason: "permission denied"}}
	}},
}

// drains returns a benchmark with a drain, a redrain and a steady phase.
func drains() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("a").Clients(2).Throughput("20M", "300M", "30G", "10M").Prepare("layout").
		BurstDrain("burst", "20s", "10m").Redrain("refill", "2m").AtMost("12m").Steady("after", "10s")
}

// sayEnough reports, after some time, that the first attempt of a step has measured enough.
func (w *world) sayEnough(id string, after time.Duration) {
	w.after(after, "enough is measured in "+id, func() {
		w.enough = map[decide.Attempt]string{{Step: id, Number: 1}: "it fell for good"}
	})
}

// cancel simulates a signal to the command.
func (w *world) cancel() {
	w.t.Helper()
	w.facts.Failure = &decide.Failure{Reason: v1alpha1.ReasonStopped, Message: "the command received the signal: interrupt"}
	w.facts.EndingSince = second(w.now)
	w.both(func(r *v1alpha1.BenchmarkRun) { record.Fail(r, *w.facts.Failure, w.now) })
}

func TestSequences(t *testing.T) {
	for name, test := range sequences {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.benchmark)
			test.happens(w)
			w.run()
			if diff := cmp.Diff(summary(w.memory), summary(w.read())); diff != "" {
				t.Errorf("what was stored became something else (-memory +stored):\n%s", diff)
			}
			golden.Check(t, name, strings.Join(w.log, "\n")+"\n\n"+summary(w.read()))
		})
	}
}

// summary formats a status for review. The tests of package result check the figures.
func summary(run *v1alpha1.BenchmarkRun) string {
	var b strings.Builder
	status := &run.Status
	fmt.Fprintf(&b, "stage %s", status.Stage)
	if status.Message != "" {
		fmt.Fprintf(&b, ": %s", status.Message)
	}
	b.WriteString("\n")
	if status.Display != nil {
		fmt.Fprintf(&b, "headline %s, %s, %s\n", status.Display.Result, status.Display.P99, status.Display.Figure)
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
