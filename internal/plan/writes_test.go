package plan_test

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestFirstWrite checks that each engine reports whether it writes. A load that touches no file never writes.
func TestFirstWrite(t *testing.T) {
	mixes := v1alpha1.SweepAxes{ReadPercent: []int32{0, 50}}
	one := func() *builders.BenchmarkBuilder { return builders.Benchmark("b").Target("a") }
	program := v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: []string{"zip"}}}
	for name, test := range map[string]struct {
		benchmark     *builders.BenchmarkBuilder
		write, change string
	}{
		"layout, then reads": {one().Prepare("layout").Steady("read", "1m").With(builders.Fio().Reads()), "layout", ""},
		"writes":             {one().Prepare("layout").Steady("write", "1m"), "layout", "write"},
		"mix of a cell":      {one().Sweep("sweep", v1alpha1.RegimeAny, "1m", v1alpha1.SweepAxes{ReadPercent: []int32{0}}), "sweep", "sweep"},
		"no files":           {one().Workload(builders.Fio().Null()).Sweep("sweep", v1alpha1.RegimeAny, "1m", mixes), "", ""},
		"ior":                {one().Load(builders.IOR().Engine()).Prepare("layout").Steady("read", "1m").WithLoad(builders.IOR().Reads().Engine()), "layout", "layout"},
		"mdtest":             {one().Load(builders.Mdtest()).Steady("names", "1m"), "names", "names"},
		"a program":          {one().Load(program).Steady("zip", "1m"), "", ""},
	} {
		run := test.benchmark.Run()
		run.Targets[0].DataPolicy = v1alpha1.DataRetain
		made, problems := plan.Make(run, 1)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems.ToAggregate())
		}
		if write, change := made.FirstWrite("a"), made.FirstChange(&run.Targets[0]); write != test.write || change != test.change {
			t.Errorf("%s: first write %q, change %q; want %q, %q", name, write, change, test.write, test.change)
		}
	}
}
