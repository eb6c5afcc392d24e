package detect

import "fmt"

// leastGap is the length in seconds of the shortest gap. Shorter ones are rounding errors.
const leastGap = 1e-9

// fillGaps fills the gaps in a series. The rate in a gap is assumed to be the average of the rates on either side.
func fillGaps(samples []Sample) (filled []Sample, missingSeconds float64) {
	filled = make([]Sample, 0, len(samples))
	for i, s := range samples {
		if i > 0 {
			last := samples[i-1]
			if gap := s.StartSeconds - last.EndSeconds; gap > leastGap {
				missingSeconds += gap
				filled = append(filled, Sample{StartSeconds: last.EndSeconds, EndSeconds: s.StartSeconds, Rate: (around(samples, i-1, -1) + around(samples, i, 1)) / 2})
			}
		}
		filled = append(filled, s)
	}
	return filled, missingSeconds
}

// checkEarlier returns an error if the samples overlap or are out of order, or if they do not end before the series
// starts.
func checkEarlier(earlier []Sample, start float64) error {
	if len(earlier) == 0 {
		return nil
	}
	if err := check(earlier); err != nil {
		return err
	}
	if last := len(earlier) - 1; earlier[last].EndSeconds > start {
		return &SampleError{Index: last, Reason: fmt.Sprintf("it ends at %g s, but must end before the series starts at %g s", earlier[last].EndSeconds, start)}
	}
	return nil
}

// withPauses returns the I/O before the series. It inserts a sample of rate 0 for each pause, because credits return
// during pauses.
func withPauses(earlier []Sample, start float64) []Sample {
	all := make([]Sample, 0, 2*len(earlier))
	for i, s := range earlier {
		next := start
		if i+1 < len(earlier) {
			next = earlier[i+1].StartSeconds
		}
		all = append(all, s)
		if next > s.EndSeconds {
			all = append(all, Sample{StartSeconds: s.EndSeconds, EndSeconds: next})
		}
	}
	return all
}

// around returns the mean rate of up to thirty samples, starting at sample `from`: forwards if `step` is 1, backwards
// if it is -1.
func around(samples []Sample, from, step int) float64 {
	var amount, seconds float64
	for i, n := from, 0; i >= 0 && i < len(samples) && n < 30; i, n = i+step, n+1 {
		amount += samples[i].Rate * samples[i].seconds()
		seconds += samples[i].seconds()
	}
	return amount / seconds
}

// levels are the rates before and after a drop.
type levels struct{ before, after float64 }

// done returns the number of bytes or operations completed in a sample up to the time `until`. A sample whose rate lies
// between the two levels contains the drop, so its rate is assumed to change from the first level to the second within
// the sample.
func (l levels) done(s Sample, until float64) float64 {
	passed := min(s.EndSeconds, until) - s.StartSeconds
	if passed <= 0 {
		return 0
	}
	if !(l.after < s.Rate && s.Rate < l.before) {
		return s.Rate * passed
	}
	fast := (s.Rate - l.after) / (l.before - l.after) * s.seconds()
	return l.before*min(passed, fast) + l.after*max(passed-fast, 0)
}

// DoneBefore returns the number of bytes or operations completed in a series up to the time `until`, at which its rate
// drops from the level `before` to the level `after`. In gaps between samples, the rate is assumed to have continued.
func DoneBefore(samples []Sample, until, before, after float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	filled, _ := fillGaps(samples)
	amount := 0.0
	for _, s := range filled {
		amount += levels{before, after}.done(s, until)
	}
	return amount
}

// spent returns the amount of credits that a bucket must have supplied up to the time `until`: the maximum over s of
// the integral of (rate - refill) dt from s to `until`. seconds is the length of the interval of integration. An error
// in the refill rate changes the amount by that error times seconds.
func spent(filled []Sample, until, refill float64, l levels) (amount, seconds float64) {
	since := 0.0
	for i, s := range filled {
		if s.StartSeconds >= until {
			break
		}
		if i == 0 || amount <= 0 {
			amount, since = 0, s.StartSeconds
		}
		// Before the drop, the rate is constant inside a sample, so the integral is largest if it starts at the edge of
		// a sample.
		amount += l.done(s, until) - refill*(min(s.EndSeconds, until)-s.StartSeconds)
		seconds = min(s.EndSeconds, until) - since
	}
	if amount <= 0 {
		return 0, 0
	}
	return amount, seconds
}

// spentMost returns the maximum of spent over all times, which is a lower bound on the bucket size of a store whose
// rate never dropped.
func spentMost(filled []Sample, refill float64) float64 {
	most, amount := 0.0, 0.0
	for _, s := range filled {
		amount = max(amount+(s.Rate-refill)*s.seconds(), 0)
		most = max(most, amount)
	}
	return most
}
