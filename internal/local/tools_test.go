package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestMissingToolsAreFound checks that the error names the first missing program and how to get it.
func TestMissingToolsAreFound(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	benchmark := builders.Benchmark("b").Target("a").Load(builders.IOR().Engine()).Steady("write", "1m").Steady("meta", "1m").WithLoad(builders.Mdtest())
	planned, problems := plan.Make(benchmark.Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	for _, name := range []string{"ior", "mdtest", "mpirun"} {
		err := checkTools(planned, benchmark.Run())
		if err == nil || !strings.Contains(err.Error(), "target a: the workload needs "+name+",") || !strings.Contains(err.Error(), "it is part of") {
			t.Errorf("without %s: %v", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkTools(planned, benchmark.Run()); err != nil {
		t.Errorf("with all of them: %v", err)
	}
	onlyFio := builders.Benchmark("b").Target("a").Steady("write", "1m")
	planned, _ = plan.Make(onlyFio.Run(), 1)
	t.Setenv("PATH", "")
	if err := checkTools(planned, onlyFio.Run()); err != nil {
		t.Errorf("fio alone: %v", err)
	}
}
