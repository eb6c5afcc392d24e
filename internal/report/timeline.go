package report

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// span holds the planned and the actual time of a phase.
type span struct {
	name                             string
	steps                            int
	planned, first, plannedEnd, last time.Time
	inFlight                         *int64
}

// timeline writes the planned and the actual start and end of each phase, relative to the start of the run.
func (p *page) timeline(d Document) {
	spans := spansOf(d)
	if d.StartTime == nil || len(spans) == 0 {
		return
	}
	at := func(instant time.Time) string {
		if instant.IsZero() {
			return absent
		}
		return "+" + length(instant.Sub(d.StartTime.Time).Nanoseconds())
	}
	lines := [][]string{{"PHASE", "STEPS", "PLANNED START", "FIRST I/O", "PLANNED END", "LAST I/O", "IN FLIGHT", "PAUSE BEFORE"}}
	var before time.Time
	for _, s := range spans {
		inFlight, pause := absent, absent
		if s.inFlight != nil {
			inFlight = length(*s.inFlight)
		}
		if !s.first.IsZero() && !before.IsZero() {
			pause = length(s.first.Sub(before).Nanoseconds())
		}
		if !s.last.IsZero() {
			before = s.last
		}
		lines = append(lines, []string{printable(s.name), strconv.Itoa(s.steps), at(s.planned), at(s.first), at(s.plannedEnd), at(s.last), inFlight, pause})
	}
	p.columns(lines, 1)
	p.line("Times are from the start of the run. In flight is the longest time, at the end of a step, until outstanding operations were " +
		"complete; no rate includes it. Pause before is from the last completion of the previous phase to the first I/O.")
}

// spansOf returns the time span of each phase, in the order in which the phases started. For each step, it uses only
// the attempt whose results count.
func spansOf(d Document) []span {
	phases := map[string]string{}
	var facts []*v1alpha1.StepStatus
	for _, step := range d.Spec.Steps {
		if fact := d.Attempt(step.ID); fact != nil && fact.StartTime != nil {
			phases[step.ID], facts = step.Phase, append(facts, fact)
		}
	}
	slices.SortFunc(facts, func(a, b *v1alpha1.StepStatus) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime.Time), cmp.Compare(a.ID, b.ID))
	})
	var spans []span
	for _, fact := range facts {
		name := phases[fact.ID]
		at := slices.IndexFunc(spans, func(s span) bool { return s.name == name })
		if at < 0 {
			at = len(spans)
			spans = append(spans, span{name: name, planned: instant(fact.StartTime)})
		}
		s := &spans[at]
		s.steps++
		if first := instant(fact.FirstIOTime); s.first.IsZero() {
			s.first = first
		}
		s.plannedEnd = instant(fact.PlannedEndTime)
		if last := instant(fact.LastIOTime); last.After(s.last) {
			s.last = last
		}
	}
	for i := range spans {
		spans[i].inFlight = inFlightOf(d, spans[i].name)
	}
	return spans
}

// inFlightOf returns the longest time for which operations of a phase were still in flight after the end of a target's
// load, or nil if it is unknown.
func inFlightOf(d Document, phase string) *int64 {
	var longest *int64
	for result, target := range v1alpha1.TargetResults(d.Phases) {
		if of := target.InFlightNanoseconds; result.Name == phase && of != nil && (longest == nil || *of > *longest) {
			longest = of
		}
	}
	return longest
}

func instant(t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
