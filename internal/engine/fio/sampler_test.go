package fio

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

// recorded feeds a recorded run to a sampler as if fio were printing it.
func recorded(t *testing.T, name string, options SamplerOptions) (*liveFio, []Delta) {
	t.Helper()
	live := &liveFio{stream: &Stream{}}
	_, _ = live.stream.Write(readRecording(t, name).stdout)
	live.documents = live.stream.Documents()
	deltas := sampled(t, live, options)
	checkSamples(t, live, deltas)
	return live, deltas
}

const ratePerJob = 10 << 20

func sampled(t *testing.T, live *liveFio, options SamplerOptions) []Delta {
	t.Helper()
	sampler := NewSampler(options)
	var deltas []Delta
	for _, document := range live.documents {
		some, err := sampler.Add(document)
		if err != nil {
			t.Fatal(err)
		}
		deltas = append(deltas, some...)
	}
	deltas = append(deltas, sampler.Close()...)
	for i := range deltas {
		sample := &deltas[i].Sample
		t.Logf("%6d to %6d ms warm=%-5v late=%-5d %6.2f MB/s %7.1f/s", (sample.StartNanoseconds-deltas[0].Sample.StartNanoseconds)/1e6,
			(sample.EndNanoseconds-deltas[0].Sample.StartNanoseconds)/1e6, sample.WarmUp, deltas[i].LateMilliseconds,
			rateOf(sample)/1e6, float64(sample.Counters[measure.Write].Operations)/seconds(sample))
	}
	return deltas
}

func seconds(sample *measure.Sample) float64 {
	return float64(sample.EndNanoseconds-sample.StartNanoseconds) / 1e9
}

func rateOf(sample *measure.Sample) float64 {
	return float64(sample.Counters[measure.Write].Bytes) / seconds(sample)
}

// checkSamples checks what must hold for every run: the samples are in order, and the measured ones add up to fio's
// result.
func checkSamples(t *testing.T, live *liveFio, deltas []Delta) {
	t.Helper()
	var sum [measure.NumOperations]measure.Counter
	var bins [measure.NumOperations]measure.Histogram
	for i := range deltas {
		sample := &deltas[i].Sample
		if sample.EndNanoseconds <= sample.StartNanoseconds {
			t.Errorf("sample %d has no length", i)
		}
		if i > 0 && sample.StartNanoseconds < deltas[i-1].Sample.EndNanoseconds {
			t.Errorf("sample %d begins before its predecessor ends", i)
		}
		if sample.WarmUp {
			continue
		}
		for operation := range sum {
			sum[operation].Bytes += sample.Counters[operation].Bytes
			sum[operation].Operations += sample.Counters[operation].Operations
			bins[operation].Merge(&deltas[i].Histograms[operation])
		}
	}
	final, err := live.documents[len(live.documents)-1].Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for operation := range sum {
		want := final.Operations[operation].Counter
		if timed := final.Operations[operation].Total.Count; timed > 0 {
			want.Operations = timed // the issued operations omit those in flight at the end of a ramp
		}
		if sum[operation] != want {
			t.Errorf("%v: the samples add up to %+v, fio's result is %+v", measure.Operation(operation), sum[operation], want)
		}
		if got, want := bins[operation].Count(), final.Operations[operation].Total.Histogram.Count(); got != want {
			t.Errorf("%v: the samples' histograms count %d, fio's %d", measure.Operation(operation), got, want)
		}
	}
}

