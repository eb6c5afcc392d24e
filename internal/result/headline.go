package result

import (
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Headline returns the figures of a run for a list of runs: those of the last phase that has any, of its first target.
// That is the operation or cell with the most bytes per second, mdtest's first rate, or the baseline of a drain; if its
// credits did not run out, the burst. It is nil if there are no figures.
func Headline(phases []v1alpha1.PhaseResult) *v1alpha1.HeadlineDisplay {
	for i := len(phases) - 1; i >= 0; i-- {
		if len(phases[i].Targets) == 0 {
			continue
		}
		figures := phasekind.Of(phases[i].Kind).Figures(&phases[i].Targets[0])
		if chosen := headlineOf(figures); chosen != nil {
			shown := &v1alpha1.HeadlineDisplay{Throughput: headlineText(chosen)}
			if p99 := phasekind.Find(figures, v1alpha1.FigureP99Latency, chosen.Operation); p99 != nil {
				shown.P99 = measure.FormatLatency(uint64(max(p99.Value, 0)))
			}
			return shown
		}
	}
	return nil
}

func headlineOf(figures []phasekind.Figure) *phasekind.Figure {
	var chosen *phasekind.Figure
	for i := range figures {
		f := &figures[i]
		if !f.Main || f.Value <= 0 {
			continue
		}
		switch f.Name {
		case v1alpha1.FigureThroughput:
			if chosen == nil || f.Value > chosen.Value {
				chosen = f
			}
		case v1alpha1.FigureRate:
			if chosen == nil {
				chosen = f
			}
		case v1alpha1.FigureBurst, v1alpha1.FigureSustained, v1alpha1.FigureBaseline: // the last one lasts longest
			chosen = f
		default:
		}
	}
	return chosen
}

func headlineText(f *phasekind.Figure) string {
	if f.Unit() == v1alpha1.UnitBytesPerSecond {
		return measure.FormatBytesPerSecond(float64(f.Value))
	}
	text := measure.FormatOperationsPerSecond(float64(f.Value) / 1000)
	if f.Name == v1alpha1.FigureRate {
		return strings.TrimSuffix(text, " IOPS") + " " + f.Operation + "/s"
	}
	return text
}
