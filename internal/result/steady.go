package result

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
)

// maxMeanDifference is the maximum relative difference between the mean of the last five minutes, if they were steady,
// and the mean of the whole measurement. If it is exceeded, the figures of the step do not describe its steady state.
const maxMeanDifference = 0.10

// judgeSteady assesses the steady state of the rate summed over all clients, in bytes, or in operations if no bytes are
// moved.
func (b *builder) judgeSteady(s summed) {
	b.result.SteadyState = &v1alpha1.SteadyStateResult{}
	samples, format := s.bytes, measure.FormatBytesPerSecond
	if rate(samples) == 0 {
		samples, format = s.operations, measure.FormatOperationsPerSecond
	}
	if len(samples) == 0 {
		b.warnings.add(v1alpha1.WarningNotAssessed, nil, "the rate over time was not recorded")
		return
	}
	judged, err := detect.AssessSteady(samples, detect.SteadyOptions{BucketEmpty: b.history.BucketEmpty})
	if err != nil {
		b.warnings.add(v1alpha1.WarningNotAssessed, nil, "%s", err)
		return
	}
	b.result.SteadyState.Rounds = int32(min(len(judged.Rounds), math.MaxInt32))
	last := judged.Last
	if last == nil {
		b.warnings.add(v1alpha1.WarningNotAssessed, nil, "%s measured; steady state needs five minutes without gaps%s",
			duration(length(samples)), b.withoutInterval()+b.uncertain()+change(samples, format))
		return
	}
	b.result.SteadyState.Assessed = true
	b.result.SteadyState.ExcursionPermille, b.result.SteadyState.SlopePermille = new(permille(last.Excursion)), new(permille(last.Slope))
	overall := rate(samples)
	far := math.Abs(overall-last.Mean.Value) > maxMeanDifference*last.Mean.Value
	steady := last.Steady && !far
	b.result.SteadyState.Steady = &steady
	switch {
	case !last.Steady && judged.First != nil:
		b.warnings.add(v1alpha1.WarningNotSteady, nil, "steady until %s, but not at the end: %s",
			duration(judged.First.EndSeconds), unsteady(last))
	case !last.Steady:
		b.warnings.add(v1alpha1.WarningNotSteady, nil, "%s", unsteady(last))
	case far:
		b.warnings.add(v1alpha1.WarningNotSteady, nil,
			"the last five minutes were steady at %s, but the overall mean is %s: the measurement began before the rate was steady; raise warmUp",
			format(last.Mean.Value), format(overall))
	case !b.history.BucketEmpty:
		b.warnings.add(v1alpha1.WarningSteadyInBurst, nil,
			"steady, but the burst credits may not be spent yet: the rate may fall later")
	}
}

// unsteady explains why a window is not steady.
func unsteady(w *detect.SteadyWindow) string {
	words := "still rising"
	switch {
	case w.Mean.Value <= 0:
		return "no operation completed in the last five minutes"
	case w.Slope <= detect.MostSlope:
		return fmt.Sprintf("the rate varied by %s of its mean in the last five minutes (limit for steady state: 20 %%)",
			measure.FormatShare(w.Excursion))
	case w.Falls:
		words = "still falling"
	}
	return fmt.Sprintf("the rate was %s, by %s of its mean in the last five minutes (limit for steady state: 10 %%)", words,
		measure.FormatShare(w.Slope))
}

// withoutInterval states why no rate has a 95 % interval. It returns "" if at least one rate has an interval.
func (b *builder) withoutInterval() string {
	has := func(o v1alpha1.OperationResult) bool { return o.RateErrorPPM != nil }
	if len(b.result.Operations) == 0 || slices.ContainsFunc(b.result.Operations, has) {
		return ""
	}
	if b.job != nil && len(b.job.Repetitions) > 0 {
		return fmt.Sprintf("; no 95 %% interval: fewer than %d repetitions of an operation after the warm-up", leastRounds)
	}
	samples, _ := b.inWindow(measure.Read) // every operation has the same number of samples, so count those of one
	return "; no 95 % interval: only " + measure.FormatCount(len(samples), "sample")
}

// uncertain returns a clause that calls the mean imprecise, or "" if half the width of its 95 % interval is at most
// maxMeanErrorPPM.
func (b *builder) uncertain() string {
	most := int64(0)
	for i := range b.result.Operations {
		if ppm := b.result.Operations[i].RateErrorPPM; ppm != nil {
			most = max(most, *ppm)
		}
	}
	if most <= maxMeanErrorPPM {
		return ""
	}
	return "; the rate varied so much that its mean is imprecise"
}

// maxMeanErrorPPM is the largest half-width of a mean's 95 % interval, in millionths of the mean, for which the mean
// counts as precise.
const maxMeanErrorPPM = 500_000

// change returns a clause about how the rate changed if the first and the last quarter of the samples differ by more
// than a factor of two. Otherwise it returns "".
func change(samples []detect.Sample, format func(float64) string) string {
	quarter := len(samples) / 4
	first, last := rate(samples[:quarter]), rate(samples[len(samples)-quarter:])
	verb := "fell"
	switch {
	case last > 2*first:
		verb = "rose"
	case first <= 2*last:
		return ""
	}
	return fmt.Sprintf("; the rate %s from %s in the first quarter to %s in the last", verb, format(first), format(last))
}

// rate returns the mean rate over all samples.
func rate(samples []detect.Sample) float64 {
	var amount, seconds float64
	for _, s := range samples {
		amount += s.Rate * (s.EndSeconds - s.StartSeconds)
		seconds += s.EndSeconds - s.StartSeconds
	}
	if seconds <= 0 {
		return 0
	}
	return amount / seconds
}

// length returns the time from the start of the first sample to the end of the last, in seconds.
func length(samples []detect.Sample) float64 {
	if len(samples) == 0 {
		return 0
	}
	return samples[len(samples)-1].EndSeconds - samples[0].StartSeconds
}

// permille returns a share in thousandths.
func permille(share float64) int64 { return measure.Round(share * 1000) }

// duration formats a time in seconds, rounded to whole seconds, or to tenths if it is less than a minute.
func duration(seconds float64) string {
	unit := time.Second
	if seconds < 60 {
		unit = 100 * time.Millisecond
	}
	return nanoseconds(seconds).Round(unit).String()
}

func nanoseconds(seconds float64) time.Duration { return time.Duration(measure.Round(seconds * 1e9)) }
