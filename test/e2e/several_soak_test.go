package e2e

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/cluster/burst"
	"github.com/storagebench/storagebench/test/soak"
)

// endedOf waits for the end of a benchmark's only run and returns it.
func (s *space) endedOf(benchmark string, patience time.Duration) *v1alpha1.BenchmarkRun {
	s.Helper()
	var ended *v1alpha1.BenchmarkRun
	s.until("the run of "+benchmark+" is over", patience, func() bool {
		for _, run := range s.runs() {
			if run.Spec.BenchmarkRef.Name == benchmark && run.Status.EndTime != nil {
				ended = &run
			}
		}
		return ended != nil
	})
	return ended
}

// volumes gives a target several claims.
func volumes(target int, claims ...string) func(*v1alpha1.RunSpec) {
	return func(run *v1alpha1.RunSpec) {
		run.Targets[target].Volumes = nil
		for _, claim := range claims {
			run.Targets[target].Volumes = append(run.Targets[target].Volumes, v1alpha1.Volume{Name: claim, ClaimName: claim})
		}
	}
}

// TestSeveralVolumesInAPod checks that the rates of two volumes in one pod match the stores' records, both as a stripe
// and as two separate targets, and that a stripe loads its volumes evenly.
func TestSeveralVolumesInAPod(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	requireNode(t)
	s := newSpace(t)
	const each = 2e7
	config := model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: each}}}
	claims := []string{"a", "b"}
	stores := map[string]*burst.Mounted{}
	for _, claim := range claims {
		stores[claim] = s.burstClaim(claim, config)
	}
	load := builders.Fio().BlockSize("64Ki").Dataset("16Mi")
	s.apply(builders.Benchmark("striped").Target("both").Mutate(volumes(0, claims...)).Workload(load).Prepare("layout").Steady("write", "5s").WarmUp("1s").Obj())
	striped := s.endedOf("striped", 2*time.Minute)
	s.complete(striped)
	time.Sleep(time.Second) // until the record has the whole second in which the run ended
	measured := striped.Status.Steps[len(striped.Status.Steps)-1]
	counted, both := map[string]float64{}, 0.0
	for _, claim := range claims {
		record := stores[claim].Truth()
		// From the start of the run to the end of the load, including the layout.
		counted[claim] = record.Between(striped.Status.StartTime.Time, measured.LastIOTime.Time).WriteBytes
		both += written(record, striped, 0)
	}
	soak.Report(t, "two volumes as a stripe", "bytes on a %.0f, on b %.0f", counted["a"], counted["b"])
	if a, b := counted["a"], counted["b"]; math.Abs(a-b) > 0.02*(a+b) {
		t.Errorf("the stores took %.0f and %.0f bytes: %.2f %% apart", a, b, 100*math.Abs(a-b)/(a+b))
	}
	// A stripe waits for its slower volume: it may be slower than the sum of both, but must be faster than one.
	gives := throughput(t, striped, "write", "both")
	s.near("what a stripe gives", gives, both, offPercent)
	if gives < 1.2*each || gives > 2*each*(1+offPercent/100.) {
		t.Errorf("a stripe of two volumes of %.0f a second gives %.0f", each, gives)
	}

	s.apply(builders.Benchmark("separate").Spread(v1alpha1.SpreadAny).Target("a").Target("b").Mutate(volumes(0, "a")).Mutate(volumes(1, "b")).
		Workload(load).Prepare("layout").Steady("write", "5s").WarmUp("1s").Obj())
	separate := s.endedOf("separate", 2*time.Minute)
	s.complete(separate)
	time.Sleep(time.Second)
	for i, claim := range claims {
		s.near("what "+claim+" gives by itself", throughput(t, separate, "write", claim), written(stores[claim].Truth(), separate, i), offPercent)
	}
}

// written returns the bytes per second that a store recorded over the window of a run's last phase.
func written(record truth.Record, run *v1alpha1.BenchmarkRun, target int) float64 {
	last := len(run.Status.Phases) - 1
	from, to := truth.Window(run.Status.Phases[last].Targets[target], run.Status.Steps[len(run.Status.Steps)-1].MeasuredTime.Time)
	return record.Between(from, to).WriteBytes / to.Sub(from).Seconds()
}

// throughput returns the rate of a target in a phase.
func throughput(t *testing.T, run *v1alpha1.BenchmarkRun, phase, target string) float64 {
	t.Helper()
	for _, p := range run.Status.Phases {
		for _, one := range p.Targets {
			if p.Name == phase && one.Target == target && len(one.Operations) > 0 && one.Operations[0].BytesPerSecond != nil {
				return float64(*one.Operations[0].BytesPerSecond)
			}
		}
	}
	t.Fatalf("there is no figure of phase %s on %s", phase, target)
	return 0
}

// TestReadOnlyClaim checks that a run on a ReadOnlyMany claim reads the data that another benchmark has laid out and
// kept on the same storage. Without that data, or without dataPolicy Retain, the run fails and writes nothing.
func TestReadOnlyClaim(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	requireNode(t)
	s := newSpace(t)
	folder := s.memory("size=200m,mode=777")
	s.staticClaim("data", folder)
	s.staticClaim("readers", folder, corev1.ReadOnlyMany)
	reader := func(name string, retain bool) *v1alpha1.StorageBenchmark {
		b := builders.Benchmark(name).Target("data").Mutate(volumes(0, "readers")).Workload(builders.Fio().Dataset("16Mi").Reads())
		if retain {
			b = b.Retain()
		}
		return b.Prepare("layout").Steady("read", "2s").Obj()
	}
	s.apply(reader("deletes", false))
	s.refusedFor(s.endedOf("deletes", wholeRun), v1alpha1.ReasonClaimUnfit, "claim readers is ReadOnlyMany", "phase layout writes to it", "dataPolicy: Retain")
	s.apply(reader("early", true))
	early := s.endedOf("early", 2*time.Minute)
	if failed := meta.FindStatusCondition(early.Status.Conditions, v1alpha1.ConditionFailed); failed == nil || failed.Status != "True" ||
		!strings.Contains(failed.Message, "has no data for client") {
		t.Errorf("before anything was laid out: %s", conditionLines(early.Status.Conditions))
	}
	s.apply(builders.Benchmark("writer").Target("data").Workload(builders.Fio().Dataset("16Mi").Reads()).Retain().Prepare("layout").Obj())
	s.complete(s.endedOf("writer", 2*time.Minute))
	before := runFiles(s, folder)
	s.apply(reader("late", true))
	late := s.endedOf("late", 2*time.Minute)
	s.complete(late)
	if layout := late.Status.Phases[0].Targets[0]; !hasWarning(layout, v1alpha1.WarningLayoutReused) {
		t.Errorf("layout %+v", layout)
	}
	if throughput(t, late, "read", "data") == 0 {
		t.Error("nothing was read")
	}
	if after := runFiles(s, folder); len(before) == 0 || !slices.Equal(before, after) {
		t.Errorf("what was laid out: %q, then %q", before, after)
	}
}
