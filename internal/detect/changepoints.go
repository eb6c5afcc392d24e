package detect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// ChangePoint is where a figure changed its level from one run to the next.
type ChangePoint struct {
	// Run is the first of the new level, and Previous the last of the old one.
	Run, Previous string
	Started       time.Time
	// Before and After are the geometric means of the levels on both sides, up to the next changes.
	Before, After float64
	// Change is the share by which they differ: -0.1 is a tenth less.
	Change float64
	// Chance that runs in a random order would be divided as sharply.
	Chance float64
	// Differences are the facts that differ between the two runs, by name.
	Differences []FactChange
}

// FactChange is a fact of a run that is another than that of the run before; "" is one that is not known.
type FactChange struct {
	Name, Before, After string
}

const (
	// leastLevelRuns is how many runs a level has at least.
	leastLevelRuns = 4
	// changeChance is what a change point must be rarer than, and orders how many random ones are tried.
	changeChance = 0.005
	orders       = 999
	// mostChangeRuns bounds the work, which grows with the square of the runs.
	mostChangeRuns = 400
)

// ChangePoints finds where a figure changed its level over a history, oldest first, by E-divisive: the
// statistic of energy of Matteson and James with random orders of the runs. Changes of less than the
// tolerance are left out. The figure is that of the newest run of the name: same key and condition. The
// same history gives the same answer.
func ChangePoints(history []HistoryRun, name string, policy RegressionPolicy) ([]ChangePoint, error) {
	if err := checkHistory(history, &policy); err != nil {
		return nil, fmt.Errorf("find changes in a history: %w", err)
	}
	runs, x := figures(history, name, &policy)
	if len(runs) > mostChangeRuns {
		runs, x = runs[len(runs)-mostChangeRuns:], x[len(x)-mostChangeRuns:]
	}
	d := divider{x: x, random: rand.New(rand.NewPCG(1306, 4933))} // #nosec G404 -- the same answer each time
	d.divide(0, len(x))
	slices.SortFunc(d.cuts, func(a, b cut) int { return a.at - b.at })
	return d.points(runs, policy.Tolerance), nil
}

// figures gives the runs that have the figure, and its logarithms.
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
		if run.Key != newest.Key || !run.Valid || run.Started.Before(policy.AcceptedSince) {
			continue
		}
		if value := values([]*HistoryRun{run}, &newest.Metrics[at]); len(value) == 1 {
			runs, x = append(runs, run), append(x, value[0])
		}
	}
	return runs, x
}

// cut divides a history before the run of its number.
type cut struct {
	at     int
	chance float64
}

type divider struct {
	x      []float64
	random *rand.Rand
	cuts   []cut
}

// divide cuts from..to at its sharpest place where that is no chance, and goes on with both parts.
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
				return // no order more can make it rare again
			}
		}
	}
	d.cuts = append(d.cuts, cut{at: from + at, chance: float64(rarer) / (orders + 1)})
	d.divide(from, from+at)
	d.divide(from+at, to)
}

// sharpest finds where the energy between the two sides is greatest:
//
//	nm/(n+m) (2 mean|x-y| - mean|x-x'| - mean|y-y'|)
//
// with distances between runs of different sides and of the same one. The sums are carried from one place
// to the next.
func sharpest(x []float64) (at int, sharpness float64) {
	var within0, within1, between float64
	for i := range x {
		for j := range i {
			within1 += math.Abs(x[i] - x[j])
		}
	}
	at, sharpness = leastLevelRuns, math.Inf(-1)
	for n := 1; n < len(x); n++ {
		// The run n-1 goes from the right side to the left one.
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

// points tells the cuts whose levels differ by the tolerance. One that does not is no level of its own, so
// its neighbours are compared across it.
func (d *divider) points(runs []*HistoryRun, tolerance float64) []ChangePoint {
	for {
		points := make([]ChangePoint, len(d.cuts))
		least := -1
		for i, c := range d.cuts {
			from, to := 0, len(d.x)
			if i > 0 {
				from = d.cuts[i-1].at
			}
			if i+1 < len(d.cuts) {
				to = d.cuts[i+1].at
			}
			before, after := meanOfRuns(d.x[from:c.at]), meanOfRuns(d.x[c.at:to])
			points[i] = ChangePoint{
				Run: runs[c.at].ID, Previous: runs[c.at-1].ID, Started: runs[c.at].Started, Before: math.Exp(before), After: math.Exp(after),
				Change: math.Expm1(after - before), Chance: c.chance, Differences: differences(runs[c.at-1], runs[c.at]),
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

// differences lists the facts of two runs that are not the same.
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
