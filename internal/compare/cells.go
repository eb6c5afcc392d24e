package compare

import (
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// countCells counts the cells in which each target was faster.
func (p *Pair) countCells() *v1alpha1.CellComparison {
	count := &v1alpha1.CellComparison{}
	for _, cell := range p.cellIndexes() {
		p.countCell(count, cell)
	}
	return count
}

// cellIndexes returns the indexes of the cells that either side has, in ascending order.
func (p *Pair) cellIndexes() []int32 {
	var all []int32
	for _, steps := range [][]v1alpha1.StepResult{p.Baseline.Steps, p.Target.Steps} {
		for i := range steps {
			all = append(all, steps[i].Cell)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (p *Pair) countCell(count *v1alpha1.CellComparison, cell int32) {
	verdict, ok := p.CellRate(CellOf(p.Baseline.Steps, cell), CellOf(p.Target.Steps, cell))
	if !ok {
		count.Omitted++
		return
	}
	count.Compared++
	switch verdict.Verdict {
	case OtherBetter:
		count.TargetBetter++
	case BaselineBetter:
		count.BaselineBetter++
	case NoDifference:
		count.NoDifference++
	case NotJudged:
		count.NotJudged++
	}
}

// CellOf returns the result of the given cell, or nil if there is none.
func CellOf(steps []v1alpha1.StepResult, cell int32) *v1alpha1.StepResult {
	at := slices.IndexFunc(steps, func(s v1alpha1.StepResult) bool { return s.Cell == cell })
	if at < 0 {
		return nil
	}
	return &steps[at]
}

// Usable reports whether a cell has figures and no disqualifying warning.
func (p *Pair) Usable(cell *v1alpha1.StepResult) bool {
	return cell != nil && len(cell.Operations) > 0 && !cell.Disqualified()
}

// lostClients reports whether two cells had different numbers of clients because some were lost.
func lostClients(baseline, target *v1alpha1.StepResult) bool {
	lost := func(cell *v1alpha1.StepResult) bool {
		return slices.Contains(cell.Warnings, v1alpha1.WarningClientsMissing)
	}
	return (lost(baseline) || lost(target)) && baseline.Clients != target.Clients
}

// CellRate compares the total rates of two cells, summed over their operations. It compares bytes per second. If these
// are equal, for example because both are 0, it compares operations per second, provided that both cells counted them.
// It returns false if a cell has no valid result, or if it had fewer clients because some were lost.
func (p *Pair) CellRate(baseline, target *v1alpha1.StepResult) (Difference, bool) {
	d, ok := p.CellThroughput(baseline, target)
	if ok && (d.Share != 0 || d.Verdict != NoDifference || !counted(baseline) || !counted(target)) {
		return d, ok
	}
	return p.CellIOPS(baseline, target)
}

// CellThroughput compares the bytes per second of two cells.
func (p *Pair) CellThroughput(baseline, target *v1alpha1.StepResult) (Difference, bool) {
	return p.cells(baseline, target, throughput)
}

// CellIOPS compares the operations per second of two cells. It returns false if either cell did not count its
// operations.
func (p *Pair) CellIOPS(baseline, target *v1alpha1.StepResult) (Difference, bool) {
	if !counted(baseline) || !counted(target) {
		return Difference{}, false
	}
	return p.cells(baseline, target, iops)
}

func counted(cell *v1alpha1.StepResult) bool {
	uncounted := func(o v1alpha1.StepOperation) bool { return !o.Counted() }
	return cell != nil && !slices.ContainsFunc(cell.Operations, uncounted)
}

func (p *Pair) cells(baseline, target *v1alpha1.StepResult, of func(*v1alpha1.StepResult) v1alpha1.Estimate) (Difference, bool) {
	if !p.Usable(baseline) || !p.Usable(target) || lostClients(baseline, target) {
		return Difference{}, false
	}
	return Of(valueOf(of(baseline)), valueOf(of(target)), HigherIsBetter, p.repeatDeviation())
}

func throughput(cell *v1alpha1.StepResult) v1alpha1.Estimate {
	bytes, _, _ := phasekind.Total(cell.Operations)
	return bytes
}

func iops(cell *v1alpha1.StepResult) v1alpha1.Estimate {
	_, operations, _ := phasekind.Total(cell.Operations)
	return operations
}

// repeatDeviation returns the largest relative difference at which two cells still count as equal. This is the largest
// deviation of a repeated cell from its first measurement, but at least rateResolution. Cells are measured at different
// times, so a drift of the storage may cause a difference of this size.
func (p *Pair) repeatDeviation() float64 {
	most := rateResolution
	for _, steps := range [][]v1alpha1.StepResult{p.Baseline.Steps, p.Target.Steps} {
		for i := range steps {
			if steps[i].DriftPermille != nil {
				most = max(most, float64(*steps[i].DriftPermille)/1000)
			}
		}
	}
	return most
}

// CellLatency compares the latencies of one operation in two cells. It compares the means or, if p99 is true, the 99th
// percentiles. Percentiles have no confidence interval.
func (p *Pair) CellLatency(baseline, target *v1alpha1.StepResult, operation v1alpha1.Operation, p99 bool) (Difference, bool) {
	if !p.Usable(baseline) || !p.Usable(target) || lostClients(baseline, target) {
		return Difference{}, false
	}
	of := func(cell *v1alpha1.StepResult, closed bool) Value {
		for i := range cell.Operations {
			found := &cell.Operations[i]
			switch {
			case found.Operation != operation:
			case !p99:
				return meanLatency(found.MeanNanoseconds, found.RateErrorPPM, closed && len(cell.Operations) == 1)
			case found.P99Nanoseconds != nil:
				return WithoutInterval(float64(*found.P99Nanoseconds))
			}
		}
		return Value{}
	}
	a, b := of(baseline, p.BaselineClosed), of(target, p.TargetClosed)
	if a.Value == 0 || b.Value == 0 {
		return Difference{}, false
	}
	return Of(a, b, LowerIsBetter, p.repeatDeviation())
}
