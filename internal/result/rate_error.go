package result

import (
	"math"

	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// leastRounds is the minimum number of IOR repetitions needed to determine the error of their mean.
const leastRounds = 3

// rateError returns half the width of the 95 % interval of an operation's rate, in millionths of the rate. It returns
// nil if the rate is not a mean over samples at one level, or if there are too few samples. If block sizes differ, the
// byte rate and the operation rate have different errors, and rateError returns the larger one.
func (b *builder) rateError(operation measure.Operation) *int64 {
	if b.step.Purpose != plan.Measure || len(b.loaded) == 0 {
		// A layout does a fixed amount of work, so its rate is not a mean over samples. A drain has two levels, each
		// with its own interval.
		return nil
	}
	if b.job != nil && len(b.job.Repetitions) > 0 {
		return b.repetitionError(operation)
	}
	if b.step.WorkBound() {
		return nil
	}
	bytes, operations := b.inWindow(operation)
	var widest *int64
	for _, samples := range [][]detect.Sample{bytes, operations} {
		half, ok := detect.MeanError(samples)
		if !ok {
			continue
		}
		if mean := rate(samples); mean > 0 {
			widest = wider(widest, half/mean)
		}
	}
	return widest
}

// wider converts a share to millionths. It returns the larger of this value and `than`, which is also in millionths and
// may be nil.
func wider(than *int64, share float64) *int64 {
	millionths := measure.Round(math.Ceil(share * 1e6))
	if than != nil && *than > millionths {
		return than
	}
	return &millionths
}

// inWindow returns the rates of an operation, summed over all clients, in each second in which all of them ran. It
// omits seconds with missing samples.
func (b *builder) inWindow(operation measure.Operation) (bytes, operations []detect.Sample) {
	spans := make([]measure.ClientSpan, 0, len(b.loaded))
	for _, one := range b.loaded {
		span, ok := one.Span()
		if !ok {
			return nil, nil
		}
		spans = append(spans, span)
	}
	window, ok := measure.CommonWindow(spans)
	if !ok {
		return nil, nil
	}
	grid, err := measure.SumOver(window, int64(gridStep), b.loaded...)
	if err != nil {
		return nil, nil
	}
	for i := range grid.Cells {
		cell := grid.CellWindow(i)
		if cell.Nanoseconds() < int64(gridStep)/2 || !complete(cell, b.loaded, spans) {
			continue // skip a second with missing samples, and the last one if it is too short
		}
		sample := detect.Sample{StartSeconds: float64(cell.StartNanoseconds-window.StartNanoseconds) / 1e9, EndSeconds: float64(cell.EndNanoseconds-window.StartNanoseconds) / 1e9}
		counter := grid.Cells[i][operation]
		sample.Rate = float64(counter.Bytes) / cell.Seconds()
		bytes = append(bytes, sample)
		sample.Rate = float64(counter.Operations) / cell.Seconds()
		operations = append(operations, sample)
	}
	return bytes, operations
}

// repetitionError derives the error from IOR's repetitions, which are separate rounds with pauses in between. The rate
// excludes the warm-up, so the error excludes the repetitions that began during the warm-up.
func (b *builder) repetitionError(operation measure.Operation) *int64 {
	var rates []float64
	mean := 0.0
	measured, _ := b.loaded[0].Span()
	for i := range b.job.Repetitions {
		r := &b.job.Repetitions[i]
		warmUp := b.step.WarmUp > 0 && !r.Ended.IsZero() && r.Ended.Add(-r.Total).UnixNano() < measured.StartNanoseconds
		if r.Operation == operation && r.Total > 0 && !warmUp {
			rates = append(rates, float64(r.Bytes)/r.Total.Seconds())
			mean += rates[len(rates)-1]
		}
	}
	if len(rates) < leastRounds {
		return nil
	}
	mean /= float64(len(rates))
	squares := 0.0
	for _, rate := range rates {
		squares += (rate - mean) * (rate - mean)
	}
	value := compare.FromRounds(mean, math.Sqrt(squares/float64(len(rates)-1)), len(rates))
	if mean <= 0 || !value.Known {
		return nil
	}
	return wider(nil, (value.Upper-mean)/mean)
}
