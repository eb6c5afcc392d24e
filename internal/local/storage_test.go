package local

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

// TestMachineOfALocalRun checks that a local run with a preset reports the limits of its machine as unknown. It must
// not report that it waits for nodes.
func TestMachineOfALocalRun(t *testing.T) {
	benchmark := builders.Benchmark("b").Target("a").Steady("read", "1m").Mutate(func(run *v1alpha1.RunSpec) {
		run.Targets[0].Documented = &v1alpha1.Limits{Preset: "aws-fsx-windows/hdd-32"}
	})
	r := &runner{options: Options{Run: benchmark.Run()}, run: &v1alpha1.BenchmarkRun{}}
	r.run.Spec.Run = *benchmark.Run()
	if err := r.noteStorage(); err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, one := range r.run.Status.Storage[0].Missing {
		missing = append(missing, one.Message)
	}
	if got := strings.Join(missing, "; "); !strings.Contains(got, "machines are unknown") || strings.Contains(got, "no nodes yet") {
		t.Errorf("missing: %s", got)
	}
}
