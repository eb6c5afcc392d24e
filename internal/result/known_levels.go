package result

import "github.com/storagebench/storagebench/internal/detect"

const (
	// leastTail is the minimum time, in seconds, for which the rate must stay at the known baseline at the end of a
	// redrain.
	leastTail = 5
	// aboveBaseline is the factor by which the rate of a sample must exceed the baseline for the sample to lie at least
	// partly in the burst.
	aboveBaseline = 1.25
	// wholly is a threshold on a scale on which the baseline is 0 and the burst is 1. A sample whose rate is above it
	// lies entirely in the burst.
	wholly = 0.9
	// cutShare is the assumed uncertainty of the time of a drop that lies inside a sample, as a fraction of the
	// sample's length.
	cutShare = 0.05
	// peakSeconds is the time, in seconds, over which Peak5s is averaged.
	peakSeconds = 5
)

// onKnownLevels finds the end of a burst that is too short to be detected as a level, because it lasts only a few
// samples or less than one. It uses the burst rate and the baseline that an earlier drain measured. The drop is not
// before the end of the last sample that lies entirely in the burst, even if the rate dips earlier. All I/O above the
// baseline after that sample belongs to the burst, so
//
//	time of the drop = end of that sample + sum (rate - baseline) dt / (burst - baseline)
//
// The sum covers the samples after that sample, and dt is the length of each. The burst's rate is measured in this
// series if a leading sample lies entirely in the burst; otherwise it is taken from the earlier drain. ok is false if
// the series does not end at the earlier drain's baseline, or if no sample is above that baseline.
func onKnownLevels(samples []detect.Sample, levels *Spent, options detect.Options, whole detect.Result) (found detect.Result, ok bool) {
	if levels == nil || !(levels.Baseline > 0) || !(levels.Burst > aboveBaseline*levels.Baseline) {
		return whole, false
	}
	count := 0
	for i, s := range samples {
		if s.Rate > aboveBaseline*levels.Baseline {
			count = i + 1
		}
	}
	head, tail := samples[:count], samples[count:]
	base := rate(tail)
	if count == 0 || length(tail) < leastTail || !within(base, levels.Baseline, sameLevel) {
		return whole, false
	}
	level := levels.Burst
	if inside := leading(samples, (levels.Burst+levels.Baseline)/2); inside > 1 {
		// Leave out the last sample of the burst, because it may include the drop.
		level = rate(samples[:inside-1])
	}
	if level <= aboveBaseline*base {
		return whole, false
	}
	start, last := samples[0].StartSeconds, head[count-1]
	full := fullSamples(head, base+wholly*(level-base))
	from, through := start, 0.0
	if full > 0 {
		from, through = head[full-1].EndSeconds, rate(head[:full])*length(head[:full])
	}
	above := 0.0
	for _, s := range head[full:] {
		above += (s.Rate - base) * (s.EndSeconds - s.StartSeconds)
	}
	seconds := from + max(above, 0)/(level-base)
	if seconds > last.EndSeconds || seconds <= start {
		return whole, false
	}
	burst, baseline := spreadOf(head[:full]), spreadOf(tail)
	mean := level
	if leading(head[:full], (level+base)/2) < full {
		// Samples in which the rate dipped are part of the burst, so the mean of the burst includes them.
		mean = (through + level*(seconds-from)) / (seconds - start)
	}
	burst = detect.Estimate{Value: mean, Low: max(mean-(burst.High-burst.Value), 0), High: mean + burst.High - burst.Value}
	unsure := length(head)*(baseline.High-baseline.Low)/2/(level-base) + cutShare*(last.EndSeconds-last.StartSeconds)
	at := detect.Estimate{Value: seconds, Low: max(seconds-unsure, start), High: seconds + unsure}
	refill, source := base, detect.RefillAssumed
	if options.Refill != nil {
		refill, source = *options.Refill, options.RefillSource
	}
	spentAt := func(seconds float64) float64 {
		spent := through + level*(seconds-from) - refill*(seconds-start)
		for _, s := range options.Earlier {
			spent += (s.Rate - refill) * (s.EndSeconds - s.StartSeconds)
		}
		return max(spent, 0)
	}
	found = whole
	found.Exhausted, found.Burst, found.Sustained, found.Peak, found.Baseline = true, burst, burst, burst, baseline
	found.SecondsToBaseline, found.BucketAtLeast = &at, nil
	found.Drops = []detect.Drop{{Seconds: at, Before: detect.Estimate{Value: level, Low: level, High: level}, After: baseline,
		Refill: refill, RefillSource: source,
		Spent: detect.Estimate{Value: spentAt(seconds), Low: spentAt(at.Low), High: spentAt(at.High)}}}
	end := samples[len(samples)-1].EndSeconds
	found.Segments = []detect.Segment{
		{StartSeconds: start, EndSeconds: seconds, Mean: burst, Shape: detect.ShapeLevel},
		{StartSeconds: seconds, EndSeconds: end, Mean: baseline, Shape: detect.ShapeLevel},
	}
	found.Warnings, found.FastStart = nil, nil
	if seconds-start < peakSeconds {
		found.Peak5s = 0 // a mean over peakSeconds would include time after the drop
	}
	return found, true
}

// fullSamples returns the number of samples up to and including the last one above a rate.
func fullSamples(samples []detect.Sample, above float64) int {
	for i := len(samples); i > 0; i-- {
		if samples[i-1].Rate > above {
			return i
		}
	}
	return 0
}

// leading returns the number of consecutive samples above a rate at the start of the list.
func leading(samples []detect.Sample, above float64) int {
	for i, s := range samples {
		if s.Rate <= above {
			return i
		}
	}
	return len(samples)
}

// spreadOf returns the mean of samples with its interval. The interval has zero width if there are too few samples to
// determine it. Without samples, the mean is 0.
func spreadOf(samples []detect.Sample) detect.Estimate {
	mean := rate(samples)
	half, ok := detect.MeanError(samples)
	if !ok {
		half = 0
	}
	return detect.Estimate{Value: mean, Low: max(mean-half, 0), High: mean + half}
}
