package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/invariants"
	"github.com/storagebench/storagebench/test/soak"
)

// restarts is the number of times that the operator is killed.
const restarts = 20

// diary records the runs of a space, most of which are pruned before the end of the test.
type diary struct {
	runs map[string]v1alpha1.BenchmarkRun
	// times are the times of each benchmark's schedule that the operator handled.
	times map[string][]time.Time
	most  map[string]int
}

// write records the current state.
func (d *diary) write(s *space, benchmarks []string) {
	s.Helper()
	complete := map[string]int{}
	for _, run := range s.runs() {
		d.runs[run.Name] = run
		if meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete) {
			complete[run.Spec.BenchmarkRef.Name]++
		}
	}
	for _, name := range benchmarks {
		d.most[name] = max(d.most[name], complete[name])
		if last := s.benchmark(name).Status.LastScheduleTime; last != nil {
			if known := d.times[name]; len(known) == 0 || !known[len(known)-1].Equal(last.Time) {
				d.times[name] = append(known, last.Time)
			}
		}
	}
}

// TestHourOfRuns runs two benchmarks on one claim for an hour: one every minute for 30 s, the other every two minutes
// for 20 s. The operator is killed at 20 random moments, and each time the next one waits for the Lease. Every time
// must be handled at most once, and at least 80 % of the times must be handled: others may be skipped while earlier runs
// occupy the claim. Runs must not overlap or be lost, and the history limits must be kept.
func TestHourOfRuns(t *testing.T) {
	soak.Only(t)
	const length = time.Hour
	in := requireNode(t)
	in.withoutOperator(t)
	s := newSpace(t)
	s.claim("data", "1Gi")
	random := rand.New(rand.NewPCG(soak.Seed(t), restarts))
	var moments []time.Duration
	for range restarts {
		moments = append(moments, time.Duration(random.Int64N(int64(length))))
	}
	slices.Sort(moments)
	operator := in.operate(t)
	operator.leads(time.Minute)
	benchmarks, began := []string{"minutes", "pairs"}, time.Now()
	s.timed("minutes", "data", "", eachMinute, 30)
	s.timed("pairs", "data", "", "*/2 * * * *", 20)
	d := &diary{runs: map[string]v1alpha1.BenchmarkRun{}, times: map[string][]time.Time{}, most: map[string]int{}}
	for time.Since(began) < length {
		d.write(s, benchmarks)
		if len(moments) > 0 && time.Since(began) >= moments[0] {
			moments = moments[1:]
			operator.kill()
			operator = in.operate(t)
		}
		time.Sleep(250 * time.Millisecond)
	}
	for _, name := range benchmarks {
		before := s.benchmark(name)
		after := before.DeepCopy()
		after.Spec.Suspend = new(true)
		must(t, s.api.Patch(t.Context(), after, client.MergeFrom(before)))
	}
	s.until("the last runs are over", 5*time.Minute, func() bool {
		over := !slices.ContainsFunc(benchmarks, func(name string) bool { return s.benchmark(name).Status.ActiveRun != nil })
		d.write(s, benchmarks) // record the finished runs
		return over
	})
	d.judge(s, benchmarks, began, length)
	operator.stop()
}

// judge checks the diary against the schedules.
func (d *diary) judge(s *space, benchmarks []string, began time.Time, length time.Duration) {
	s.Helper()
	var all []v1alpha1.BenchmarkRun
	count := map[string]int{}
	for _, run := range d.runs {
		all = append(all, run)
		count[run.Spec.BenchmarkRef.Name]++
		if run.Status.EndTime == nil {
			s.Errorf("run %s was last seen before its end: %s", run.Name, run.Status.Stage)
			continue
		}
		isComplete(s.T, &run)
		invariants.CheckObject(s.T, typed(&run))
	}
	inTurn(s.T, all)
	var lines []string
	for i, name := range benchmarks {
		step := time.Duration(i+1) * time.Minute
		due := 0
		for at := began.Truncate(step).Add(step); !at.After(began.Add(length)); at = at.Add(step) {
			due++
		}
		times := d.times[name]
		if len(times) != count[name] {
			s.Errorf("%s: %d times were handled and %d runs made", name, len(times), count[name])
		}
		// Some times may be skipped because the claim is busy. The test does not check why a time was skipped.
		if count[name] < due*8/10 || count[name] > due+1 {
			s.Errorf("%s: %d runs were made of %d that were due", name, count[name], due)
		}
		for j := 1; j < len(times); j++ {
			if gap := times[j].Sub(times[j-1]); gap <= 0 || gap%step != 0 {
				s.Errorf("%s was run for %s after %s", name, times[j], times[j-1])
			}
		}
		if d.most[name] > keptRuns+1 {
			s.Errorf("%s: up to %d complete runs were there, want %d", name, d.most[name], keptRuns)
		}
		if status := s.benchmark(name).Status; !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) {
			s.Errorf("%s is not ready: %+v", name, status.Conditions)
		}
		lines = append(lines, fmt.Sprintf("%s: %d runs of %d times that were due", name, count[name], due))
	}
	waited := 0
	for _, run := range all {
		if meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting) != nil && run.Status.StartTime.Sub(run.CreationTimestamp.Time) > 2*time.Second {
			waited++
		}
	}
	s.clean()
	left := len(s.runs())
	if left > 2*keptRuns {
		s.Errorf("%d runs are kept, want %d", left, 2*keptRuns)
	}
	soak.Report(s.T, "An hour of scheduled runs", "%s: %s; %d operators killed; %d runs waited for their turn; %d are kept", length, strings.Join(lines, ", "), restarts, waited, left)
}
