package record

import (
	"cmp"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
)

// noteIO records the times and the amount of a step's I/O from its clients' reports. It includes the warm-up, which
// spends credits too.
func noteIO(fact *v1alpha1.StepStatus, targets []string, clients []result.Client) {
	var first, measured, last time.Time
	fact.IO = nil
	for _, target := range targets {
		var bytes, operations uint64
		var start, end time.Time
		worked := false
		for i := range clients {
			client := &clients[i]
			if client.Target != target {
				continue
			}
			measured = earliest(measured, client.IOStart)
			end = latest(end, client.IOEnd)
			if client.Samples == nil {
				continue
			}
			for sample := range client.Samples {
				start = earliest(start, time.Unix(0, sample.StartNanoseconds))
				end = latest(end, time.Unix(0, sample.EndNanoseconds))
				charged := measure.Charged(sample.Counters)
				bytes, operations = measure.Sum(bytes, charged.Bytes), measure.Sum(operations, charged.Operations)
				worked = worked || charged.Operations > 0 || sample.Counters[measure.Sync].Operations > 0
			}
		}
		first, last = earliest(first, start), latest(last, end)
		if worked {
			fact.IO = append(fact.IO, v1alpha1.StepIO{Target: target, Bytes: measure.Clamp(bytes),
				Operations: measure.Clamp(operations), FirstIOTime: micro(start), LastIOTime: micro(end)})
		}
	}
	for i := range fact.IO {
		// To keep the status short, omit the times of a target if they equal the times of the step, as most do.
		io := &fact.IO[i]
		if timeOf(io.FirstIOTime).Sub(first) < result.SampleInterval {
			io.FirstIOTime = nil
		}
		if last.Sub(timeOf(io.LastIOTime)) < result.SampleInterval {
			io.LastIOTime = nil
		}
	}
	if first.IsZero() {
		// Without samples, only the tool's final report shows when the I/O started.
		first = measured
	}
	fact.FirstIOTime, fact.MeasuredTime, fact.LastIOTime = micro(first), micro(measured), micro(last)
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// span returns the I/O of one attempt on a target. ok is false if there was no I/O.
func span(fact *v1alpha1.StepStatus, target string) (made result.Span, ok bool) {
	if fact.FirstIOTime == nil || fact.LastIOTime == nil {
		return result.Span{}, false
	}
	i := slices.IndexFunc(fact.IO, func(io v1alpha1.StepIO) bool { return io.Target == target })
	if i < 0 {
		return result.Span{}, false
	}
	return result.Span{
		Start:      cmp.Or(fact.IO[i].FirstIOTime, fact.FirstIOTime).Time,
		End:        cmp.Or(fact.IO[i].LastIOTime, fact.LastIOTime).Time,
		Bytes:      uint64(max(fact.IO[i].Bytes, 0)),
		Operations: uint64(max(fact.IO[i].Operations, 0)),
	}, true
}
