package detect

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// lookShares divides allottedRate, the permitted rate of false alarms, among the comparisons (looks) of the newest one,
// two and three runs. The last look has the highest statistical power, and so the largest share.
var lookShares = [mostPooledRuns]float64{0.1, 0.2, 0.7}

const (
	// allottedRate is the part of falseAlarmRate that is divided among the comparisons of the newest one, two and three
	// runs (see lookShares). The rest of falseAlarmRate is reserved for figures that vary less than usual, and for
	// false alarms that repeat: the run after a false alarm is pooled with the run that caused it.
	allottedRate = 0.008
	// suspicion is the threshold for a suspected regression: a run is under suspicion if the probability that its
	// difference from earlier runs is due to chance is below this value.
	suspicion = 0.05
	// Successive runs on one system are slightly correlated. 20 runs are too few to estimate the correlation, so the
	// estimate is averaged with usualCorrelation, which counts as much as usualCorrelationFor runs.
	usualCorrelation    = 0.2
	usualCorrelationFor = 20.0
	mostCorrelation     = 0.7
	// A run is reported as changed, or comes under suspicion, only if this run alone deviates from the baseline's mean
	// by at least leastLean times the spread.
	leastLean = 1.5
	// leastSpread is the minimum spread. It matters for rounded figures, which may be equal in all runs.
	leastSpread = 0.0005
)

// judge compares a figure of the pooled newest runs with the baseline. doubtful is true if the figure is probably
// worse, even if that is not certain enough for a verdict.
func (s *regressionState) judge(metric *RunMetric, pool []*HistoryRun, metrics int) (change MetricChange, doubtful bool) {
	before := values(s.baseline, metric)
	before = before[max(0, len(before)-s.policy.Against):]
	newest := values(pool, metric)
	change = MetricChange{Name: metric.Name, Verdict: RegressionUnknown, BaselineRuns: len(before), PooledRuns: len(newest), Newest: math.Exp(mean(newest))}
	if len(before) < LeastBaselineRuns {
		return change, false
	}
	side := sideOf(before)
	change.Baseline, change.Verdict = math.Exp(side.mean), RegressionNoChange
	worse := -1.0
	if metric.LowerIsBetter {
		worse = 1
	}
	best := math.Inf(1)
	own := newest[len(newest)-1] - side.mean
	for looked := 1; looked <= len(newest); looked++ {
		look := side.look(newest[len(newest)-looked:], metrics)
		// A run with good figures is not reported as a regression only because the earlier runs pooled with it were
		// worse.
		leans := math.Abs(own) >= max(math.Log1p(s.policy.Tolerance/2), leastLean*side.spread) && own*look.difference > 0
		isWorse := look.difference*worse > 0
		doubtful = doubtful || leans && isWorse && look.chance < suspicion
		verdict := RegressionNoChange
		if leans && look.corrected < allottedRate && math.Abs(math.Expm1(look.difference)) >= s.policy.Tolerance {
			verdict = map[bool]RegressionVerdict{true: RegressionRegressed, false: RegressionImproved}[isWorse]
		}
		// Show the most certain comparison that has a verdict. Comparisons in which all runs have changed take precedence,
		// because runs that have not changed would make the change appear smaller than it is. Without a verdict, show the
		// comparison with the most runs.
		if verdict != RegressionNoChange && allDiffer(newest[len(newest)-looked:], side.mean) {
			look.shown = look.corrected * sureOfAll
		}
		switch {
		case verdict != RegressionNoChange && look.shown < best:
			best = look.shown
			change.Verdict = verdict
			change.show(&side, &look)
		case math.IsInf(best, 1):
			change.show(&side, &look)
		}
	}
	return change, doubtful
}

// runsComparison is the comparison of some of the newest runs with the baseline.
type runsComparison struct {
	runs                  int
	difference, deviation float64
	// chance is the probability of a difference at least this large in this direction if nothing has changed. corrected
	// is chance, corrected for the number of figures and of comparisons.
	chance, corrected float64
	// shown is the rank of this comparison among the comparisons of the newest one, two and three runs. The report shows
	// the comparison with the lowest rank.
	shown float64
}

