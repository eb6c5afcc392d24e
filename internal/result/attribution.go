package result

import (
	"maps"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
)

// Limits that the API sets on the lengths of lists and texts.
const (
	maxSuspects   = 8
	maxEvidence   = 6
	maxSentence   = 256
	maxArithmetic = 256
	maxLimitName  = 128
)

// Attribution returns the limits that may have held back the rate of the point p, with all details. It returns nil if
// no bytes were moved, or if no limit is documented and nothing else explains the rate.
func (p *Point) Attribution(level v1alpha1.AttributionLevel) *v1alpha1.Attribution {
	found := p.judged()
	if p.silent(&found) {
		return nil
	}
	made := &v1alpha1.Attribution{Level: level, Operation: v1alpha1.Operation(p.Demand.Load.Operation), Ambiguous: found.Ambiguous,
		BytesPerSecond: measure.Round(p.BytesPerSecond), IOPSMilli: measure.Round(p.OperationsPerSecond * 1000)}
	baseline, burst := bounds(found.Documented)
	made.Baseline, made.Burst = documentedRate(baseline, found.PercentOfBaseline), documentedRate(burst, found.PercentOfBurst)
	for index := range found.Suspects[:min(len(found.Suspects), maxSuspects)] {
		made.Suspects = append(made.Suspects, suspectOf(&found.Suspects[index]))
	}
	return made
}

// Short returns the attribution of the point p for a phase with many steps. It contains only the suspect that is ranked
// first, without the evidence.
func (p *Point) Short() *v1alpha1.StepAttribution {
	found := p.judged()
	if p.silent(&found) {
		return nil
	}
	first := suspectOf(&found.Suspects[0])
	made := &v1alpha1.StepAttribution{Cause: first.Cause, Limit: first.Limit, Burst: first.Burst, PermilleUsed: first.PermilleUsed, Ambiguous: found.Ambiguous}
	baseline, burst := bounds(found.Documented)
	if baseline.Limit != nil {
		made.PermilleOfBaseline = new(measure.Round(found.PercentOfBaseline * 10))
	}
	if burst.Limit != nil {
		made.PermilleOfBurst = new(measure.Round(found.PercentOfBurst * 10))
	}
	return made
}

// silent reports whether an attribution is not worth reporting: no bytes were moved, or no limit is documented and
// nothing else explains the rate.
func (p *Point) silent(found *limits.Attribution) bool {
	return p.BytesPerSecond <= 0 || len(found.Suspects) == 0 || len(p.Documented.Limits) == 0 && found.Suspects[0].Cause == limits.CauseUnknown
}

// bounds selects the documented baseline and burst from the limits that apply to a load. The field Limit of a returned
// bound is nil if the bound is not documented, or if it is a burst that does not exceed the baseline.
func bounds(of limits.Effective) (baseline, burst limits.Bound) {
	baseline, burst = of.Baseline, of.Burst
	if baseline.Limit == nil {
		baseline, burst = of.BytesBaseline, of.BytesBurst
	}
	if burst.BytesPerSecond <= baseline.BytesPerSecond && burst.OperationsPerSecond <= baseline.OperationsPerSecond {
		burst = limits.Bound{}
	}
	return baseline, burst
}

func documentedRate(of limits.Bound, percent float64) *v1alpha1.DocumentedRate {
	if of.Limit == nil {
		return nil
	}
	made := &v1alpha1.DocumentedRate{Limit: v1alpha1.Truncate(of.Limit.Name, maxLimitName), PermilleReached: measure.Round(percent * 10),
		Arithmetic: v1alpha1.Truncate(of.Arithmetic, maxArithmetic)}
	if of.BytesPerSecond > 0 {
		made.BytesPerSecond = new(measure.Round(of.BytesPerSecond))
	}
	if of.OperationsPerSecond > 0 {
		made.IOPSMilli = new(measure.Round(of.OperationsPerSecond * 1000))
	}
	return made
}

func suspectOf(s *limits.Suspect) v1alpha1.Suspect {
	made := v1alpha1.Suspect{Cause: v1alpha1.Cause(s.Cause), Burst: s.Burst, PermilleUsed: measure.Round(s.Share * 1000), Tied: s.Tied}
	if limit := s.Limit; limit != nil {
		made.Limit, made.Overridden = v1alpha1.Truncate(limit.Name, maxLimitName), limit.Overridden
		made.Arithmetic = limit.Arithmetic
		if s.Burst && limit.BurstArithmetic != "" {
			made.Arithmetic = limit.BurstArithmetic
		}
		made.Arithmetic = v1alpha1.Truncate(made.Arithmetic, maxArithmetic)
	}
	for _, sentence := range s.Evidence[:min(len(s.Evidence), maxEvidence)] {
		made.Evidence = append(made.Evidence, v1alpha1.Truncate(sentence, maxSentence))
	}
	return made
}

// DrainPoints splits a drain whose credits ran out into two points, the burst and the baseline. The second point's
// Emptied field lists the limits whose credits ran out. If no credits ran out, DrainPoints returns the whole drain as
// one point, whose level is "" instead of burst or baseline.
func DrainPoints(whole *Point, burst *v1alpha1.BurstResult) (levels []v1alpha1.AttributionLevel, points []*Point) {
	if burst == nil || !burst.Exhausted {
		return []v1alpha1.AttributionLevel{""}, []*Point{whole}
	}
	names := EmptiedBy(whole.Documented, burst)
	first, last := levelRate(burst, func(s *v1alpha1.BurstSeries) *v1alpha1.Estimate { return s.Burst }),
		levelRate(burst, func(s *v1alpha1.BurstSeries) *v1alpha1.Estimate { return s.Baseline })
	before, after := whole.AtLevel(first), whole.AtLevel(last)
	// Before the drop, the limits whose credits ran out later still had credits. The fill level of their buckets at
	// that time is unknown, so assume 50 to 100 %.
	before.Credits = map[string]limits.Fill{}
	maps.Copy(before.Credits, whole.Credits)
	for _, name := range names {
		before.Credits[name] = limits.Fill{Most: 100, Least: 50}
	}
	after.Emptied = names
	return []v1alpha1.AttributionLevel{v1alpha1.LevelBurst, v1alpha1.LevelBaseline}, []*Point{before, after}
}

func levelRate(burst *v1alpha1.BurstResult, of func(*v1alpha1.BurstSeries) *v1alpha1.Estimate) limits.Rate {
	var made limits.Rate
	if burst.Bytes != nil {
		if e := of(burst.Bytes); e != nil {
			made.BytesPerSecond = float64(e.Value)
		}
	}
	if burst.Operations != nil {
		if e := of(burst.Operations); e != nil {
			made.OperationsPerSecond = float64(e.Value) / 1000
		}
	}
	return made
}
