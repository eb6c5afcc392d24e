package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/cluster/burst"
	"github.com/storagebench/storagebench/test/standinior"
)

// Helpers of the tests of IOR and mdtest: an image with Open MPI, benchmarks, and the inspection of processes in pods.

// mpiOffPercent limits the error of a bandwidth of MPI ranks, in percent of the store's own record.
const mpiOffPercent = 3

var loadedMPIImage = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var output bytes.Buffer
	built, err := standinior.Image(ctx, made.version, &output)
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, &output)
	}
	if _, err := built.Write(made.archive(built.Name)); err != nil {
		return "", err
	}
	_, err = made.State.LoadImage(ctx, io.Discard, made.archive(built.Name))
	return built.Reference(), err
})

// newMPISpace returns a space whose benchmarks can run IOR, and the clients' image.
func newMPISpace(t *testing.T) (*space, string) {
	t.Helper()
	requireNode(t)
	image, err := loadedMPIImage()
	must(t, err)
	t.Logf("the clients' image is %s; real IOR: %t", image, standinior.Real())
	return newSpace(t), image
}

// mpiBenchmark returns a benchmark of four clients with two ranks each.
func mpiBenchmark(image string, profile *builders.IORBuilder, targets ...string) *builders.BenchmarkBuilder {
	benchmark := builders.Benchmark("bench").Clients(4).Processes(2).Load(profile.Engine())
	for _, target := range targets {
		benchmark.Target(target)
	}
	return benchmark.Mutate(func(run *v1alpha1.RunSpec) { run.Clients.Image = image })
}

func directIOR(block string) *builders.IORBuilder {
	return builders.IOR().Block(block).Mutate(func(p *v1alpha1.IORProfile) {
		p.TransferSize.Set(256 << 10)
		p.Direct = new(true)
	})
}

// targetOf returns the result of a target in a phase.
func targetOf(s *space, run *v1alpha1.BenchmarkRun, phase, target string) v1alpha1.TargetResult {
	s.Helper()
	for _, result := range run.Status.Phases {
		for _, one := range result.Targets {
			if result.Name == phase && one.Target == target {
				return one
			}
		}
	}
	s.Fatalf("phase %s has no result of target %s", phase, target)
	panic("not reached")
}

// loadOf returns when a store got its first request of a step, after a pause, and when the run saw the last I/O of the
// step.
func loadOf(s *space, record truth.Record, run *v1alpha1.BenchmarkRun, id string) (from, to time.Time) {
	s.Helper()
	step := stepOf(run, id)
	if step == nil || step.FirstIOTime == nil || step.LastIOTime == nil {
		s.Fatalf("nothing is known of the I/O of step %s", id)
	}
	// Search only up to the middle of the load: the pause after it may be longer.
	within := min(5*time.Second, step.LastIOTime.Sub(step.FirstIOTime.Time)/2)
	pause, ok := record.LongestPause(step.StartTime.Add(-time.Second/2), step.FirstIOTime.Add(within))
	if !ok {
		s.Fatalf("step %s, which began at %s, was not after a pause by the store's record", id, step.StartTime)
	}
	return pause.To, step.LastIOTime.Time
}

// near checks that a figure is within percent of the store's record.
func (s *space) near(what string, ours, theirs, percent float64) {
	s.Helper()
	off := 100 * (ours/theirs - 1)
	s.Logf("%s: %.2f MB by the run, %.2f MB by the store's record, %+.2f %%", what, ours/1e6, theirs/1e6, off)
	if !(math.Abs(off) <= percent) {
		s.Errorf("%s: the run says %.0f, the store's record %.0f: %+.2f %%, over %g %%", what, ours, theirs, off, percent)
	}
}

// allBytes compares all I/O of a run on a target with the record of its store.
func (s *space) allBytes(store *burst.Mounted, run *v1alpha1.BenchmarkRun, target string) {
	s.Helper()
	record := store.Truth()
	ours := int64(0)
	for _, step := range run.Status.Steps {
		for _, io := range step.IO {
			if io.Target == target {
				ours += io.Bytes
			}
		}
	}
	sums := record.Between(record.Start, record.At(time.Duration(len(record.Seconds))*time.Second))
	s.near("all that was read and written on "+target, float64(ours), sums.ReadBytes+sums.WriteBytes, mpiOffPercent)
}

// mpiPrograms are the programs that a job may run.
var mpiPrograms = []string{"mpirun", "orterun", "orted", "prterun", "prted", "ior", "mdtest"}

// podProcess is a process in a pod, as this machine sees it.
type podProcess struct {
	pid     string
	program string
	pod     string
	// state is as in /proc: "R", "S", "D" while it waits for storage, "Z" after its end until its parent waits for it.
	state string
	// parent is the program that started it, or that has adopted it.
	parent string
}

// processesOf returns the processes of MPI jobs in pods.
func processesOf(t *testing.T, pods []corev1.Pod) []podProcess {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	var found []podProcess
	for _, folder := range folders {
		program, err := os.ReadFile(filepath.Join(folder, "comm"))
		if err != nil {
			continue // the process has ended
		}
		name := strings.TrimSpace(string(program))
		if !slices.Contains(mpiPrograms, name) {
			continue
		}
		for _, pod := range pods {
			if isOfPod(folder, string(pod.UID)) {
				state, parent := stateOf(folder)
				found = append(found, podProcess{pid: filepath.Base(folder), program: name, pod: pod.Name, state: state, parent: parent})
			}
		}
	}
	return found
}

// stateOf returns the state of a process and the name of its parent. Both are empty if the process has ended.
func stateOf(folder string) (state, parent string) {
	text, _ := os.ReadFile(filepath.Join(folder, "stat"))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return "", ""
	}
	name, _ := os.ReadFile(filepath.Join("/proc", fields[1], "comm"))
	return fields[0], strings.TrimSpace(string(name))
}

// noRanks checks that no process of an MPI job runs in pods, and waits until the agents have reaped the dead ones. An
// agent looks for orphans every two seconds and reaps those that were already dead the time before; on a busy machine,
// it takes longer.
func (s *space) noRanks(what string, pods []corev1.Pod) {
	s.Helper()
	left := processesOf(s.T, pods)
	isDead := func(p podProcess) bool { return p.state == "Z" || p.state == "X" || p.state == "" }
	if alive := slices.DeleteFunc(slices.Clone(left), isDead); len(alive) > 0 {
		s.Errorf("%s, and these are left: %+v", what, left)
	}
	s.until(what+", and the agents have waited for the ranks that ended", hang, func() bool {
		// Only those found before: the next job may have started.
		now := processesOf(s.T, pods)
		left = slices.DeleteFunc(left, func(one podProcess) bool {
			return !slices.ContainsFunc(now, func(other podProcess) bool { return other.pid == one.pid })
		})
		return len(left) == 0
	})
}
