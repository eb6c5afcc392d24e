package detect

import (
	"fmt"
	"math"
)

// The steady-state rule of SNIA's Performance Test Specification 2.0.2 (section 2.1.24), applied to rounds of one
// minute. In a window of five rounds, the highest and the lowest rate of a round differ by at most 20 % of the mean,
// and the best-fit line through the rates changes by at most 10 % of the mean.
const (
	RoundSeconds  = 60
	WindowRounds  = 5
	mostExcursion = 0.20
	// MostSlope is the maximum change of the best-fit line over the window, as a share of the mean.
	MostSlope = 0.10
	// leastCovered is the minimum share of a round that samples must cover.
	leastCovered = 0.95
	// mostRounds limits the length of a series to ten weeks.
	mostRounds = 100_000
)

// SteadyOptions describes the state of the store.
type SteadyOptions struct {
	// BucketEmpty is true if the store's burst credits are known to be spent, or if the store is known to have none.
	BucketEmpty bool
}

// Steadiness is the steady-state verdict on a series.
type Steadiness string

// Verdicts on a series.
const (
	Steady    Steadiness = "Steady"
	NotSteady Steadiness = "NotSteady"
	// NotAssessed is the verdict on a series without five consecutive whole rounds.
	NotAssessed Steadiness = "NotAssessed"
)

// Round is a minute of the series.
type Round struct {
	StartSeconds, EndSeconds float64
	Mean                     float64
	// Whole is true if samples cover at least 95 % of the round.
	Whole bool
}

// SteadyWindow is the evaluation of five consecutive rounds. Excursion is the difference between the highest and the
// lowest rate of a round, and Slope is the absolute change of the best-fit line over the window, both as a share of the
// mean.
type SteadyWindow struct {
	StartSeconds, EndSeconds float64
	Mean                     Estimate
	Excursion, Slope         float64
	// Falls is true if the best-fit line falls.
	Falls  bool
	Steady bool
}

// SteadyResult reports whether and when a series was steady.
type SteadyResult struct {
	State  Steadiness
	Rounds []Round
	// First is the first steady window; nil if there is none. According to the SNIA specification, its mean is the result
	// of the measurement.
	First *SteadyWindow
	// Last is the last window; nil if there is none.
	Last     *SteadyWindow
	Warnings []Warning
}

// Kinds of warnings about a steady state.
const (
	// WarnSteadyInBurst: the store may still have been spending burst credits when the series became steady.
	WarnSteadyInBurst WarningKind = "SteadyInBurst"
	// WarnLeftSteadyState: the series was steady, but not at the end.
	WarnLeftSteadyState WarningKind = "LeftSteadyState"
	// WarnNotAssessed: the series is too short or has gaps, so it has no five consecutive whole rounds.
	WarnNotAssessed WarningKind = "NotAssessed"
)

// AssessSteady determines whether a series was steady. The series must be the sum over all clients. The samples must be
// in order; otherwise the error wraps a *SampleError that describes the offending sample.
func AssessSteady(samples []Sample, options SteadyOptions) (SteadyResult, error) {
	if err := check(samples); err != nil {
		return SteadyResult{}, fmt.Errorf("assess the steady state: %w", err)
	}
	if length := samples[len(samples)-1].EndSeconds - samples[0].StartSeconds; length > mostRounds*RoundSeconds {
		return SteadyResult{}, fmt.Errorf("assess the steady state: the series lasts %.3g s, but the limit is %d windows of %d s: use a shorter series",
			length, mostRounds, RoundSeconds)
	}
	r := SteadyResult{State: NotAssessed, Rounds: rounds(samples)}
	for i := range r.Rounds {
		if i+1 < WindowRounds {
			continue
		}
		window, ok := judgeWindow(samples, r.Rounds[i+1-WindowRounds:i+1])
		if !ok {
			continue
		}
		r.Last = &window
		if window.Steady && r.First == nil {
			r.First = &window
		}
	}
	warn := func(kind WarningKind, message string) { r.Warnings = append(r.Warnings, Warning{kind, message}) }
	switch {
	case r.First != nil:
		r.State = Steady
		if !options.BucketEmpty {
			warn(WarnSteadyInBurst, "the burst credits may not be spent yet: the store may become slower later")
		}
		if !r.Last.Steady {
			warn(WarnLeftSteadyState, "the rate was steady for a time, but not at the end")
		}
	case r.Last != nil:
		r.State = NotSteady
	default:
		warn(WarnNotAssessed, fmt.Sprintf("needs %d consecutive %d s windows without gaps", WindowRounds, RoundSeconds))
	}
	return r, nil
}

// rounds splits the series into one-minute rounds, beginning at its start.
func rounds(samples []Sample) []Round {
	start, end := samples[0].StartSeconds, samples[len(samples)-1].EndSeconds
	// The last round may be short, because clocks differ and a tool may start to measure late. It still counts as a round
	// if its length is at least the fraction leastCovered of a minute.
	count := int((end-start)/RoundSeconds + 1 - leastCovered)
	result := make([]Round, 0, count)
	next := 0
	for i := range count {
		r := Round{StartSeconds: start + float64(i)*RoundSeconds, EndSeconds: start + float64(i+1)*RoundSeconds}
		amount, covered := 0.0, 0.0
		for next < len(samples) && samples[next].EndSeconds <= r.StartSeconds {
			next++
		}
		for j := next; j < len(samples) && samples[j].StartSeconds < r.EndSeconds; j++ {
			length := min(samples[j].EndSeconds, r.EndSeconds) - max(samples[j].StartSeconds, r.StartSeconds)
			amount += samples[j].Rate * length
			covered += length
		}
		if covered > 0 {
			r.Mean = amount / covered
		}
		r.Whole = covered >= leastCovered*RoundSeconds
		result = append(result, r)
	}
	return result
}

func judgeWindow(samples []Sample, rounds []Round) (SteadyWindow, bool) {
	w := SteadyWindow{StartSeconds: rounds[0].StartSeconds, EndSeconds: rounds[len(rounds)-1].EndSeconds}
	lowest, highest, sum, slope, spread := math.Inf(1), 0.0, 0.0, 0.0, 0.0
	middle := float64(len(rounds)-1) / 2
	for i, r := range rounds {
		if !r.Whole {
			return w, false
		}
		lowest, highest = min(lowest, r.Mean), max(highest, r.Mean)
		sum += r.Mean
		slope += (float64(i) - middle) * r.Mean
		spread += (float64(i) - middle) * (float64(i) - middle)
	}
	a := analysis{samples: samples}
	w.Mean, _, _, _ = meanOf(a.between(w.StartSeconds, w.EndSeconds))
	mean := sum / float64(len(rounds))
	if mean <= 0 {
		return w, true
	}
	w.Excursion = (highest - lowest) / mean
	w.Slope, w.Falls = math.Abs(slope/spread)*float64(len(rounds)-1)/mean, slope < 0
	w.Steady = w.Excursion <= mostExcursion && w.Slope <= MostSlope
	return w, true
}