// TestSamplesOfARecordedLateDump replays four jobs of 10 MiB/s, one of which was stopped for 3.5 s. The bytes of the
// late dump must count until the instant at which it was requested. With the timestamp of the dump, the rate would be 7
// MB/s, and 5,000 MB/s in the next sample.
func TestSamplesOfARecordedLateDump(t *testing.T) {
	t.Parallel()
	_, deltas := recorded(t, "late-dump", SamplerOptions{Jobs: 4})
	late := 0
	for i := range deltas {
		sample := &deltas[i].Sample
		if deltas[i].LateMilliseconds > 1000 {
			late++
		}
		if rate := rateOf(sample); seconds(sample) > 0.3 && (rate < 2.9*ratePerJob || rate > 4.5*ratePerJob) {
			t.Errorf("sample %d: %.1f MB/s", i, rate/1e6)
		}
		byOperations := float64(sample.Counters[measure.Write].Operations) * 65536 / seconds(sample)
		if seconds(sample) > 0.3 && (byOperations < 2.8*ratePerJob || byOperations > 4.8*ratePerJob) {
			t.Errorf("sample %d: %.1f MB/s by operations", i, byOperations/1e6)
		}
	}
	if late != 1 {
		t.Errorf("%d late dumps, want 1", late)
	}
}

func TestSamplesOfRecordedRamps(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		warmUp    time.Duration
		jobs      int
		warm      int
		operation measure.Operation
		truth     float64
	}{
		{"ramp", 2 * time.Second, 2, 1, measure.Read, 2 * ratePerJob},
		{"ramp-queue", 2 * time.Second, 1, 1, measure.Write, 500 * 4096},
		{"ramp-deep-queue", 2 * time.Second, 1, 1, measure.Write, 40e6},
		{"late-reset-one", 3 * time.Second, 1, 1, measure.Write, 0},
		{"late-reset-three", 3 * time.Second, 3, 1, measure.Write, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, deltas := recorded(t, test.name, SamplerOptions{Jobs: test.jobs, WarmUp: test.warmUp})
			warm := 0
			for i := range deltas {
				sample := &deltas[i].Sample
				if sample.WarmUp {
					warm++
				}
				rate := float64(sample.Counters[test.operation].Bytes) / seconds(sample)
				if test.truth > 0 && seconds(sample) > 0.3 && math.Abs(rate-test.truth) > test.truth*0.05+4*65536 {
					t.Errorf("sample %d: %.2f MB/s, want %.2f", i, rate/1e6, test.truth/1e6)
				}
			}
			if warm < test.warm {
				t.Errorf("%d warm-up samples, want %d", warm, test.warm)
			}
			// Without a configured warm-up, the sampler must report the reset at the end of the ramp.
			sampler := NewSampler(SamplerOptions{Jobs: test.jobs})
			var stream Stream
			_, _ = stream.Write(readRecording(t, test.name).stdout)
			resets := 0
			for _, document := range stream.Documents() {
				if _, err := sampler.Add(document); errors.Is(err, measure.ErrCounterReset) {
					resets++
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if resets != 1 {
				t.Errorf("%d resets were noticed, want 1", resets)
			}
		})
	}
}

// TestOperationsAfterARamp replays a run with operations of 1 MiB, 31 of which were in flight when the ramp ended.
// Every sample, and the load without the operations in flight at its end, must have one operation per MiB.
func TestOperationsAfterARamp(t *testing.T) {
	t.Parallel()
	for _, outstanding := range []uint64{0, 32} {
		_, deltas := recorded(t, "ramp-deep-queue", SamplerOptions{Jobs: 1, WarmUp: 2 * time.Second, Duration: 3 * time.Second, Outstanding: outstanding})
		var all measure.Counter
		for i := range deltas {
			sample := &deltas[i].Sample
			got := sample.Counters[measure.Write]
			if sample.WarmUp {
				continue
			}
			if off := math.Abs(float64(got.Bytes)/(1<<20) - float64(got.Operations)); off > 1 {
				t.Errorf("at most %d outstanding: sample %d has %d bytes and %d operations", outstanding, i, got.Bytes, got.Operations)
			}
			all.Bytes, all.Operations = all.Bytes+got.Bytes, all.Operations+got.Operations
		}
		if want := (measure.Counter{Bytes: 146 << 20, Operations: 146}); all != want {
			t.Errorf("at most %d outstanding: %+v, want %+v", outstanding, all, want)
		}
	}
}

