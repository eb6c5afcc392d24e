package detect

// flow is a series with its gaps filled: what was done while nothing was seen is taken to have gone on
// at the rate of the samples on either side.
func fillGaps(samples []Sample) (filled []Sample, missingSeconds float64) {
	filled = make([]Sample, 0, len(samples))
	for i, s := range samples {
		if i > 0 {
			last := samples[i-1]
			if gap := s.StartSeconds - last.EndSeconds; gap > 0 {
				missingSeconds += gap
				filled = append(filled, Sample{StartSeconds: last.EndSeconds, EndSeconds: s.StartSeconds, Rate: (around(samples, i-1, -1) + around(samples, i, 1)) / 2})
			}
		}
		filled = append(filled, s)
	}
	return filled, missingSeconds
}

// around is the mean rate of up to thirty samples from one on, in a direction.
func around(samples []Sample, from, step int) float64 {
	var amount, seconds float64
	for i, n := from, 0; i >= 0 && i < len(samples) && n < 30; i, n = i+step, n+1 {
		amount += samples[i].Rate * samples[i].seconds()
		seconds += samples[i].seconds()
	}
	return amount / seconds
}

// spent is what a bucket must have given up to a time: the maximum over s of the sum from s to then of
// (rate - refill) dt. seconds is how long that sum is, which is how much an error of the refill counts.
func spent(filled []Sample, until, refill float64) (amount, seconds float64) {
	since := 0.0
	for i, s := range filled {
		if s.StartSeconds >= until {
			break
		}
		if i == 0 || amount <= 0 {
			amount, since = 0, s.StartSeconds
		}
		// Inside of a sample the rate is constant, so that the maximum starts at a sample's edge.
		amount += (s.Rate - refill) * (min(s.EndSeconds, until) - s.StartSeconds)
		seconds = min(s.EndSeconds, until) - since
	}
	if amount <= 0 {
		return 0, 0
	}
	return amount, seconds
}

// spentMost is the greatest that spent is at any time, and so a bound on the bucket of a store that
// never fell back.
func spentMost(filled []Sample, refill float64) float64 {
	most, amount := 0.0, 0.0
	for _, s := range filled {
		amount = max(amount+(s.Rate-refill)*s.seconds(), 0)
		most = max(most, amount)
	}
	return most
}
