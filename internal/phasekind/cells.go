package phasekind

import "github.com/storagebench/storagebench/api/v1alpha1"

// Total returns the rates of a cell, summed over all operations except syncs. In a closed loop, read and write rates
// rise and fall together, so their errors add up. ok is false if the cell has no operations other than syncs.
func Total(cell []v1alpha1.StepOperation) (bytesPerSecond, iopsMilli v1alpha1.Estimate, ok bool) {
	for i := range cell {
		o := &cell[i]
		if o.Operation == v1alpha1.OperationSync {
			continue
		}
		add(&bytesPerSecond, rate(o.BytesPerSecond, o.RateErrorPPM), !ok)
		add(&iopsMilli, rate(o.IOPSMilli, o.RateErrorPPM), !ok)
		ok = true
	}
	return bytesPerSecond, iopsMilli, ok
}

// add adds a rate to a sum. The sum has a 95 % interval only if all rates have an interval.
func add(sum *v1alpha1.Estimate, one v1alpha1.Estimate, first bool) {
	switch {
	case first:
		*sum = one
		return
	case sum.Lower != nil && one.Lower != nil:
		*sum.Lower += *one.Lower
		*sum.Upper += *one.Upper
	default:
		sum.Lower, sum.Upper = nil, nil
	}
	sum.Value += one.Value
}

// moved returns the bytes per second that a cell moves, or its operations per second if it moves no bytes.
func moved(cell []v1alpha1.StepOperation) (float64, v1alpha1.FigureUnit) {
	bytes, operations, _ := Total(cell)
	if bytes.Value > 0 {
		return float64(bytes.Value), v1alpha1.UnitBytesPerSecond
	}
	return float64(operations.Value), v1alpha1.UnitIOPSMilli
}

// CellRate returns the bytes per second that a cell moves or, if it moves no bytes, its operations per second in
// thousandths. It returns 0 for a cell without rates.
func CellRate(cell []v1alpha1.StepOperation) float64 {
	value, _ := moved(cell)
	return value
}

// best returns the best figures of the valid cells for each operation that moves data: the highest throughput, the p99
// latency of the cell with that throughput, and the highest IOPS.
func best(result *v1alpha1.TargetResult) []Figure {
	var all []Figure
	for _, operation := range []v1alpha1.Operation{v1alpha1.OperationRead, v1alpha1.OperationWrite, v1alpha1.OperationTrim} {
		var throughput, iops *Figure
		var p99 *int64
		for i := range result.Steps {
			step := &result.Steps[i]
			for j := range step.Operations {
				o := &step.Operations[j]
				if o.Operation != operation || step.Disqualified() {
					continue
				}
				made := Figure{Operation: string(operation), Main: true, Cell: step.Cell}
				if throughput == nil || o.BytesPerSecond > throughput.Value {
					made.Name, made.Estimate = v1alpha1.FigureThroughput, rate(o.BytesPerSecond, o.RateErrorPPM)
					throughput, p99 = new(made), o.P99Nanoseconds
				}
				if o.Counted() && (iops == nil || o.IOPSMilli > iops.Value) {
					made.Name, made.Estimate = v1alpha1.FigureIOPS, rate(o.IOPSMilli, o.RateErrorPPM)
					iops = new(made)
				}
			}
		}
		if throughput == nil {
			continue
		}
		all = append(all, *throughput)
		if iops != nil {
			all = append(all, *iops)
		}
		if p99 != nil {
			all = append(all, Figure{Name: v1alpha1.FigureP99Latency, Operation: string(operation), Estimate: v1alpha1.Estimate{Value: *p99}, Cell: throughput.Cell})
		}
	}
	return all
}