// dump returns a dump of a single job that writes.
func dump(version string, written, runtime int64, bytes, operations uint64) *Document {
	document := &Document{Version: version, TimestampMilliseconds: written, Jobs: make([]Job, 1)}
	job := &document.Jobs[0]
	job.JobRuntimeMilliseconds = uint64(runtime)
	job.Operations[measure.Write] = OperationTotal{
		Counter: measure.Counter{Bytes: bytes, Operations: operations}, RuntimeMilliseconds: runtime,
	}
	job.Operations[measure.Write].Total.AddNanoseconds(1000, operations)
	return document
}

func TestSampleEndsWhenBytesWereCounted(t *testing.T) {
	t.Parallel()
	for version, wantEnd := range map[string]int64{"fio-3.33": 12_000, "fio-3.41-12-gabc": 12_000, "fio-3.42": 15_000, "fio-4.0": 15_000} {
		sampler := NewSampler(SamplerOptions{})
		var deltas []Delta
		for _, document := range []*Document{
			dump(version, 11_000, 1000, 1_000_000, 1000),
			dump(version, 15_000, 2000, 2_000_000, 5000), // 3 s late
			dump(version, 16_000, 6000, 6_000_000, 6000),
		} {
			some, err := sampler.Add(document)
			if err != nil {
				t.Fatal(err)
			}
			deltas = append(deltas, some...)
		}
		deltas = append(deltas, sampler.Close()...)
		if len(deltas) != 3 || deltas[1].Sample.EndNanoseconds != wantEnd*1e6 {
			t.Errorf("%s: %+v, want an end at %d ms", version, deltas, wantEnd)
		}
	}
}

func TestSamplerSharesOperationsOutByTime(t *testing.T) {
	t.Parallel()
	sampler := NewSampler(SamplerOptions{ToClock: func(wall int64) int64 { return wall - 1e9 }})
	var samples []measure.Sample
	for _, document := range []*Document{
		dump("fio-3.33", 11_000, 1000, 1_000_000, 1000),
		dump("fio-3.33", 15_000, 2000, 2_000_000, 5000),
		dump("fio-3.33", 16_000, 6000, 6_000_000, 6000),
	} {
		some, _ := sampler.Add(document)
		for _, delta := range some {
			samples = append(samples, delta.Sample)
		}
	}
	for _, delta := range sampler.Close() {
		samples = append(samples, delta.Sample)
	}
	for i, want := range []struct{ start, end, operations int64 }{{9000, 10_000, 1000}, {10_000, 11_000, 1000}, {11_000, 15_000, 4000}} {
		got := samples[i]
		if got.StartNanoseconds != want.start*1e6 || got.EndNanoseconds != want.end*1e6 ||
			got.Counters[measure.Write].Operations != uint64(want.operations) || got.Counters[measure.Write].Bytes != uint64(want.operations)*1000 {
			t.Errorf("sample %d: %+v, want %+v", i, got, want)
		}
	}
}

