package fio

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/measure"
)

// TestSettle checks that the result leaves out the latencies of samples that begin while the load settles, and only
// these.
func TestSettle(t *testing.T) {
	t.Parallel()
	const slow, usual = 20 * time.Millisecond, time.Millisecond
	for name, test := range map[string]struct {
		settle time.Duration
		want   uint64
		most   time.Duration
	}{
		"nothing":       {0, 530, slow},
		"three seconds": {3 * time.Second, 200, usual},
		"all of it":     {time.Minute, 0, 0},
	} {
		f := newFeed(&tool.Step{
			Environment: &tool.Environment{Clock: &agenttest.Clock{}},
			Request: &agentapi.LoadRequest{Tool: &agentapi.LoadRequest_Fio{Fio: &agentapi.FioTool{
				Jobs: 30, SettleNanoseconds: int64(test.settle)}}},
			Write:    func(*agentapi.Record) {},
			LogBytes: func() int { return 0 },
		})
		var snapshot fio.Snapshot
		total := &snapshot.Operations[measure.Read]
		const begin = int64(100 * time.Second)
		for second := range int64(5) {
			delta := fio.Delta{Sample: measure.Sample{StartNanoseconds: begin + second*1e9, EndNanoseconds: begin + (second+1)*1e9}}
			if second == 0 { // the first operation of each job
				delta.Histograms[measure.Read].AddNanoseconds(uint64(slow), 30)
				total.Total.AddNanoseconds(uint64(slow), 30)
			}
			delta.Histograms[measure.Read].AddNanoseconds(uint64(usual), 100)
			total.Total.AddNanoseconds(uint64(usual), 100)
			f.log([]fio.Delta{delta})
		}
		ended := &agentapi.Ended{}
		f.totals(ended, &snapshot)
		var got measure.Latency
		agenttest.Must(t, got.UnmarshalBinary(ended.GetOperations()[0].GetLatency()))
		if got.Count != test.want || got.Histogram.Count() != test.want || ended.GetOperations()[0].GetOperations() != 530 {
			t.Errorf("%s: %d latencies of %d operations, want %d", name, got.Count, ended.GetOperations()[0].GetOperations(), test.want)
		}
		if p99, ok := got.Histogram.PercentileUnchecked(99.9); test.want > 0 && (!ok || float64(p99) > 1.01*float64(test.most) || float64(p99) < 0.99*float64(test.most)) {
			t.Errorf("%s: p99.9 is %d ns, want about %s", name, p99, test.most)
		}
		if mean := got.MeanNanoseconds(); test.settle == 3*time.Second && (mean < uint64(usual)*98/100 || mean > uint64(usual)*102/100) {
			t.Errorf("%s: the mean is %d ns", name, mean)
		}
	}
}

// TestSettleAfterStall checks that a stall while the load settles affects neither the later latencies nor the outcome,
// even if the stalled operations took longer than all later ones together.
func TestSettleAfterStall(t *testing.T) {
	t.Parallel()
	const stall, seconds, settle = 2455 * time.Millisecond, 20, 3
	for name, test := range map[string]struct {
		stalled uint64
		every   []time.Duration
		each    uint64
	}{
		"longer than all others":  {64, []time.Duration{400 * time.Microsecond}, 100},
		"one latency":             {64, []time.Duration{500 * time.Microsecond}, 200},
		"latencies of all widths": {8, []time.Duration{200 * time.Microsecond, 500 * time.Microsecond, 2 * time.Millisecond}, 67},
	} {
		var total measure.Latency
		var settling measure.Histogram
		var sum time.Duration
		total.AddNanoseconds(uint64(stall), test.stalled)
		settling.AddNanoseconds(uint64(stall), test.stalled)
		for second := range seconds {
			for _, latency := range test.every {
				total.AddNanoseconds(uint64(latency), test.each)
				if second < settle {
					settling.AddNanoseconds(uint64(latency), test.each)
				}
			}
		}
		for _, latency := range test.every {
			sum += latency
		}
		got, err := settledLatency(&total, &settling)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := float64(sum) / float64(len(test.every))
		if mean := float64(got.MeanNanoseconds()); mean < 0.99*want || mean > 1.01*want {
			t.Errorf("%s: the mean is %g ns, want about %g", name, mean, want)
		}
		if count := test.each * uint64(len(test.every)) * (seconds - settle); got.Count != count {
			t.Errorf("%s: %d latencies, want %d", name, got.Count, count)
		}
		if got.MaxNanoseconds > uint64(3*time.Millisecond) {
			t.Errorf("%s: the maximum is %d ns, which is of the stall", name, got.MaxNanoseconds)
		}
	}
}
