package fio

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

// queued returns a dump of a job that writes 64 KiB blocks. The counts are operations; timed ones have a latency.
func queued(written, runtime int64, completed, issued, timed uint64) *Document {
	document := dump("fio-3.33", written, runtime, completed<<16, issued)
	document.Jobs[0].Operations[measure.Write].Total = measure.Latency{}
	document.Jobs[0].Operations[measure.Write].Total.AddNanoseconds(1e9, timed)
	return document
}

// TestTornDumpBeforeTheEnd replays a dump from a machine without spare CPU time: fio read the latencies a third of a
// second before the number of issued operations. The operations in between seem to be in flight, which is impossible at
// a queue depth of 1, so they must count as part of the load.
func TestTornDumpBeforeTheEnd(t *testing.T) {
	t.Parallel()
	const origin = 100_000
	for name, outstanding := range map[string]uint64{"depth 1": 1, "nobody knows": 0} {
		sampler := NewSampler(SamplerOptions{Duration: 4 * time.Second, Outstanding: outstanding})
		var deltas []Delta
		for _, document := range []*Document{
			queued(origin+1000, 1000, 244, 245, 244),
			queued(origin+2000, 2000, 488, 489, 488),
			queued(origin+3000, 3000, 732, 813, 732),
			queued(origin+4002, 4002, 976, 976, 976),
		} {
			some, err := sampler.Add(document)
			if err != nil {
				t.Fatal(err)
			}
			deltas = append(deltas, some...)
		}
		var loaded measure.Counter
		for _, delta := range append(deltas, sampler.Close()...) {
			if delta.Sample.EndNanoseconds <= (origin+4000)*1e6 {
				loaded.Operations += delta.Sample.Counters[measure.Write].Operations
				loaded.Bytes += delta.Sample.Counters[measure.Write].Bytes
			}
		}
		// With an unknown queue depth, 81 operations may really be in flight.
		if want := map[uint64]uint64{1: 975, 0: 895}[outstanding]; loaded.Operations != want || outstanding == 1 && loaded.Bytes != want<<16 {
			t.Errorf("%s: in the load there were %d operations, of %d blocks; want %d", name, loaded.Operations, loaded.Bytes>>16, want)
		}
	}
}

// TestWhatWasInFlightAtTheEnd checks that no sample of the load contains operations that were in flight at its end:
// only completed ones count. The dumps are from fio 3.33, which ran for 4 s at a queue depth of 256 on a store that
// completes 244 such operations per second.
func TestWhatWasInFlightAtTheEnd(t *testing.T) {
	t.Parallel()
	const origin = 100_000
	dumps := []*Document{
		queued(origin+869, 869, 194, 450, 195),
		queued(origin+1869, 1869, 438, 694, 438),
		queued(origin+2869, 2869, 694, 950, 695),
		queued(origin+3869, 3869, 940, 1197, 941),
		queued(origin+5000, 4870, 973, 1228, 1228), // requested, but delayed while the job collects completions
		queued(origin+5050, 5050, 1228, 1228, 1228),
	}
	for _, test := range []struct {
		name    string
		options SamplerOptions
		stopped int64
		dumps   []*Document
	}{
		{"with a dump in between", SamplerOptions{Duration: 4 * time.Second}, 0, dumps},
		{"without", SamplerOptions{Duration: 4 * time.Second}, 0, append(append([]*Document{}, dumps[:4]...), dumps[5])},
		{"stopped", SamplerOptions{Duration: time.Hour}, (origin + 4000) * 1e6, dumps},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sampler := NewSampler(test.options)
			sampler.Stopped(test.stopped)
			var deltas []Delta
			for _, document := range test.dumps {
				some, err := sampler.Add(document)
				if err != nil {
					t.Fatal(err)
				}
				deltas = append(deltas, some...)
			}
			deltas = append(deltas, sampler.Close()...)
			var loaded, all measure.Counter
			last := int64(origin * 1e6)
			for _, delta := range deltas {
				counter := delta.Sample.Counters[measure.Write]
				if delta.Sample.StartNanoseconds != last {
					t.Errorf("a sample begins at %d, the one before ended at %d", delta.Sample.StartNanoseconds, last)
				}
				last = delta.Sample.EndNanoseconds
				all.Bytes, all.Operations = all.Bytes+counter.Bytes, all.Operations+counter.Operations
				if last <= (origin+4000)*1e6 {
					loaded = all
				}
			}
			if loaded.Operations < 971 || loaded.Operations > 974 || loaded.Bytes>>16 < 969 || loaded.Bytes>>16 > 974 {
				t.Errorf("in the load there were %d operations, of %d blocks; the store had answered 973", loaded.Operations, loaded.Bytes>>16)
			}
			if all.Operations != 1228 || all.Bytes != 1228<<16 || last != (origin+5050)*1e6 {
				t.Errorf("in all %+v until %d", all, last)
			}
		})
	}
}
