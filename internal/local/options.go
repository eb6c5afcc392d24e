package local

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/drive"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/series"
)

// Options say what to run and where.
type Options struct {
	// Benchmark with defaults filled in, and Run, its spec.run with all references resolved.
	Benchmark *v1alpha1.StorageBenchmark
	Run       *v1alpha1.RunSpec
	Plan      plan.Plan
	// Directories are what each target loads, by target name: one for each of its volumes, in their order.
	Directories map[string][]string
	// AgentCommand is the program and arguments of an agent.
	AgentCommand []string
	// FioPath is the fio to run; empty is that of PATH.
	FioPath string
	// Seed of everything random in the run; the plan was made with it.
	Seed int64
	// Series gets what the steps did over time; nil where nobody wants it.
	Series *series.Log
	// Journal tells the guard; nil where there is none.
	Journal *Journal
	// Observe is called after each change of the run's facts, and every second while it runs.
	Observe func(Progress)
}

// Progress is a run as it stands.
type Progress = drive.Progress

// Live is the running step.
type Live = drive.Live

// newRun makes the run's record.
func newRun(options Options) (*v1alpha1.BenchmarkRun, error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("make the run's UID: %w", err)
	}
	return record.New(record.Identity{
		Name:      options.Benchmark.Name + "-" + hex.EncodeToString(random[:3]),
		Namespace: options.Benchmark.Namespace,
		UID:       types.UID(uuid(random[:])),
		Benchmark: v1alpha1.BenchmarkReference{Name: options.Benchmark.Name, UID: string(options.Benchmark.UID)},
		Hash:      plan.RunHash(&options.Benchmark.Spec.Run),
		Seed:      options.Seed,

		Objectives: options.Benchmark.Spec.Objectives,
	}, options.Run, options.Plan), nil
}

// benchmarkUID names the benchmark's own directory on a target. There is no API server to give a
// UID, so it follows from what makes the benchmark the same one again: its name, the target and
// the directory. A later run finds the data that an earlier one kept or left.
func benchmarkUID(benchmark *v1alpha1.StorageBenchmark, target string, directories []string) (string, error) {
	name := "local\x00" + benchmark.Namespace + "\x00" + benchmark.Name + "\x00" + target
	for _, directory := range directories {
		absolute, err := filepath.Abs(directory)
		if err != nil {
			return "", fmt.Errorf("make the path %s absolute: %w", directory, err)
		}
		name += "\x00" + absolute
	}
	sum := sha256.Sum256([]byte(name))
	return uuid(sum[:16]), nil
}

func uuid(b []byte) string {
	text := hex.EncodeToString(b)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:32]
}
