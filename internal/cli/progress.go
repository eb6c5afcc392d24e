package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/local"
	"github.com/storagebench/storagebench/internal/measure"
)

// quietInterval is how often a running step gets a line where lines cannot be redrawn.
const quietInterval = 10 * time.Second

// progress shows a run as it goes: a line that is redrawn on a terminal, plain lines in a pipe.
type progress struct {
	w        io.Writer
	terminal bool
	loaded   loaded
	done     map[string]bool
	quiet    time.Time
	drawn    bool
}

func newProgress(w io.Writer, loaded loaded) *progress {
	file, isFile := w.(*os.File)
	return &progress{
		w:        w,
		terminal: isFile && term.IsTerminal(int(file.Fd())),
		loaded:   loaded,
		done:     map[string]bool{},
		quiet:    time.Now(),
	}
}

func (p *progress) begin(directories map[string]string) {
	var where []string
	for _, name := range slices.Sorted(maps.Keys(directories)) {
		where = append(where, name+" = "+directories[name])
	}
	p.line(fmt.Sprintf("%s: %d clients a target, %s", p.loaded.benchmark.Name, p.loaded.plan.ClientsPerTarget, strings.Join(where, ", ")))
}

// observe is told of the run at least once a second.
func (p *progress) observe(seen local.Progress) {
	for _, step := range seen.Run.Status.Steps {
		name := fmt.Sprintf("%s#%d", step.ID, step.Attempt)
		if step.EndTime == nil || p.done[name] {
			continue
		}
		p.done[name] = true
		p.line(p.ended(step, seen.Run))
	}
	if seen.Live == nil {
		return
	}
	text := p.running(*seen.Live)
	switch {
	case p.terminal:
		_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", text)
		p.drawn = true
	case time.Since(p.quiet) >= quietInterval:
		p.line(text)
	}
}

func (p *progress) end() {
	if p.drawn {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func (p *progress) line(text string) {
	p.end()
	p.drawn = false
	p.quiet = time.Now()
	_, _ = fmt.Fprintln(p.w, text)
}

// number is the place of a step in the plan, for people.
func (p *progress) number(id string) string {
	for i, step := range p.loaded.plan.Steps {
		if step.ID == id {
			return fmt.Sprintf("[%d/%d] %s", i+1, len(p.loaded.plan.Steps), step.Phase)
		}
	}
	return id
}

func (p *progress) running(live local.Live) string {
	text := fmt.Sprintf("%s: %s", p.number(live.Step.ID), max(live.Elapsed, 0).Truncate(time.Second))
	if !live.Step.WorkBound() {
		text += fmt.Sprintf(" of %s", live.Step.WarmUp+live.Step.Duration)
	}
	// The first sample comes two seconds after the start; until then nothing is known.
	if live.Clients > 0 && live.IOPS > 0 {
		text += fmt.Sprintf(", %s, %s, %d clients", measure.FormatBytesPerSecond(live.BytesPerSecond),
			measure.FormatOperationsPerSecond(live.IOPS), live.Clients)
	}
	return text
}

func (p *progress) ended(step v1alpha1.StepStatus, run *v1alpha1.BenchmarkRun) string {
	text := p.number(step.ID) + ": "
	if step.State != v1alpha1.StepSucceeded {
		return text + "ended without a full result" + suffix(step.Message)
	}
	var rates []string
	for _, phase := range run.Status.Phases {
		if phase.Name != p.phase(step.ID) {
			continue
		}
		for _, target := range phase.Targets {
			for _, operation := range target.Operations {
				if operation.BytesPerSecond != nil {
					rates = append(rates, fmt.Sprintf("%s %s", operation.Operation,
						measure.FormatBytesPerSecond(float64(*operation.BytesPerSecond))))
				}
			}
		}
	}
	if step.StartTime != nil {
		rates = append(rates, "took "+step.EndTime.Sub(step.StartTime.Time).Round(100*time.Millisecond).String())
	}
	return text + strings.Join(rates, ", ")
}

func (p *progress) phase(id string) string {
	for _, step := range p.loaded.plan.Steps {
		if step.ID == id {
			return step.Phase
		}
	}
	return ""
}

func suffix(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}
