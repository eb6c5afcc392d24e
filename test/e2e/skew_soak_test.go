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

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/soak"
)

// sharing is the number of clients that begin together on the node.
const sharing = 8

// How far apart eight clients begin, by their tools' own first I/O, beside eight bare fio that one pipe releases.
// The two differ by what the agents' timers and the operator's estimates of their clocks add.
func TestStartSkew(t *testing.T) {
	soak.Only(t)
	requireNode(t)
	s := newSpace(t)
	s.claim("data", "2Gi")
	const steps = 12
	benchmark := builders.Benchmark("b").Target("data").Clients(sharing).Workload(builders.Fio().Dataset("16Mi"))
	for step := range steps {
		benchmark.Steady(fmt.Sprintf("write-%d", step), "2s")
	}
	folders := bareFolders(s)
	job := jobOf(t, benchmark, 0)
	var ours, bare []time.Duration
	bareStart := func() {
		bare = append(bare, bareTogether(t, folders, job, result.SampleInterval).Round(100*time.Microsecond))
	}
	// Before the run and after it: what the machine's others do drifts.
	for range steps / 2 {
		bareStart()
	}
	s.apply(benchmark.Obj())
	run := s.ended(4 * time.Minute)
	for len(bare) < steps {
		bareStart()
	}
	warned := 0
	for _, phase := range run.Status.Phases {
		figures := phase.Targets[0]
		if figures.StartSkewNanoseconds == nil || figures.Clients != sharing {
			t.Fatalf("phase %s has no start skew of %d clients: %+v", phase.Name, sharing, figures)
		}
		ours = append(ours, time.Duration(*figures.StartSkewNanoseconds).Round(100*time.Microsecond))
		if hasWarning(figures, v1alpha1.WarningStartSkew) {
			warned++
		}
	}
	if len(ours) != steps {
		s.Fatalf("the run has %d phases", len(ours))
	}
	soak.Report(t, "Start skew", "from the first client's first I/O to the last one's, %d times\n"+
		"  %d clients of a benchmark                 median %s  of %v\n  %d bare fio that one pipe released        median %s  of %v\n  StartSkew was warned of %d times",
		steps, sharing, median(ours), ours, sharing, median(bare), bare, warned)
	const wanted = 100 * time.Millisecond
	switch got := median(ours); {
	case got <= wanted:
	case got <= 4*slices.Max(bare):
		soak.Inconclusive(t, "the median start skew is %s, over %s, and bare fio began up to %s apart", got, wanted, slices.Max(bare))
	default:
		t.Errorf("the median start skew is %s, over %s, and bare fio began at most %s apart", got, wanted, slices.Max(bare))
	}
}

// bareFolders are on the file system of the claims, and gone with the test.
func bareFolders(s *space) []string {
	s.Helper()
	root, err := os.MkdirTemp(s.State.Folder(), "bare-")
	must(s.T, err)
	s.Cleanup(func() { _ = os.RemoveAll(root) })
	var folders []string
	for i := range sharing {
		folder := filepath.Join(root, strconv.Itoa(i))
		must(s.T, os.Mkdir(folder, 0o755))
		folders = append(folders, folder)
	}
	return folders
}

// pipe has its end that releases first.
func pipe() (release, gate *os.File, err error) {
	gate, release, err = os.Pipe()
	return release, gate, err
}

func argumentsLine(arguments []string) string { return strings.Join(arguments, " ") }
