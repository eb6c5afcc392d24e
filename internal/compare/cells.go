package compare

import (
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// countCells counts the cells of both by which target moved more in them.
func (p *Pair) countCells() *v1alpha1.CellComparison {
	count := &v1alpha1.CellComparison{}
	seen := map[int32]bool{}
	for _, steps := range [][]v1alpha1.StepResult{p.Baseline.Steps, p.Target.Steps} {
		for i := range steps {
			if seen[steps[i].Cell] {
				continue
			}
			seen[steps[i].Cell] = true
			p.countCell(count, steps[i].Cell)
		}
	}
	return count
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

// CellOf finds a cell; nil where it has no result.
func CellOf(steps []v1alpha1.StepResult, cell int32) *v1alpha1.StepResult {
	at := slices.IndexFunc(steps, func(s v1alpha1.StepResult) bool { return s.Cell == cell })
	if at < 0 {
		return nil
	}
	return &steps[at]
}

// Usable reports whether the figures of a cell measure what was asked for.
func (p *Pair) Usable(cell *v1alpha1.StepResult) bool {
	return cell != nil && len(cell.Operations) > 0 && !slices.ContainsFunc(cell.Warnings, func(w v1alpha1.WarningType) bool {
		return w.Severity(p.Kind) == v1alpha1.SeverityDisqualifying
	})
}

// CellRate compares what two cells moved a second, all operations together: bytes, or operations where none moved any.
// ok is false where one has no valid result.
func (p *Pair) CellRate(baseline, target *v1alpha1.StepResult) (Difference, bool) {
	if d, ok := p.CellThroughput(baseline, target); ok && (d.Share != 0 || d.Verdict != NoDifference) {
		return d, ok
	}
	return p.CellIOPS(baseline, target)
}

// CellThroughput compares the bytes a second.
func (p *Pair) CellThroughput(baseline, target *v1alpha1.StepResult) (Difference, bool) {
	return p.cells(baseline, target, func(o *v1alpha1.StepOperation) int64 { return o.BytesPerSecond })
}

// CellIOPS compares the operations a second.
func (p *Pair) CellIOPS(baseline, target *v1alpha1.StepResult) (Difference, bool) {
	return p.cells(baseline, target, func(o *v1alpha1.StepOperation) int64 { return o.IOPSMilli })
}

func (p *Pair) cells(baseline, target *v1alpha1.StepResult, of func(*v1alpha1.StepOperation) int64) (Difference, bool) {
	if !p.Usable(baseline) || !p.Usable(target) {
		return Difference{}, false
	}
	return Of(together(baseline, of), together(target, of), HigherIsBetter, p.drift())
}

// drift is by how much a cell differed when it was measured again: what is no larger than that is no difference between
// cells either, which were measured at different times.
func (p *Pair) drift() float64 {
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

// together is the sum over the operations of a cell that move something. In a closed loop reads and writes rise and
// fall together, so that their errors add up.
func together(cell *v1alpha1.StepResult, of func(*v1alpha1.StepOperation) int64) Value {
	sum, half, known := 0.0, 0.0, true
	for i := range cell.Operations {
		operation := &cell.Operations[i]
		if operation.Operation == v1alpha1.OperationSync {
			continue
		}
		value := float64(of(operation))
		sum += value
		if operation.RateErrorPPM == nil {
			known = false
			continue
		}
		half += value * float64(*operation.RateErrorPPM) / 1e6
	}
	if !known {
		return Alone(sum)
	}
	return Within(sum, half)
}

// CellLatency compares the mean latency of one operation, or with p99 its 99th percentile, of which nobody knows how
// far chance takes it.
func (p *Pair) CellLatency(baseline, target *v1alpha1.StepResult, operation v1alpha1.Operation, p99 bool) (Difference, bool) {
	if !p.Usable(baseline) || !p.Usable(target) {
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
				return Alone(float64(*found.P99Nanoseconds))
			}
		}
		return Value{}
	}
	a, b := of(baseline, p.BaselineClosed), of(target, p.TargetClosed)
	if a.Value == 0 || b.Value == 0 {
		return Difference{}, false
	}
	return Of(a, b, LowerIsBetter, p.drift())
}
