package trial

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/burstfs/bare"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// Eight is the load of the trials of transitions: eight clients at a queue depth of 32.
var Eight = bare.Load{Clients: 8, QueueDepth: 32, BlockBytes: 32 << 10, FileBytes: 8 << 20, Runtime: 2 * time.Second}

// rate is the store's rate in bytes per second. At this rate, the outstanding requests of Eight take half a second.
const rate = 16e6

// Spent is a store without credits and without refill, because credits would otherwise come back between two phases.
var Spent = model.Config{
	Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BurstPerSecond: 10 * rate, BaselinePerSecond: rate,
		Size: 1e9, StartFill: model.Pointer(0), RefillPerSecond: model.Pointer(0)}},
	Latency: model.Latency{Fixed: time.Millisecond},
}

// Phase is the length of a phase in a trial of a slow transition. From outside, the work done in a phase is known only
// to within one queue of outstanding requests. A phase is so long that this error is at most Tolerated.
const (
	Phase     = 10 * time.Second
	Tolerated = 0.04
)

// LateBy is the time after a step's planned end at which the trial slows the store down, to make the transition slow.
const LateBy = 100 * time.Millisecond

// Slow returns Spent with an eighth of the rate.
func Slow() model.Config {
	config := Spent
	config.Buckets = slices.Clone(Spent.Buckets)
	config.Buckets[0].BaselinePerSecond = rate / 8
	return config
}

// Untouched checks that the figures of phases, in bytes and operations, are not affected by transitions that were made
// slow, and that there are exactly slow such transitions. It returns the problems. It prints latencies but does not
// check them, because they include all requests that a client has submitted.
func Untouched(record truth.Record, run v1alpha1.BenchmarkRunStatus, slow int) (problems []string) {
	say := func(format string, arguments ...any) { problems = append(problems, fmt.Sprintf(format, arguments...)) }
	seen := 0
	for _, one := range truth.Transitions(record, run) {
		if one.InFlight > 2*time.Second {
			seen++
		}
		if d := (one.InFlight - one.OursInFlight).Abs(); d > max(one.InFlight/20, 150*time.Millisecond) {
			say("%s: that is not the same", one)
		}
	}
	if seen != slow {
		say("%d transitions were slow, want %d", seen, slow)
	}
	for i, phase := range run.Phases {
		if phase.Kind != v1alpha1.PhaseSteady {
			continue
		}
		target := phase.Targets[0]
		figures, window := target.Operations[0], time.Duration(target.WindowNanoseconds)
		if window > Phase+Phase/100 {
			say("%s: its window is %s", phase.Name, window)
		}
		// On a busy machine, a phase may begin late. Then it ends within the transition, also in the store's record.
		from := began(run, i).Add(time.Duration(*target.StartSkewNanoseconds))
		gave := record.Between(from, from.Add(window))
		wantBytes, wantOperations := gave.WriteBytes/window.Seconds(), gave.WriteOperations/window.Seconds()
		bytes, iops := float64(*figures.BytesPerSecond), float64(*figures.IOPSMilli)/1e3
		if math.Abs(bytes/wantBytes-1) > Tolerated || math.Abs(iops/wantOperations-1) > Tolerated {
			say("%s: %.2f MB/s and %.1f operations a second, latency %s on average and %s at most: the store gave %.2f MB/s and %.1f operations a second",
				phase.Name, bytes/1e6, iops, time.Duration(figures.Latency.MeanNanoseconds).Round(time.Millisecond),
				time.Duration(figures.Latency.MaxNanoseconds).Round(time.Millisecond), wantBytes/1e6, wantOperations)
		}
	}
	return problems
}

// began returns the start of the measured time of a phase.
func began(run v1alpha1.BenchmarkRunStatus, phase int) time.Time {
	for _, step := range run.Steps {
		if strings.HasPrefix(step.ID, fmt.Sprintf("%02d-", phase)) && step.MeasuredTime != nil {
			return step.MeasuredTime.Time
		}
	}
	return time.Time{}
}

// Figures returns the phases and figures that the comparison of a trial must contain.
func (t Trial) Figures() []string {
	if t.Drains == "" {
		return strings.Split("burst exhausted,burst mean", ",")
	}
	return strings.Split("burst burst,burst baseline,burst time to baseline,burst spent,refill refill,refill spent", ",")
}
