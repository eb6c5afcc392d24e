package mpi

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/process"
)

const mebibyte = 1 << 20

// readings feeds one reading every 100 ms: the MiB written so far, plus MPI's own messages.
func readings(r *rankSamples, written ...float64) []*agentapi.Sample {
	var samples []*agentapi.Sample
	r.write = func(sample *agentapi.Sample) { samples = append(samples, sample) }
	for i, total := range written {
		at := int64(i+1) * int64(100*time.Millisecond)
		r.add(at, process.IO{WriteBytes: uint64(total * mebibyte), WriteCalls: uint64(total), ReadBytes: uint64(i) * 300, ReadCalls: uint64(i)})
	}
	r.close()
	return samples
}

type wantSample struct {
	start, end time.Duration
	warmUp     bool
	mebibytes  uint64
}

func TestRankSamples(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		given      *rankSamples
		written    []float64
		want       []wantSample
		start, end time.Duration
		total      uint64
		full       bool
	}{
		"nothing": {given: &rankSamples{interval: 300 * ms}, written: []float64{0, 0, 0, 0}},
		"from the reading before the first to the last that has moved": {
			given: &rankSamples{interval: 300 * ms}, written: []float64{0, 0, 1, 2, 3, 5, 5, 5, 5},
			want:  []wantSample{{200 * ms, 500 * ms, false, 3}, {500 * ms, 600 * ms, false, 2}},
			start: 200 * ms, end: 600 * ms, total: 5,
		},
		"a pause counts when something follows": {
			given: &rankSamples{interval: 200 * ms}, written: []float64{0, 2, 4, 4, 4, 4, 4, 6, 8, 8, 8, 8, 8},
			want: []wantSample{{100 * ms, 300 * ms, false, 4}, {300 * ms, 500 * ms, false, 0}, {500 * ms, 700 * ms, false, 0},
				{700 * ms, 900 * ms, false, 4}},
			start: 100 * ms, end: 900 * ms, total: 8,
		},
		"warm-up and time": {
			given: &rankSamples{interval: time.Second, warmUp: 200 * ms, duration: 400 * ms}, written: []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
			want:  []wantSample{{100 * ms, 300 * ms, true, 2}, {300 * ms, 700 * ms, false, 4}},
			start: 300 * ms, end: 700 * ms, total: 4, full: true,
		},
		"idle at the end of its time": {
			given: &rankSamples{interval: time.Second, duration: 400 * ms}, written: []float64{0, 1, 1, 1, 1, 1},
			want:  []wantSample{{100 * ms, 200 * ms, false, 1}},
			start: 100 * ms, end: 200 * ms, total: 1, full: true,
		},
		"stopped before its time": {
			given: &rankSamples{interval: time.Second, duration: time.Second}, written: []float64{0, 1, 2, 3},
			want:  []wantSample{{100 * ms, 400 * ms, false, 3}},
			start: 100 * ms, end: 400 * ms, total: 3,
		},
		"what one rank did before it was seen": {
			given: &rankSamples{interval: time.Second}, written: []float64{0, 3}, want: []wantSample{{100 * ms, 200 * ms, false, 3}},
			start: 100 * ms, end: 200 * ms, total: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, operations := range [][]measure.Operation{nil, {measure.Write}} {
				given := *test.given
				given.operations = operations
				samples := readings(&given, test.written...)
				if len(samples) != len(test.want) {
					t.Fatalf("got %v", samples)
				}
				for i, want := range test.want {
					var moved uint64
					for _, count := range samples[i].GetCounts() {
						if moved += count.GetBytes(); count.GetOperation() != uint32(measure.Write) {
							t.Errorf("sample %d has what MPI read: %v", i, samples[i])
						}
					}
					got := wantSample{time.Duration(samples[i].GetStartNanoseconds()), time.Duration(samples[i].GetEndNanoseconds()), samples[i].GetWarmUp(), moved / mebibyte}
					if got != want {
						t.Errorf("sample %d: %v, want %v", i, got, want)
					}
				}
				if time.Duration(given.ioStart) != test.start || time.Duration(given.ioEnd) != test.end {
					t.Errorf("I/O from %s to %s, want %s to %s", time.Duration(given.ioStart), time.Duration(given.ioEnd), test.start, test.end)
				}
				if given.full() != test.full {
					t.Errorf("the samples cover the whole duration: %t, want %t", given.full(), test.full)
				}
				results, err := given.results()
				agenttest.Must(t, err)
				var bytes uint64
				for _, result := range results {
					bytes += result.GetBytes()
				}
				if bytes != test.total*mebibyte {
					t.Errorf("in all %v", results)
				}
			}
		})
	}
}

// TestRankSamplesCountTransfers checks that MPI's own messages, which are system calls too, do not count as operations.
// The numbers are from a job of four clients: 6,390 transfers of 1 MiB in 8,002 calls.
func TestRankSamplesCountTransfers(t *testing.T) {
	t.Parallel()
	const transfers, calls, looks = 6390, 8002, 71
	samples := &rankSamples{interval: 300 * time.Millisecond, transfer: mebibyte, operations: []measure.Operation{measure.Write}}
	var bytes, operations uint64
	samples.write = func(sample *agentapi.Sample) {
		for _, count := range sample.GetCounts() {
			bytes += count.GetBytes()
			operations += count.GetOperations()
		}
	}
	const said = 700 // bytes of MPI's own messages per reading
	for look := range uint64(looks + 1) {
		samples.add(int64(look+1)*int64(100*time.Millisecond),
			process.IO{WriteBytes: transfers*mebibyte*look/looks + said*look, WriteCalls: calls * look / looks})
	}
	samples.close()
	results, err := samples.results()
	agenttest.Must(t, err)
	if len(results) != 1 || results[0].GetOperations() != transfers || operations != transfers || bytes != transfers*mebibyte+said*looks {
		t.Errorf("%d transfers of %d bytes, and %d in all: %v", operations, bytes, transfers, results)
	}
}