// TestSamplerKeepsWhatCameInNoTime checks that no byte is lost if a run with a long queue is stopped: the last dump
// waits for all operations in flight and counts none of their bytes, and the result follows in the same millisecond.
func TestSamplerKeepsWhatCameInNoTime(t *testing.T) {
	t.Parallel()
	first := dump("fio-3.33", 19_756, 0, 0, 1)
	first.Jobs[0].JobRuntimeMilliseconds = 607
	for name, more := range map[string]uint64{"all that was in flight": 31_000_000, "nothing": 0} {
		sampler := NewSampler(SamplerOptions{})
		var samples []measure.Sample
		keep := func(some []Delta) {
			for _, delta := range some {
				samples = append(samples, delta.Sample)
			}
		}
		for _, document := range []*Document{
			first, dump("fio-3.33", 40_589, 25_000, 1_000_000, 32), dump("fio-3.33", 40_589, 32_096, 1_000_000+more, 32),
		} {
			some, err := sampler.Add(document)
			if err != nil {
				t.Fatal(err)
			}
			keep(some)
		}
		keep(sampler.Close())
		var sum uint64
		for i, sample := range samples {
			sum += sample.Counters[measure.Write].Bytes
			if sample.EndNanoseconds <= sample.StartNanoseconds || i > 0 && sample.StartNanoseconds < samples[i-1].EndNanoseconds {
				t.Errorf("%s: sample %d: %+v", name, i, sample)
			}
		}
		if last := samples[len(samples)-1]; sum != 1_000_000+more || last.EndNanoseconds > 40_590e6 {
			t.Errorf("%s: %d bytes in %+v", name, sum, samples)
		}
	}
}

// TestSamplerTellsAReset checks that the sampler reports a total that decreases without a ramp, and then continues.
func TestSamplerTellsAReset(t *testing.T) {
	t.Parallel()
	sampler := NewSampler(SamplerOptions{})
	var deltas []Delta
	resets := 0
	for _, document := range []*Document{
		dump("fio-3.33", 1000, 1000, 10_000, 10), dump("fio-3.33", 2000, 2000, 20_000, 20),
		dump("fio-3.33", 3000, 500, 5000, 5), dump("fio-3.33", 4000, 1500, 15_000, 15),
	} {
		some, err := sampler.Add(document)
		deltas = append(deltas, some...)
		if err != nil {
			if !errors.Is(err, measure.ErrCounterReset) {
				t.Fatal(err)
			}
			resets++
		}
	}
	deltas = append(deltas, sampler.Close()...)
	var bytes uint64
	for _, delta := range deltas {
		bytes += delta.Sample.Counters[measure.Write].Bytes
	}
	if resets != 1 || len(deltas) != 3 || bytes != 30_000 {
		t.Errorf("%d resets, %d samples, %d bytes: %+v", resets, len(deltas), bytes, deltas)
	}
	if _, err := sampler.Add(dump("fio-3.33", 100, 100, 1, 1)); err == nil {
		t.Error("a clock that went back was not reported")
	}
}

// TestSamplerSkipsDumpsOfTwoParts checks that a dump is not used while only some of the jobs are in their ramp.
func TestSamplerSkipsDumpsOfTwoParts(t *testing.T) {
	t.Parallel()
	ramp := func(written, runtime int64, bytes uint64) *Document {
		document := dump("fio-3.33", written, runtime, bytes, bytes/1000)
		document.Jobs[0].Operations[measure.Write].Total = measure.Latency{}
		return document
	}
	sampler := NewSampler(SamplerOptions{WarmUp: 2 * time.Second, Jobs: 2})
	var deltas []Delta
	for _, document := range []*Document{
		ramp(1000, 1000, 100_000),
		dump("fio-3.33", 2100, 2100, 110_000, 110), // one job still in its ramp, one reset at 2,000
		dump("fio-3.33", 3000, 1000, 100_000, 100),
		dump("fio-3.33", 4000, 2000, 200_000, 200),
	} {
		some, err := sampler.Add(document)
		if err != nil {
			t.Fatal(err)
		}
		deltas = append(deltas, some...)
	}
	deltas = append(deltas, sampler.Close()...)
	if len(deltas) != 3 || !deltas[0].Sample.WarmUp || deltas[1].Sample.WarmUp ||
		deltas[1].Sample.StartNanoseconds != 2000e6 || deltas[1].Sample.EndNanoseconds != 3000e6 ||
		deltas[1].Sample.Counters[measure.Write].Bytes != 100_000 {
		t.Errorf("%+v", deltas)
	}
	if since, ok := sampler.MeasuredSince(); !ok || since != 2000e6 {
		t.Errorf("measured since %d", since)
	}
}
