package detect

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// How the error rate is divided among looks at the newest one, two and three runs. The last has the most
// power, and so the largest share.
var lookShares = [mostPooledRuns]float64{0.1, 0.2, 0.7}

const (
	// allottedRate is what the looks get of falseAlarmRate. The rest is for a false alarm that is repeated,
	// since the next run is pooled with the one that made it, and for runs that are more alike than usual.
	allottedRate = 0.008
	// suspicion is the chance of a difference without a cause below which a run is under suspicion.
	suspicion = 0.05
	// Runs follow each other on the same system, and one is a little like the one before. How much is not
	// seen in 20 runs, so what they show is drawn towards what is usual.
	usualCorrelation    = 0.2
	usualCorrelationFor = 20.0
	mostCorrelation     = 0.7
	// leastLean is by how many spreads the newest run itself has to differ.
	leastLean = 1.5
	// leastSpread is that of figures that are rounded.
	leastSpread = 0.0005
)

// judge compares a figure of the pooled newest runs with that of the baseline. doubtful tells that it
// looks worse, without being sure.
func (s *regressionState) judge(metric *RunMetric, pool []*HistoryRun, metrics int) (change MetricChange, doubtful bool) {
	before := values(s.baseline, metric)
	before = before[max(0, len(before)-s.policy.Against):]
	newest := values(pool, metric)
	change = MetricChange{Name: metric.Name, Verdict: RegressionUnknown, BaselineRuns: len(before), PooledRuns: len(newest), Newest: math.Exp(meanOfRuns(newest))}
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
		// A run that is good itself is not judged by those before it.
		leans := math.Abs(own) >= max(math.Log1p(s.policy.Tolerance/2), leastLean*side.spread) && own*look.difference > 0
		isWorse := look.difference*worse > 0
		doubtful = doubtful || leans && isWorse && look.chance < suspicion
		verdict := RegressionNoChange
		if leans && look.corrected < allottedRate && math.Abs(math.Expm1(look.difference)) >= s.policy.Tolerance {
			verdict = map[bool]RegressionVerdict{true: RegressionRegressed, false: RegressionImproved}[isWorse]
		}
		// The surest look that decides is shown, but one of runs that have all changed before one with others among
		// them, which would make the change look smaller than it is; where none decides, the one with the most runs.
		if verdict != RegressionNoChange && allLean(newest[len(newest)-looked:], side.mean) {
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

// runsLook compares some of the newest runs with the baseline.
type runsLook struct {
	runs                  int
	difference, deviation float64
	// chance of a difference as large in this direction where there is none, and that corrected for all
	// figures and looks.
	chance, corrected float64
	// shown is smaller for looks that are rather shown.
	shown float64
}

func (s *runsSide) look(newer []float64, metrics int) runsLook {
	l := runsLook{runs: len(newer), difference: meanOfRuns(newer) - s.mean}
	l.deviation = s.spread * math.Sqrt(s.ofMean+meanVariance(len(newer), s.correlation))
	l.chance = distuv.StudentsT{Sigma: 1, Nu: s.freedom}.Survival(math.Abs(l.difference) / l.deviation)
	l.corrected = l.chance * float64(metrics) / lookShares[len(newer)-1]
	l.shown = l.corrected
	return l
}

// sureOfAll puts looks of runs that have all changed first.
const sureOfAll = 1e-30

// allLean tells that each of the runs differs from the mean by at least half of what the newest does.
func allLean(newer []float64, mean float64) bool {
	own := newer[len(newer)-1] - mean
	return !slices.ContainsFunc(newer, func(value float64) bool { return (value-mean)/own < 0.5 })
}

// show writes a look into the report.
func (c *MetricChange) show(side *runsSide, look *runsLook) {
	half := student(side.freedom) * look.deviation
	c.Change = Estimate{Value: math.Expm1(look.difference), Low: math.Expm1(look.difference - half), High: math.Expm1(look.difference + half)}
	c.Spread, c.EffectSize = math.Expm1(side.spread), look.difference/side.spread
	c.Confidence, c.PooledRuns = max(0, 1-look.corrected*falseAlarmRate/allottedRate), look.runs
	c.Newest = math.Exp(side.mean + look.difference)
}

// values are the logarithms of a figure of some runs that have it under the same condition.
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

// runsSide is what a number of earlier runs say of the next ones.
type runsSide struct {
	mean, spread, correlation float64
	// ofMean is the variance of the mean in squares of the spread.
	ofMean  float64
	freedom float64
}

func sideOf(x []float64) runsSide {
	n := float64(len(x))
	s := runsSide{mean: meanOfRuns(x)}
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
		seen += (1 + 4*seen) / n // its bias in a short series (Kendall)
	}
	s.correlation = min(max((n*seen+usualCorrelationFor*usualCorrelation)/(n+usualCorrelationFor), 0), mostCorrelation)
	s.ofMean = meanVariance(len(x), s.correlation)
	// Runs that are alike are spread less than they would be in the long run.
	s.spread = max(math.Sqrt(squares/n/(1-s.ofMean)), leastSpread)
	r2 := s.correlation * s.correlation
	s.freedom = max(n*(1-r2)/(1+r2)-1, 1)
	return s
}

// meanVariance is the variance of the mean of n runs of which each is like the one before, for a
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

func meanOfRuns(x []float64) float64 {
	var sum float64
	for _, value := range x {
		sum += value
	}
	return sum / float64(max(len(x), 1))
}
