package result

import (
	"math"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Headline returns the figure that represents a run in a list of runs, and its name. The figure is from the phase that
// spec.headline names, or else from the last phase whose figure has the highest rank. Within the phase, it is from the
// first target. Without spec.headline, Headline skips phases with expect: ServerCache, because their rate says nothing
// about the storage. It returns nil if there is no such figure.
func Headline(run *v1alpha1.BenchmarkRun) *v1alpha1.HeadlineDisplay {
	var shown *v1alpha1.HeadlineDisplay
	best := 0
	for i := range run.Status.Phases {
		phase := &run.Status.Phases[i]
		named := phase.Name == run.Spec.Headline
		spec := run.Spec.Run.Phase(phase.Name)
		cached := spec != nil && spec.Expect == v1alpha1.ExpectServerCache
		if len(phase.Targets) == 0 || cached && !named {
			continue
		}
		figures := phasekind.Of(phase.Kind).Figures(&phase.Targets[0])
		chosen := headlineOf(figures, named)
		if chosen == nil {
			continue
		}
		rank := ranks[chosen.Name]
		if named {
			rank = math.MaxInt
		}
		if rank < best {
			continue
		}
		best = rank
		shown = &v1alpha1.HeadlineDisplay{Result: headlineText(chosen), Figure: headlineName(phase, chosen, cached)}
		if p99 := phasekind.Find(figures, v1alpha1.FigureP99Latency, chosen.Operation); p99 != nil {
			shown.P99 = measure.FormatLatency(uint64(max(p99.Value, 0)))
		}
	}
	return shown
}

// ranks holds the rank of each figure that can represent a run; a higher rank is preferred. Rank 0 means that the
// figure represents a run only if spec.headline names its phase.
var ranks = map[v1alpha1.FigureName]int{
	v1alpha1.FigureBaseline:   3,
	v1alpha1.FigureThroughput: 2, v1alpha1.FigureBurst: 2, v1alpha1.FigureSustained: 2,
	v1alpha1.FigureRate: 1, v1alpha1.FigureDuration: 1, v1alpha1.FigureIOPS: 1,
	v1alpha1.FigureRefill: 0,
}

// headlineOf returns the figure that represents a phase. This is the throughput of the operation or cell with the most
// bytes per second, mdtest's first rate, the duration of a program that reports no rate, or the baseline of a drain.
// For a drain whose credits did not run out, it is the burst.
func headlineOf(figures []phasekind.Figure, named bool) *phasekind.Figure {
	var chosen *phasekind.Figure
	for i := range figures {
		f := &figures[i]
		rank, known := ranks[f.Name]
		switch {
		case !f.Main || f.Value <= 0 || !known || rank == 0 && !named:
		case chosen == nil || rank > ranks[chosen.Name]:
			chosen = f
		case rank < ranks[chosen.Name], f.Name == v1alpha1.FigureRate:
			// Of several rates that a tool reports, keep the first, which is the most important one.
		case f.Name != v1alpha1.FigureThroughput || f.Value > chosen.Value:
			chosen = f
		}
	}
	return chosen
}

// headlineName describes a figure: the phase, the target if there are several, and the name of the figure.
func headlineName(phase *v1alpha1.PhaseResult, f *phasekind.Figure, cached bool) string {
	where, words := phase.Name, strings.ToLower(f.Operation)
	if len(phase.Targets) > 1 {
		where += "/" + phase.Targets[0].Target
	}
	switch f.Name { //nolint:exhaustive // the other figures are named after their operation
	case v1alpha1.FigureBaseline, v1alpha1.FigureBurst, v1alpha1.FigureDuration, v1alpha1.FigureRefill:
		words = strings.ToLower(string(f.Name))
	case v1alpha1.FigureSustained:
		words = "sustained burst"
	case v1alpha1.FigureThroughput:
		if phasekind.Of(phase.Kind).InCells() {
			words = "most " + words
		} else if cached {
			words = "cache " + words
		}
	}
	return v1alpha1.Truncate(where+": "+words, maxFigure)
}

// maxFigure is the API's limit on the length of a headline's name.
const maxFigure = 160

func headlineText(f *phasekind.Figure) string {
	switch f.Unit() {
	case v1alpha1.UnitBytesPerSecond:
		return measure.FormatBytesPerSecond(float64(f.Value))
	case v1alpha1.UnitNanoseconds:
		return time.Duration(f.Value).Round(10 * time.Millisecond).String()
	default:
	}
	text := measure.FormatOperationsPerSecond(float64(f.Value) / 1000)
	if f.Name == v1alpha1.FigureRate {
		return strings.TrimSuffix(text, " IOPS") + "/s"
	}
	return text
}