func (s *runsSide) look(newer []float64, metrics int) runsComparison {
	l := runsComparison{runs: len(newer), difference: mean(newer) - s.mean}
	l.deviation = s.spread * math.Sqrt(s.ofMean+meanVariance(len(newer), s.correlation))
	l.chance = s.student().Survival(math.Abs(l.difference) / l.deviation)
	l.corrected = l.chance * float64(metrics) / lookShares[len(newer)-1]
	l.shown = l.corrected
	return l
}

// sureOfAll scales the rank of a comparison in which every run has changed. It is tiny, so that such a comparison takes
// precedence over the others.
const sureOfAll = 1e-30

// allDiffer reports whether each of the newer runs differs from the baseline's mean in the same direction as the newest
// run, and by at least half as much.
func allDiffer(newer []float64, mean float64) bool {
	own := newer[len(newer)-1] - mean
	return !slices.ContainsFunc(newer, func(value float64) bool { return (value-mean)/own < 0.5 })
}

// show copies a comparison into the report.
func (c *MetricChange) show(side *runsSide, look *runsComparison) {
	half := side.student().Quantile(0.975) * look.deviation
	c.Change = Estimate{Value: math.Expm1(look.difference), Low: math.Expm1(look.difference - half), High: math.Expm1(look.difference + half)}
	c.Spread, c.EffectSize = math.Expm1(side.spread), look.difference/side.spread
	c.Confidence, c.PooledRuns = max(0, 1-look.corrected*falseAlarmRate/allottedRate), look.runs
	c.Newest = math.Exp(side.mean + look.difference)
}

// values returns the logarithms of a figure: one for each run that has a metric with the same name and the same
// condition as the given metric.
func values(runs []*HistoryRun, metric *RunMetric) []float64 {
	var found []float64
	for _, run := range runs {
		at := slices.IndexFunc(run.Metrics, func(one RunMetric) bool { return one.Name == metric.Name && one.Condition == metric.Condition })
		if at >= 0 {
			found = append(found, math.Log(run.Metrics[at].Value))
		}
	}
	return found
}

// runsSide holds the statistics of a figure over the earlier runs. They are computed from the figure's logarithms.
type runsSide struct {
	mean, spread, correlation float64
	// ofMean is the variance of the mean, as a multiple of the squared spread.
	ofMean  float64
	freedom float64
}

func sideOf(x []float64) runsSide {
	n := float64(len(x))
	s := runsSide{mean: mean(x)}
	var squares, products float64
	for i, value := range x {
		squares += (value - s.mean) * (value - s.mean)
		if i > 0 {
			products += (value - s.mean) * (x[i-1] - s.mean)
		}
	}
	seen := usualCorrelation
	if squares > 0 {
		seen = products / squares
		seen += (1 + 4*seen) / n // the estimate from a short series is too low by this amount (Kendall 1954)
	}
	s.correlation = min(max((n*seen+usualCorrelationFor*usualCorrelation)/(n+usualCorrelationFor), 0), mostCorrelation)
	s.ofMean = meanVariance(len(x), s.correlation)
	// A short series of correlated runs varies less than the runs do in the long term, so increase the spread.
	s.spread = max(math.Sqrt(squares/n/(1-s.ofMean)), leastSpread)
	r2 := s.correlation * s.correlation
	s.freedom = max(n*(1-r2)/(1+r2)-1, 1)
	return s
}

// student returns the distribution of differences from the baseline's mean that chance alone causes: Student's
// t-distribution, in units of the difference's standard deviation.
func (s *runsSide) student() distuv.StudentsT { return distuv.StudentsT{Sigma: 1, Nu: s.freedom} }

// meanVariance returns the variance of the mean of n runs, each correlated with the preceding one, if one run has a
// variance of 1.
func meanVariance(n int, correlation float64) float64 {
	count := float64(n)
	sum, power := count, 1.0
	for lag := 1; lag < n; lag++ {
		power *= correlation
		sum += 2 * (count - float64(lag)) * power
	}
	return sum / (count * count)
}
