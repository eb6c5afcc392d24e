package plan_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// manyFiles returns a workload of a thousand files of 6 KiB.
func manyFiles() v1alpha1.Engine {
	return v1alpha1.Engine{Fio: &v1alpha1.FioProfile{Pattern: v1alpha1.FioSequential, ReadPercent: new(int32(0)), BlockSize: new(resource.MustParse("2Ki")),
		DatasetSize: resource.MustParse("6000Ki"), Jobs: new(int32(4)), FilesPerJob: new(int32(250))}}
}

func smallFilesRun(operations ...v1alpha1.Operation) *builders.BenchmarkBuilder {
	phase := v1alpha1.Phase{Name: "files", SmallFiles: &v1alpha1.SmallFilesPhase{Operations: operations}}
	return builders.Benchmark("b").Target("a").Clients(2).Load(manyFiles()).Phase(phase)
}

func TestSmallFilesSteps(t *testing.T) {
	t.Parallel()
	made, problems := plan.Make(smallFilesRun().Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	want := []struct {
		id    string
		bytes uint64
	}{{"00-000-files-create", 0}, {"00-001-files-stat", 0}, {"00-002-files-write", 1000 * 8 << 10}, {"00-003-files-read", 0}, {"00-004-files-delete", 0}}
	if len(made.Steps) != len(want) {
		t.Fatalf("%d steps", len(made.Steps))
	}
	for i, step := range made.Steps {
		if step.ID != want[i].id || step.NewBytes["a"] != want[i].bytes || !step.WorkBound() || step.Purpose != plan.Measure || step.Limit != 48*time.Hour {
			t.Errorf("step %s, %d bytes, %s at most, want %+v", step.ID, step.NewBytes["a"], step.Limit, want[i])
		}
		if step.NonRepeatable() != (i == 4) {
			t.Errorf("step %s: cannot be repeated is %t", step.ID, step.NonRepeatable())
		}
	}
	if label := made.Steps[1].Label(); label != "files (stat)" {
		t.Errorf("label %q", label)
	}
}

func TestSmallFilesRefusals(t *testing.T) {
	t.Parallel()
	const (
		create, stat, write, read, remove = v1alpha1.OperationCreate, v1alpha1.OperationStat, v1alpha1.OperationWrite, v1alpha1.OperationRead, v1alpha1.OperationDelete
	)
	for name, test := range map[string]struct {
		run  *builders.BenchmarkBuilder
		want string // "" if nothing is refused
	}{
		"both kinds of files": {smallFilesRun(create, remove, write, read), ""},
		"what is left":        {smallFilesRun(write, stat), ""},
		"written, then anew":  {smallFilesRun(write, read, create, stat), ""},
		"nothing there":       {smallFilesRun(stat), "needs existing files"},
		"gone":                {smallFilesRun(create, remove, stat), "needs existing files"},
		"empty files":         {smallFilesRun(create, read), "needs files with data"},
		"written, then empty": {smallFilesRun(write, create, read), "needs files with data"},
		"twice":               {smallFilesRun(create, stat, stat), "Duplicate value"},
		"another operation":   {smallFilesRun(create, v1alpha1.OperationSync), "Unsupported value"},
		"a program":           {smallFilesRun(create).Load(unzipped()), "does not support operations on individual files"},
		"a deep queue":        {smallFilesRun(create).Workload(builders.Fio()), "one file at a time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := plan.Make(test.run.Run(), 1)
			text := ""
			if len(problems) > 0 {
				text = problems.ToAggregate().Error()
			}
			if test.want == "" && text != "" || !strings.Contains(text, test.want) {
				t.Errorf("%q, want %q", text, test.want)
			}
		})
	}
}
