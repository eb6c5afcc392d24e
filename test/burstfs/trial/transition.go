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

// rate of the store, which takes half a second for what Eight has in flight.
const rate = 16e6

// Spent is a store without credits, of which none come back: between two phases there would be time for that.
var Spent = model.Config{
	Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BurstPerSecond: 10 * rate, BaselinePerSecond: rate,
		Size: 1e9, StartFill: model.Pointer(0), RefillPerSecond: model.Pointer(0)}},
	Latency: model.Latency{Fixed: time.Millisecond},
}

// Phase is how long a phase of a trial of a slow transition is: long enough that one queue more or less, which is as
// exactly as anybody can tell from outside what was done in it, is no more than Tolerated.
const (
	Phase     = 10 * time.Second
	Tolerated = 0.04
)

// LateBy is how much later than planned a step may end, at most, before a transition is made slow.
const LateBy = 100 * time.Millisecond

// Slow is the same at an eighth of the rate.
func Slow() model.Config {
	config := Spent
	config.Buckets = slices.Clone(Spent.Buckets)
	config.Buckets[0].BaselinePerSecond = rate / 8
	return config
}

// Untouched says what phases know of transitions that were made slow, of which there must be so many. They must not
// know anything, in bytes and in operations. Latencies are told, and not judged: they are of all that a client has
// begun.
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
		// A busy machine may begin a phase late; then its end is in the transition for the store too.
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

// began is when the load of a phase was measured from.
func began(run v1alpha1.BenchmarkRunStatus, phase int) time.Time {
	for _, step := range run.Steps {
		if strings.HasPrefix(step.ID, fmt.Sprintf("%02d-", phase)) && step.MeasuredTime != nil {
			return step.MeasuredTime.Time
		}
	}
	return time.Time{}
}

// Figures are those that a trial must have compared, with their phases.
func (t Trial) Figures() []string {
	if t.Drains == "" {
		return strings.Split("burst exhausted,burst mean", ",")
	}
	return strings.Split("burst burst,burst baseline,burst time to baseline,burst spent,refill refill,refill spent", ",")
}
