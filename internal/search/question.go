package search

import (
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

const (
	// Confirmations is the number of steps that confirm a rate. candidates is the maximum number of rates that a search
	// tries to confirm before it gives up.
	Confirmations = 5
	candidates    = 5
	// leastSlower is the minimum number of operations in a step that must be slower than the objective's latency
	// percentile. With fewer, the percentile is considered unknown; see measure.Histogram.Percentile.
	leastSlower = 10
	// leastEach is the minimum first rate per client, in operations per second, if rate.min is not set. At a lower
	// rate, a client could run only a few jobs, because each job performs at least one operation of each kind per
	// second.
	leastEach = 10
	// slack is added to the share that may exceed the latency bound, so that a rounding error does not refute a rate whose
	// share is exactly at the objective. Shares are whole millionths.
	slack = 1e-12
	// raise is the factor by which the rate grows from step to step, until a step misses the objective.
	raise = 2.0
)

// Question holds the parameters of a search. Rates are operations per second of all clients together.
type Question struct {
	// Latency is the latency bound, and Allowed the share of operations that may exceed it.
	Latency time.Duration
	Allowed float64
	// Min and Max are the lowest and the highest rate to offer. All rates are multiples of Unit.
	Min, Max, Unit int64
	// Baseline is the baseline given to Below, even if it is above Max. It is 0 if Below was not called.
	Baseline float64
	// Ratio ends the bisection: the search stops when the lowest rate that missed the objective is at most Ratio times
	// the highest rate that met it.
	Ratio float64
	// Trials is the maximum number of steps that search for the highest rate that meets the objective. Confirming is
	// the maximum number of steps that confirm such a rate.
	Trials, Confirming int
}

// Of derives the parameters of a search from its phase. clients is the number of clients per target.
func Of(at *field.Path, phase *v1alpha1.SearchPhase, clients int) (Question, field.ErrorList) {
	q := Question{Unit: int64(max(1, clients)), Confirming: Confirmations * candidates}
	var problems field.ErrorList
	refuse := func(path *field.Path, value any, why string) {
		problems = append(problems, field.Invalid(path, value, why))
	}
	latency := at.Child("objective", "latency")
	percentile, err := strconv.ParseFloat(phase.Objective.Latency.Percentile, 64)
	if err != nil || !(percentile >= 1 && percentile < 100) {
		refuse(latency.Child("percentile"), phase.Objective.Latency.Percentile, "must be at least 1 and below 100, such as 99.9")
	}
	q.Allowed = 1 - percentile/100 + slack
	if q.Latency, err = phase.Objective.Latency.Max.Parse(); err != nil {
		refuse(latency.Child("max"), string(phase.Objective.Latency.Max), "use whole numbers with the units s, ms, us in that order, such as 5ms")
	}
	duration, err := phase.StepDuration.Parse()
	if err != nil || duration < time.Second {
		refuse(at.Child("stepDuration"), string(phase.StepDuration), "must be at least 1s: shorter steps measure nothing; use a time such as 60s")
	}
	precision := v1alpha1.DefaultPrecisionPercent
	if phase.PrecisionPercent != nil {
		precision = *phase.PrecisionPercent
	}
	if precision < 1 || precision > 50 {
		refuse(at.Child("precisionPercent"), precision, "must be from 1 to 50")
	}
	if len(problems) > 0 {
		return q, problems
	}
	q.Ratio = 1 + float64(precision)/100
	known := int64(math.Ceil(leastSlower / q.Allowed / duration.Seconds()))
	rate := at.Child("rate")
	q.Max = phase.Rate.Max / q.Unit * q.Unit
	q.Min = max(q.up(known), leastEach*q.Unit)
	if given := phase.Rate.Min; given != nil {
		if *given < known {
			refuse(rate.Child("min"), *given, "too low for the percentile, which requires at least ten operations above it in each step: "+
				"raise the rate to "+strconv.FormatInt(known, 10)+", or raise stepDuration")
		}
		q.Min = q.up(*given)
	}
	if q.Max < q.Min {
		refuse(rate.Child("max"), phase.Rate.Max, "is below the first rate, "+strconv.FormatInt(q.Min, 10)+": raise max, or lower min. "+
			"If min is not set, the search starts at the lowest rate with ten operations above the percentile in each step; a longer stepDuration lowers that rate")
	}
	if len(problems) > 0 {
		return q, problems
	}
	doublings := math.Ceil(math.Log2(float64(q.Max) / float64(q.Min)))
	halvings := math.Ceil(math.Log2(math.Log(raise) / math.Log(q.Ratio)))
	q.Trials = 1 + int(doublings) + max(0, int(halvings))
	return q, nil
}

// Below returns the question with Max limited to the baseline of a store whose credits are spent.
func (q Question) Below(baseline float64) Question {
	q.Baseline = baseline
	if baseline < float64(q.Max) {
		q.Max = max(q.down(baseline), q.Unit)
		q.Min = min(q.Min, q.Max)
	}
	return q
}

// ReachesBaseline reports whether Max is the baseline, above which no rate can last.
func (q Question) ReachesBaseline() bool {
	return q.Baseline > 0 && q.Baseline < float64(q.Max+q.Unit)
}

// up and down round a rate to one that can be split evenly among all clients.
func (q Question) up(rate int64) int64 { return (rate + q.Unit - 1) / q.Unit * q.Unit }

func (q Question) down(rate float64) int64 { return int64(rate) / q.Unit * q.Unit }
