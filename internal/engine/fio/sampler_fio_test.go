package fio

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/stillness"
)

const rateLimited = `[global]
ioengine=psync
size=4m
bs=64k
rw=write
rate=10m
numjobs=%d
time_based
runtime=%d
ramp_time=%d
fallocate=none
group_reporting
lat_percentiles=1
filename_format=data.$jobnum.$filenum
[job]
`

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

// checkSamples checks what holds for any run: order, and that the measured part adds up to
// fio's own result.
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
		if sum[operation] != final.Operations[operation].Counter {
			t.Errorf("%v: the samples add up to %+v, fio's result is %+v", measure.Operation(operation), sum[operation], final.Operations[operation].Counter)
		}
		if got, want := bins[operation].Count(), final.Operations[operation].Total.Histogram.Count(); got != want {
			t.Errorf("%v: the samples' histograms count %d, fio's %d", measure.Operation(operation), got, want)
		}
	}
}

// checkRate checks each sample's rate against the truth; short samples tell little. fio makes good what it was kept from, but maybe
// not in the same sample.
func checkRate(t *testing.T, still *stillness.Watch, deltas []Delta, truth float64) {
	t.Helper()
	for i := range deltas {
		sample := &deltas[i].Sample
		allowed := 0.1 + still.Total().Seconds()/seconds(sample)
		if rate := rateOf(sample); seconds(sample) > 0.5 && math.Abs(rate-truth) > truth*allowed {
			t.Errorf("sample %d: %.2f MB/s, want %.2f; the machine stood still for %s", i, rate/1e6, truth/1e6, still.Total())
		}
	}
}

func TestSamplesOfRateLimitedJobs(t *testing.T) {
	t.Parallel()
	still := stillness.During(t)
	live := startFio(t, t.TempDir(), fmt.Sprintf(rateLimited, 2, 3, 0))
	live.wait(t)
	deltas := sampled(t, live, SamplerOptions{Jobs: 2})
	if len(deltas) < 3-still.Times(time.Second) {
		t.Fatalf("%d samples, want 3; the machine stood still for %s", len(deltas), still.Total())
	}
	checkSamples(t, live, deltas)
	checkRate(t, still, deltas, 2*ratePerJob)
}

func TestSamplesAcrossARamp(t *testing.T) {
	t.Parallel()
	for _, ramp := range []int{1, 3} {
		t.Run(fmt.Sprintf("%ds", ramp), func(t *testing.T) {
			t.Parallel()
			still := stillness.During(t)
			live := startFio(t, t.TempDir(), fmt.Sprintf(rateLimited, 2, 4, ramp))
			live.wait(t)
			warmUp := time.Duration(ramp) * time.Second
			deltas := sampled(t, live, SamplerOptions{Jobs: 2, WarmUp: warmUp})
			checkSamples(t, live, deltas)
			checkRate(t, still, deltas, 2*ratePerJob)
			var measured []Delta
			for _, delta := range deltas {
				if !delta.Sample.WarmUp {
					measured = append(measured, delta)
				}
			}
			if late := still.Times(time.Second); len(deltas)-len(measured) < ramp-1-late || len(measured) < 2-late || len(measured) == 0 {
				t.Fatalf("%d warm-up and %d measured samples", len(deltas)-len(measured), len(measured))
			}
			began := measured[0].Sample.StartNanoseconds - deltas[0].Sample.StartNanoseconds
			if ramp > 1 && math.Abs(float64(began)-float64(warmUp)) > 0.1e9+float64(still.Total()) {
				t.Errorf("the measured part begins %d ms after the first I/O; the machine stood still for %s", began/1e6, still.Total())
			}
		})
	}
}

// One of four jobs is stopped for some seconds by SIGSTOP, which for fio is a job inside a
// long I/O: its dumps wait.
func TestSamplesWithAStuckJob(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 9 s")
	}
	t.Parallel()
	still := stillness.During(t)
	live := startFio(t, t.TempDir(), fmt.Sprintf(rateLimited, 4, 8, 0))
	stop(t, live, 2200*time.Millisecond, 3500*time.Millisecond)
	live.wait(t)
	deltas := sampled(t, live, SamplerOptions{Jobs: 4})
	checkSamples(t, live, deltas)
	late := false
	for i := range deltas {
		late = late || deltas[i].LateMilliseconds > 1000 || seconds(&deltas[i].Sample) > 2.5
		// Three jobs go on, and the fourth catches up after its stop.
		rate, length := rateOf(&deltas[i].Sample), seconds(&deltas[i].Sample)
		if least := 2.9 - 3*still.Total().Seconds()/length; rate < least*ratePerJob && length > 0.5 {
			t.Errorf("sample %d: %.1f MB/s; the machine stood still for %s", i, rate/1e6, still.Total())
		}
	}
	if !late {
		t.Error("no dump was late: the test did not test anything")
	}
}

// The ramp ends while a dump waits for a stopped job: fio's totals of that dump are of neither
// part, and its runtime stays wrong.
func TestSamplesWithAResetInALateDump(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 9 s")
	}
	t.Parallel()
	for _, jobs := range []int{1, 3} {
		t.Run(fmt.Sprint(jobs), func(t *testing.T) {
			t.Parallel()
			still := stillness.During(t)
			live := startFio(t, t.TempDir(), fmt.Sprintf(rateLimited, jobs, 6, 3))
			stop(t, live, 1400*time.Millisecond, 3500*time.Millisecond)
			output, exit := live.wait(t)
			deltas := sampled(t, live, SamplerOptions{Jobs: jobs, WarmUp: 3 * time.Second})
			checkSamples(t, live, deltas)
			for i := range deltas {
				sample := &deltas[i].Sample
				most := float64(jobs) * ratePerJob * (2.1 + still.Total().Seconds()/seconds(sample))
				if rate := rateOf(sample); rate > most && seconds(sample) > 0.3 {
					t.Errorf("sample %d: %.1f MB/s; the machine stood still for %s", i, rate/1e6, still.Total())
				}
			}
			result := Final(output, exit, live.stderr.String(), Expectation{MeasuredMilliseconds: 6000})
			if result.Outcome != Complete {
				t.Errorf("%v: %s", result.Outcome, result.Message)
			}
			t.Log(result.Warnings)
		})
	}
}

// stop stops one of fio's jobs some time after they have begun, for so long.
func stop(t *testing.T, live *liveFio, after, length time.Duration) {
	t.Helper()
	jobs := live.jobProcesses(t)
	for deadline := time.Now().Add(time.Minute); len(jobs) == 0; jobs = live.jobProcesses(t) {
		if time.Now().After(deadline) {
			t.Fatal("fio has no jobs")
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(after)
	if err := syscall.Kill(jobs[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(length)
	if err := syscall.Kill(jobs[0], syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
