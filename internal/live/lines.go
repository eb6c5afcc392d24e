package live

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// quietInterval is the interval between progress lines in output that cannot be redrawn.
const quietInterval = 10 * time.Second

// Lines reports a run as permanent lines: one for each step that ends, one every ten seconds about the running step,
// and one when a wait begins or its reason changes. When a wait between two steps ends, Lines reports the next step at
// once.
type Lines struct {
	w     io.Writer
	plan  *plan.Plan
	done  map[string]bool
	quiet time.Time
	// waited is the last message reported while no step was running. paused is true if it was reported after the first
	// step had begun.
	waited string
	paused bool
	// progress is the last message of a running step. It stays in the status until the next step begins.
	progress string
	// failed is the time at which the run was first observed to have failed.
	failed time.Time
}

// NewLines returns a Lines that reports a run with the given plan. The first call to Tell reports all steps that have
// already ended.
func NewLines(w io.Writer, planned *plan.Plan, now time.Time) *Lines {
	return &Lines{w: w, plan: planned, done: map[string]bool{}, quiet: now}
}

// Tell writes lines about what has changed in the run since the last call.
func (l *Lines) Tell(run *v1alpha1.BenchmarkRun, now time.Time) {
	for i := range run.Status.Steps {
		step := &run.Status.Steps[i]
		name := fmt.Sprintf("%s#%d", step.ID, step.Attempt)
		if step.EndTime == nil || l.done[name] {
			continue
		}
		l.done[name] = true
		if step.State != v1alpha1.StepSkipped {
			l.line(l.ended(step, run), now)
		}
	}
	view := Of(run, l.plan, now)
	if view.Ended {
		return
	}
	if view.Failed {
		l.ending(&view, now)
		return
	}
	if view.Now == nil {
		l.wait(&view, now)
		return
	}
	if l.paused || now.Sub(l.quiet) >= quietInterval {
		l.line(l.running(view.Now), now)
	}
	l.waited, l.paused, l.progress = "", false, view.Message
}

// wait reports why no step of the run is running, and reports again whenever the reason changes.
func (l *Lines) wait(view *View, now time.Time) {
	message, paused := view.Message, view.Stage == v1alpha1.StageRunning
	switch {
	case paused && (message == "" || message == l.progress):
		return // the next step is about to begin
	case !paused && message == "":
		message = view.Stage
	case !paused:
		message = view.Stage + ": " + message
	}
	if view.Stage == v1alpha1.StageFinishing || message == l.waited {
		return
	}
	if l.waited != "" && now.Sub(l.quiet) < quietInterval/5 {
		return
	}
	l.waited, l.paused = message, paused
	l.line(message, now)
}

// ending reports that a run has failed and is waiting for its clients to stop. It writes a line immediately, and then
// every ten seconds.
func (l *Lines) ending(view *View, now time.Time) {
	first := l.failed.IsZero()
	if first {
		l.failed = now
	}
	if !first && now.Sub(l.quiet) < quietInterval {
		return
	}
	words := view.Verdict
	if !first {
		words, _, _ = strings.Cut(view.Verdict, ":")
	}
	if view.Now != nil && !view.Now.Idle {
		words += fmt.Sprintf("; waiting for outstanding I/O of %s to complete", measure.FormatCount(cmp.Or(view.Now.Clients, view.Now.Of), "client"))
	} else {
		words += "; waiting for clients to exit"
	}
	if !first {
		words += fmt.Sprintf(", for %s so far; the kernel cannot interrupt I/O that has started", Short(now.Sub(l.failed)))
	}
	l.line(words, now)
}

func (l *Lines) line(words string, now time.Time) {
	l.quiet = now
	_, _ = fmt.Fprintln(l.w, string(printable(words, false)))
}

// number returns the label of a step, preceded by the position of the step in the plan, such as [2/5].
func (l *Lines) number(id string) string {
	for i, step := range l.plan.Steps {
		if step.ID == id {
			return fmt.Sprintf("[%d/%d] %s", i+1, len(l.plan.Steps), step.Label())
		}
	}
	return id
}

func (l *Lines) running(step *Step) string {
	words := l.number(step.ID) + ": " + Short(step.Elapsed)
	switch {
	case step.Whole > 0 && step.AtMost:
		words += " of at most " + Short(step.Whole)
	case step.Whole > 0:
		words += " of " + Short(step.Whole)
	}
	if step.Figures == nil || step.Idle {
		return words
	}
	// There are no figures until the first sample arrives, two seconds after the start of a step.
	bytes, operations := totalRates(step.Figures)
	if operations > 0 || bytes > 0 {
		words += fmt.Sprintf(", %s, %s, %s", rate(bytes), measure.FormatOperationsPerSecond(float64(operations)), measure.FormatCount(step.Clients, "client"))
	}
	for _, target := range step.Figures.Targets {
		if target.CreditPercent != nil {
			words += fmt.Sprintf(", about %d %% of %s's credits", *target.CreditPercent, target.Target)
		}
	}
	return words
}

func (l *Lines) ended(step *v1alpha1.StepStatus, run *v1alpha1.BenchmarkRun) string {
	words := l.number(step.ID) + ": "
	if step.State != v1alpha1.StepSucceeded {
		if step.Message == "" {
			return words + "ended without a full result"
		}
		return words + "ended without a full result: " + step.Message
	}
	var parts []string
	for i := range l.plan.Steps {
		if l.plan.Steps[i].ID == step.ID {
			parts = stepFigures(run, &l.plan.Steps[i])
		}
	}
	if step.StartTime != nil {
		parts = append(parts, "took "+step.EndTime.Sub(step.StartTime.Time).Round(100*time.Millisecond).String())
	}
	return words + strings.Join(parts, ", ")
}
