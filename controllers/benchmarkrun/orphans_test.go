package benchmarkrun

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/test/builders"
)

// left creates a client directory with an ownership file, as a lost client would leave behind.
func (w *world) left(uid, hash, installation string) {
	w.Helper()
	mount, err := dataset.ProveMount(w.directory, dataset.Expectation{})
	must(w.T, err)
	directory, err := dataset.Create(mount, dataset.Location{BenchmarkUID: uid, DatasetHash: hash},
		dataset.Owner{BenchmarkUID: uid, Benchmark: "b", Run: "b-1", Installation: installation})
	must(w.T, err)
	must(w.T, directory.Close())
}

// TestDataOfBenchmarksThatAreGone checks that a run removes the data of deleted benchmarks and of its own benchmark's
// earlier runs, and reports this in a warning. It keeps the data of existing benchmarks, and of another installation
// that uses the same share.
func TestDataOfBenchmarksThatAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alive := builders.Benchmark("alive").Target("data").Steady("write", "1s").Obj()
	alive.Namespace = w.namespace
	must(t, api.Create(t.Context(), alive))
	const gone, foreign, own = "6b0f7f0c-0000-4000-8000-0000000000aa", "6b0f7f0c-0000-4000-8000-0000000000bb", "6b0f7f0c-0000-4000-8000-000000000001"
	w.left(gone, "old", testInstallation)
	w.left(foreign, "old", "another")
	w.left(string(alive.UID), "old", testInstallation)
	w.left(own, "old", testInstallation)
	run := w.start(brief())
	w.until(run, "over", over(run))
	found, err := filepath.Glob(filepath.Join(w.directory, ".storagebench", "*"))
	must(t, err)
	slices.Sort(found)
	want := []string{filepath.Join(w.directory, ".storagebench", foreign), filepath.Join(w.directory, ".storagebench", string(alive.UID))}
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("left: %q, want %q", found, want)
	}
	at := slices.IndexFunc(run.Status.Warnings, func(one v1alpha1.Warning) bool { return one.Type == v1alpha1.WarningDataLeftBehind })
	if at < 0 || !strings.Contains(run.Status.Warnings[at].Message, "2 client directories") {
		t.Errorf("warnings %+v", run.Status.Warnings)
	}
}

// TestDataOfRunsThatAreKept checks that a deleted benchmark's data is kept while one of its runs still exists. Such a
// run has no owner, but names the benchmark's UID.
func TestDataOfRunsThatAreKept(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	const kept, gone = "6b0f7f0c-0000-4000-8000-0000000000cc", "6b0f7f0c-0000-4000-8000-0000000000dd"
	old := w.startAs("kept", brief(), func(run *v1alpha1.BenchmarkRun) { run.Spec.BenchmarkRef.UID = kept })
	w.finishes(old)
	w.left(kept, "old", testInstallation)
	w.left(gone, "old", testInstallation)
	w.runPods()
	w.operate()
	t.Cleanup(func() { w.stop() })
	run := w.start(brief())
	w.until(run, "over", over(run))
	found, err := filepath.Glob(filepath.Join(w.directory, ".storagebench", "*"))
	must(t, err)
	if want := []string{filepath.Join(w.directory, ".storagebench", kept)}; !slices.Equal(found, want) {
		t.Errorf("left: %q, want %q", found, want)
	}
}
