package fio

import (
	"fmt"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

// apart simulates a fio whose jobs start one after the other, so that their ramps also end one after the other.
type apart struct {
	jobs, spread, ramp, length, iops int64
}

// dump returns fio's dump at an instant, in milliseconds since the first job started.
func (a apart) dump(now int64) *Document {
	const epoch, block = 10_000, 4096
	var bytes, issued, timed uint64
	var longest, sum int64
	for job := range a.jobs {
		begin, measured := job*a.spread/max(a.jobs-1, 1), false
		if now >= begin+a.ramp {
			begin, measured = begin+a.ramp, true
		}
		ran := max(now-begin, 0)
		if measured {
			ran = min(ran, a.length)
		}
		longest, sum = max(longest, ran), sum+ran
		done := uint64(ran * a.iops / 1000)
		bytes, issued = bytes+done*block, issued+done
		if measured {
			timed += done
		}
	}
	document := &Document{Version: "fio-3.33", TimestampMilliseconds: epoch + now, Jobs: make([]Job, 1)}
	one := &document.Jobs[0]
	one.JobRuntimeMilliseconds = uint64(sum)
	one.Operations[measure.Read] = OperationTotal{Counter: measure.Counter{Bytes: bytes, Operations: issued}, RuntimeMilliseconds: longest}
	one.Operations[measure.Read].Total.AddNanoseconds(1000, timed)
	return document
}

// TestSamplesAfterALateDumpOfTheRamp delays the only dump of the ramp by seconds, as happens on an overloaded machine.
// The ramp then seems to start too late, but the measured time must still be sampled.
func TestSamplesAfterALateDumpOfTheRamp(t *testing.T) {
	t.Parallel()
	fio := apart{jobs: 2, ramp: 1000, length: 4000, iops: 64}
	sampler := NewSampler(SamplerOptions{Jobs: 2, WarmUp: time.Second, Duration: 4 * time.Second})
	late := fio.dump(325)
	late.TimestampMilliseconds += 3000
	var operations uint64
	for _, document := range []*Document{late, fio.dump(5020)} {
		deltas, err := sampler.Add(document)
		if err != nil {
			t.Fatal(err)
		}
		for i := range deltas {
			if !deltas[i].Sample.WarmUp {
				t.Errorf("a sample of the ramp is said to be measured: %+v", deltas[i].Sample)
			}
		}
	}
	for _, delta := range sampler.Close() {
		operations += delta.Sample.Counters[measure.Read].Operations
	}
	if want := uint64(2 * 4 * 64); operations != want {
		t.Errorf("the samples count %d operations, want %d", operations, want)
	}
}

// TestSamplesOfJobsThatBeginApart checks that dumps that mix jobs in their ramp with jobs after it are dropped. Such a
// dump once added the ramp of a second to the measured time, and the rate was 20 % too low.
func TestSamplesOfJobsThatBeginApart(t *testing.T) {
	t.Parallel()
	for _, spread := range []int64{0, 20, 50, 90, 150, 300, 600} {
		for first := int64(600); first <= 1700; first += 50 {
			t.Run(fmt.Sprintf("%d ms, first dump at %d", spread, first), func(t *testing.T) {
				fio := apart{jobs: 18, spread: spread, ramp: 1000, length: 4000, iops: 64}
				end := fio.ramp + fio.length + fio.spread
				sampler := NewSampler(SamplerOptions{Jobs: int(fio.jobs), WarmUp: time.Duration(fio.ramp) * time.Millisecond,
					Duration: time.Duration(fio.length) * time.Millisecond})
				var deltas []Delta
				for now := first; now < end+20; now += 1000 {
					some, err := sampler.Add(fio.dump(now))
					if err != nil {
						t.Error(err)
					}
					deltas = append(deltas, some...)
				}
				some, err := sampler.Add(fio.dump(end + 20))
				if err != nil {
					t.Error(err)
				}
				deltas = append(append(deltas, some...), sampler.Close()...)
				var operations uint64
				var from, to int64
				for i := range deltas {
					if sample := &deltas[i].Sample; !sample.WarmUp {
						if from == 0 {
							from = sample.StartNanoseconds
						}
						to = sample.EndNanoseconds
						operations += sample.Counters[measure.Read].Operations
					}
				}
				// Only while all jobs run does the rate reach this value.
				all := float64(fio.jobs * fio.iops)
				least := all * float64(fio.length) / float64(fio.length+fio.spread+50)
				if rate := float64(operations) / (float64(to-from) / 1e9); rate < 0.99*least || rate > 1.01*all {
					t.Errorf("%.0f operations a second over %.2f s, want %.0f to %.0f", rate, float64(to-from)/1e9, least, all)
				}
			})
		}
	}
}

// TestSamplesAfterADumpOfNothing checks that a dump at the very instant at which the ramp ends, which has no figures,
// does not count as the first dump of the ramp.
func TestSamplesAfterADumpOfNothing(t *testing.T) {
	t.Parallel()
	sampler := NewSampler(SamplerOptions{WarmUp: time.Second})
	var samples int
	for second := range int64(5) {
		some, err := sampler.Add(dump("fio-3.33", 11_000+1000*second, 1000*second, uint64(1_000_000*second), uint64(1000*second)))
		if err != nil {
			t.Fatal(err)
		}
		samples += len(some)
	}
	if samples += len(sampler.Close()); samples != 4 {
		t.Errorf("%d samples, want 4", samples)
	}
}

// TestSamplesWithAClockThatIsSetBack checks that only the time between two dumps is lost if the wall clock is set back
// between them.
func TestSamplesWithAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	sampler := NewSampler(SamplerOptions{})
	var operations uint64
	told := 0
	for second, written := range []int64{11_000, 12_000, 9_000, 10_000} {
		n := uint64(1000 * (second + 1))
		some, err := sampler.Add(dump("fio-3.33", written, int64(n), 1000*n, n))
		if err != nil {
			told++
		}
		for i := range some {
			operations += some[i].Sample.Counters[measure.Write].Operations
		}
	}
	for _, last := range sampler.Close() {
		operations += last.Sample.Counters[measure.Write].Operations
	}
	if told != 1 || operations != 3000 {
		t.Errorf("%d errors were reported; %d operations, want 3,000 of 4,000", told, operations)
	}
}
