package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/soak"
)

// TestStartSkew compares the start skew of a run's clients, by the first I/O of their tools, with that of as many bare
// fio processes released by one pipe. The difference is due to the agents' timers and the operator's clock estimates.
func TestStartSkew(t *testing.T) {
	soak.Only(t)
	requireNode(t)
	for _, clients := range []int{8, 64} {
		t.Run(strconv.Itoa(clients), func(t *testing.T) { startSkew(t, clients) })
	}
}

func startSkew(t *testing.T, clients int) {
	t.Helper()
	s := newSpace(t)
	s.claim("data", "2Gi")
	const steps = 12
	// The rate is limited, so that 64 fio processes do not take all CPU time from those that are still starting.
	fio := builders.Fio().Dataset("4Mi").Mutate(func(profile *v1alpha1.FioProfile) {
		profile.RateLimit = &v1alpha1.FioRateLimit{IOPS: new(int64(20))}
	})
	benchmark := builders.Benchmark("b").Target("data").Clients(int32(clients)).Workload(fio)
	benchmark.Mutate(func(run *v1alpha1.RunSpec) {
		// The default requests of 64 clients exceed the CPUs of a small node.
		run.Clients.Template = &v1alpha1.PodTemplate{Resources: &v1alpha1.ClientResources{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")}}}
	})
	for step := range steps {
		benchmark.Cooldown(fmt.Sprintf("idle-%d", step), "30s").Steady(fmt.Sprintf("write-%d", step), "5s")
	}
	folders := bareFolders(s, clients)
	job := jobOf(t, benchmark, 1)
	var ours, bare []time.Duration
	s.apply(benchmark.Obj())
	// Bare fio starts during the cooldowns, so that both start beside the same idle pods, which take CPU time too.
	for step := range steps {
		cooldown := fmt.Sprintf("%02d-idle-%d", 2*step, step)
		s.busy(cooldown)
		bare = append(bare, bareTogether(t, folders, job, result.SampleInterval).Round(100*time.Microsecond))
		if beginOf(s.run(), cooldown).IsZero() {
			soak.Inconclusive(t, "bare fio was still running when the next step started")
		}
	}
	run := s.ended(5 * time.Minute)
	warned := 0
	for _, phase := range run.Status.Phases {
		if !strings.HasPrefix(phase.Name, "write") {
			continue
		}
		figures := phase.Targets[0]
		if figures.StartSkewNanoseconds == nil || int(figures.Clients) != clients {
			t.Fatalf("phase %s has no start skew of %d clients: %+v", phase.Name, clients, figures)
		}
		ours = append(ours, time.Duration(*figures.StartSkewNanoseconds).Round(100*time.Microsecond))
		if hasWarning(figures, v1alpha1.WarningStartSkew) {
			warned++
		}
	}
	if len(ours) != steps {
		s.Fatalf("the run has %d phases", len(ours))
	}
	wanted := median(bare) * 3 / 2
	soak.Compare(t, fmt.Sprintf("start skew of %d clients", clients), soak.Row{
		Ours:   fmt.Sprintf("%s, median of %d; StartSkew was warned of %d times", median(ours), steps, warned),
		Versus: fmt.Sprintf("%d bare fio released by one pipe", clients), Control: fmt.Sprintf("%s, from %s to %s", median(bare), slices.Min(bare), slices.Max(bare)),
		Bound: "at most 1.5 times the median", Met: median(ours) <= wanted,
	})
	switch got := median(ours); {
	case got <= wanted:
	case got <= slices.Max(bare):
		soak.Inconclusive(t, "the median start skew is %s, over %s, and bare fio began up to %s apart", got, wanted, slices.Max(bare))
	default:
		t.Errorf("the median start skew is %s, over %s, and bare fio began at most %s apart", got, wanted, slices.Max(bare))
	}
}

// bareFolders returns new directories on the claims' file system. They are removed at the end of the test.
func bareFolders(s *space, count int) []string {
	s.Helper()
	root, err := os.MkdirTemp(s.State.Folder(), "bare-")
	must(s.T, err)
	s.Cleanup(func() { _ = os.RemoveAll(root) })
	var folders []string
	for i := range count {
		folder := filepath.Join(root, strconv.Itoa(i))
		must(s.T, os.Mkdir(folder, 0o755))
		folders = append(folders, folder)
	}
	return folders
}

// pipe returns the writing end of a new pipe first.
func pipe() (release, gate *os.File, err error) {
	gate, release, err = os.Pipe()
	return release, gate, err
}

func argumentsLine(arguments []string) string { return strings.Join(arguments, " ") }
