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

// Options describes what to run and where.
type Options struct {
	// Benchmark has its defaults filled in. Run is the benchmark's spec.run with all references resolved.
	Benchmark *v1alpha1.StorageBenchmark
	Run       *v1alpha1.RunSpec
	Plan      plan.Plan
	// Directories maps a target's name to its directories, one per volume, in the order of the volumes.
	Directories map[string][]string
	// AgentCommand is the command line that starts an agent.
	AgentCommand []string
	// FioPath is the fio program to run. If it is empty, fio is looked up in PATH.
	FioPath string
	// Seed is the seed of all random choices of the run; it must be the plan's seed.
	Seed int64
	// Series collects the series of the steps. It may be nil.
	Series *series.Log
	// Observer evaluates the run's observations. It is nil if there are none, or if no Prometheus is configured.
	Observer drive.Observer
	// Journal reports to the guard. It is nil if the run has no guard.
	Journal *Journal
	// Observe is called after each change of the run's state, and every second during the run.
	Observe func(Progress)
}

// Progress is the current state of a run.
type Progress = drive.Progress

// newRun creates the run's record.
func newRun(options Options) (*v1alpha1.BenchmarkRun, error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("create the run's UID: %w", err)
	}
	run := record.New(record.Identity{
		Name:      options.Benchmark.Name + "-" + hex.EncodeToString(random[:3]),
		Namespace: options.Benchmark.Namespace,
		UID:       types.UID(uuid(random[:])),
		Benchmark: v1alpha1.BenchmarkReference{Name: options.Benchmark.Name, UID: string(options.Benchmark.UID)},
		Hash:      plan.RunHash(&options.Benchmark.Spec.Run),
		Seed:      options.Seed,

		Objectives: options.Benchmark.Spec.Objectives,
		Headline:   options.Benchmark.Spec.Headline,
	}, options.Run, options.Plan)
	// Mark all claims as shared, because the clients of a local target share its directories. Figures are then compared
	// with the limits of shared volumes.
	for _, target := range run.Spec.Run.Targets {
		for _, volume := range target.Volumes {
			if volume.ClaimTemplate != nil {
				volume.ClaimTemplate.Scope = v1alpha1.ClaimShared
			}
		}
	}
	return run, nil
}

// benchmarkUID returns the name of the benchmark's own directory on a target. Without an API server there is no UID, so
// the name is derived from the benchmark's namespace and name, the target and the directories. A later run can
// therefore find the data that an earlier run kept or left behind.
func benchmarkUID(benchmark *v1alpha1.StorageBenchmark, target string, directories []string) (string, error) {
	name := "local\x00" + benchmark.Namespace + "\x00" + benchmark.Name + "\x00" + target
	for _, directory := range directories {
		absolute, err := filepath.Abs(directory)
		if err != nil {
			return "", fmt.Errorf("resolve the path %s: %w", directory, err)
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
