package detect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// ChangePoint is a change in the level of a figure between two consecutive runs of a history.
type ChangePoint struct {
	// Run is the ID of the first run at the new level. Previous is the ID of the last run at the old level.
	Run, Previous string
	Started       time.Time
	// Before and After are the geometric means of the figure before and after the change, over the runs up to the
	// neighbouring change points.
	Before, After float64
	// Change is the relative change of the level: -0.1 means that the new level is 10 % lower.
	Change float64
	// Differences lists the entries of HistoryRun.Facts that differ between Previous and Run, sorted by name.
	Differences []FactChange
}

// FactChange is an entry of HistoryRun.Facts that differs between a run and the preceding run. An unknown value is "".
type FactChange struct {
	Name, Before, After string
}

const (
	// leastLevelRuns is the minimum number of consecutive runs at one level.
	leastLevelRuns = 4
	// changeChance is the highest accepted probability that a change point is due to chance. orders is the number of
	// random permutations of the runs from which this probability is estimated.
	changeChance = 0.005
	orders       = 999
	// mostChangeRuns limits the number of runs that are searched, because the computing time grows with the square of
	// that number.
	mostChangeRuns = 400
)

// ChangePoints finds the changes in the level of the figure with the given name. The history must be oldest first.
// ChangePoints uses E-divisive: the energy statistic of Matteson and James, tested against random permutations of the
// runs. It uses only valid runs in which the figure has the same RunMetric.Condition as in the newest run. It omits
// changes smaller than the tolerance. The same history always yields the same result.
func ChangePoints(history []HistoryRun, name string, policy RegressionPolicy) ([]ChangePoint, error) {
	if err := checkHistory(history, &policy); err != nil {
		return nil, fmt.Errorf("find change points: %w", err)
	}
	runs, x := figures(history, name, &policy)
	if len(runs) > mostChangeRuns {
		runs, x = runs[len(runs)-mostChangeRuns:], x[len(x)-mostChangeRuns:]
	}
	d := divider{x: x, random: rand.New(rand.NewPCG(1306, 4933))} // #nosec G404 -- reproducible results
	d.divide(0, len(x))
	slices.Sort(d.cuts)
	return d.points(runs, policy.Tolerance), nil
}

// figures returns the runs that can be compared with the newest run, and for each of these runs the logarithm of the
// figure with the given name.
func figures(history []HistoryRun, name string, policy *RegressionPolicy) ([]*HistoryRun, []float64) {
	newest := &history[len(history)-1]
	at := slices.IndexFunc(newest.Metrics, func(one RunMetric) bool { return one.Name == name })
	if at < 0 {
		return nil, nil
	}
	var runs []*HistoryRun
	var x []float64
	for i := range history {
		run := &history[i]
		if !run.Valid || run.Started.Before(policy.AcceptedSince) {
			continue
		}
		if value := values([]*HistoryRun{run}, &newest.Metrics[at]); len(value) == 1 {
			runs, x = append(runs, run), append(x, value[0])
		}
	}
	return runs, x
}

type divider struct {
	x      []float64
	random *rand.Rand
	// cuts holds the indexes of the runs before which the history is divided.
	cuts []int
}

// divide cuts the runs [from, to) at the sharpest change of level, unless the change may be due to chance, and then
// divides the runs on either side of the cut in the same way.
func (d *divider) divide(from, to int) {
	if to-from < 2*leastLevelRuns {
		return
	}
	part := slices.Clone(d.x[from:to])
	at, sharpness := sharpest(part)
	rarer := 1
	for range orders {
		d.random.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		if _, other := sharpest(part); other >= sharpness {
			if rarer++; float64(rarer)/(orders+1) > changeChance {
				return // not significant, regardless of the remaining permutations
			}
		}
	}
	d.cuts = append(d.cuts, from+at)
	d.divide(from, from+at)
	d.divide(from+at, to)
}

// sharpest finds the cut with the greatest energy statistic between the two sides:
//
//	nm/(n+m) (2 mean|x-y| - mean|x-x'| - mean|y-y'|)
//
// where x and x' are any of the n runs on the left side, and y and y' any of the m runs on the right side. The sums are
// updated incrementally from one cut to the next.
func sharpest(x []float64) (at int, sharpness float64) {
	var within0, within1, between float64
	for i := range x {
		for j := range i {
			within1 += math.Abs(x[i] - x[j])
		}
	}
	at, sharpness = leastLevelRuns, math.Inf(-1)
	for n := 1; n < len(x); n++ {
		// Move the cut by one run: the run with index n-1 goes from the right side to the left.
		var left, right float64
		for j, other := range x {
			distance := math.Abs(x[n-1] - other)
			if j < n-1 {
				left += distance
			} else {
				right += distance
			}
		}
		within0, within1, between = within0+left, within1-right, between-left+right
		m := len(x) - n
		if n < leastLevelRuns || m < leastLevelRuns {
			continue
		}
		a, b := float64(n), float64(m)
		energy := a * b / (a + b) * (2*between/(a*b) - 2*within0/(a*(a-1)) - 2*within1/(b*(b-1)))
		if energy > sharpness {
			at, sharpness = n, energy
		}
	}
	return at, sharpness
}

// points returns the cuts at which the level changes by at least the tolerance. While there are smaller changes, it
// removes the cut with the smallest change, which merges the levels before and after that cut.
func (d *divider) points(runs []*HistoryRun, tolerance float64) []ChangePoint {
	for {
		points := make([]ChangePoint, len(d.cuts))
		least := -1
		for i, at := range d.cuts {
			from, to := 0, len(d.x)
			if i > 0 {
				from = d.cuts[i-1]
			}
			if i+1 < len(d.cuts) {
				to = d.cuts[i+1]
			}
			before, after := mean(d.x[from:at]), mean(d.x[at:to])
			points[i] = ChangePoint{
				Run: runs[at].ID, Previous: runs[at-1].ID, Started: runs[at].Started, Before: math.Exp(before), After: math.Exp(after),
				Change: math.Expm1(after - before), Differences: differences(runs[at-1], runs[at]),
			}
			if math.Abs(points[i].Change) < tolerance && (least < 0 || math.Abs(points[i].Change) < math.Abs(points[least].Change)) {
				least = i
			}
		}
		if least < 0 {
			return points
		}
		d.cuts = slices.Delete(d.cuts, least, least+1)
	}
}

// differences lists the entries of Facts that differ between two runs, sorted by name.
func differences(before, after *HistoryRun) []FactChange {
	names := map[string]bool{}
	for name := range before.Facts {
		names[name] = true
	}
	for name := range after.Facts {
		names[name] = true
	}
	var changes []FactChange
	for name := range names {
		if before.Facts[name] != after.Facts[name] {
			changes = append(changes, FactChange{Name: name, Before: before.Facts[name], After: after.Facts[name]})
		}
	}
	slices.SortFunc(changes, func(a, b FactChange) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return changes
}
