package benchmarkrun

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

// TestClaimThatIsRead checks that a run on a ReadOnlyMany claim mounts it read-only and uses the layout that an earlier
// run retained. Such a run is refused without dataPolicy Retain.
func TestClaimThatIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bound("readers", corev1.ReadOnlyMany)
	reading := func(claim string) *builders.BenchmarkBuilder {
		return builders.Benchmark("b").Target("data").Workload(builders.Fio().Reads()).Prepare("layout").Steady("read", "2s").
			Mutate(func(run *v1alpha1.RunSpec) { run.Targets[0].Volumes[0].ClaimName = claim })
	}
	next := func(name string, benchmark *builders.BenchmarkBuilder) *v1alpha1.BenchmarkRun {
		t.Helper()
		run := w.startAs(name, benchmark)
		w.until(run, "over", over(run))
		return run
	}
	reason := func(run *v1alpha1.BenchmarkRun) string {
		at := slices.IndexFunc(run.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionFailed })
		return run.Status.Conditions[at].Reason
	}
	if refused := next("refused", reading("readers")); reason(refused) != v1alpha1.ReasonClaimUnfit {
		t.Errorf("without Retain: %+v", refused.Status.Conditions)
	}
	if early := next("early", reading("readers").Retain()); reason(early) != v1alpha1.ReasonStepFailed || early.Status.EndTime == nil {
		t.Errorf("before there is anything: %+v", early.Status.Conditions)
	}
	if writer := next("writer", reading("data").Retain()); !is(writer, v1alpha1.ConditionComplete, metav1.ConditionTrue) {
		t.Fatalf("the writer: %+v", writer.Status.Conditions)
	}
	reader := next("reader", reading("readers").Retain())
	if !is(reader, v1alpha1.ConditionComplete, metav1.ConditionTrue) {
		t.Fatalf("the reader: %+v", reader.Status.Conditions)
	}
	layout, read := reader.Status.Phases[0].Targets[0], reader.Status.Phases[1].Targets[0]
	if !slices.ContainsFunc(layout.Warnings, func(one v1alpha1.Warning) bool { return one.Type == v1alpha1.WarningLayoutReused }) || len(read.Operations) != 1 {
		t.Errorf("layout %+v, read %+v", layout, read)
	}
}
