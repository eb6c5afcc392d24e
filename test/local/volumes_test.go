package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/report"
)

// reading writes the usual benchmark with reads only and with data that is kept.
func reading(t *testing.T, more ...string) string {
	t.Helper()
	return Write(t, append([]string{"readPercent: 50", "readPercent: 100", "dataPolicy: Delete", "dataPolicy: Retain"}, more...)...)
}

// TestReadOnlyMount checks that a run on a directory that is mounted read-only reads the data that an earlier run has
// laid out there through another mount. Any other run there is refused.
func TestReadOnlyMount(t *testing.T) {
	t.Parallel()
	directory := tmpfs(t, "size=200m", 0)
	copied := t.TempDir()
	if err := syscall.Mount(directory, copied, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(copied, syscall.MNT_DETACH) })
	if err := syscall.Mount("", copied, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	early := Call(t, "run", "--local", "-f", reading(t), "--target", "data="+copied)
	if early.Code != report.ExitFailed || !strings.Contains(early.Stdout+early.Stderr, "dataPolicy: Retain") {
		t.Errorf("before anything is laid out: exit code %d, %s%s", early.Code, early.Stdout, early.Stderr)
	}
	writing := Call(t, "run", "--local", "-f", Write(t), "--target", "data="+copied)
	if writing.Code != report.ExitFailed || !strings.Contains(writing.Stderr, "phase layout writes to it") {
		t.Errorf("a run that writes: exit code %d, %s", writing.Code, writing.Stderr)
	}
	if got := Call(t, "run", "--local", "-f", reading(t), "--target", "data="+directory); got.Code == report.ExitFailed {
		t.Fatalf("laying out: exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	got := Call(t, "run", "--local", "-f", reading(t), "--target", "data="+copied, "-o", "json")
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	phases := got.Document(t).Phases
	reused := slices.ContainsFunc(phases[0].Targets[0].Warnings, func(w v1alpha1.Warning) bool { return w.Type == v1alpha1.WarningLayoutReused })
	if !reused || len(phases) != 2 || phases[1].Targets[0].Operations[0].Bytes == 0 {
		t.Errorf("phases %+v", phases)
	}
}

// TestSeveralDirectories checks that a target of several volumes has a directory for each, over which its files are
// spread, and that all directories are cleaned.
func TestSeveralDirectories(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	several := []string{"volumes: [{name: data, claimName: data}]", "volumes: [{name: a, claimName: a}, {name: b, claimName: b}]"}
	for flag, want := range map[string]string{
		"data=" + one:             "has 2 volumes, but --target data=" + one + " specifies 1 directories",
		"data=" + one + "," + one: "are the same directory",
		"data=" + one + ",":       "a directory name is empty",
		"data=/dev/null," + two:   "is a device",
	} {
		got := Call(t, "run", "--local", "-f", Write(t, several...), "--target", flag)
		if got.Code != report.ExitFailed || !strings.Contains(got.Stderr, want) {
			t.Errorf("--target %s: exit code %d, said %q, want %q", flag, got.Code, got.Stderr, want)
		}
		Empty(t, one)
	}
	kept := Write(t, append(several, "dataPolicy: Delete", "dataPolicy: Retain")...)
	if got := Call(t, "run", "--local", "-f", kept, "--target", "data="+one+","+two); got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	for _, directory := range []string{one, two} {
		var bytes int64
		files, _ := filepath.Glob(filepath.Join(directory, v1alpha1.DataDirectory, "*", "*", "client-*", "*"))
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				bytes += info.Size()
			}
		}
		if bytes != 8<<20 { // half of the data of two clients
			t.Errorf("%s holds %d bytes in %q", directory, bytes, files)
		}
	}
	if got := Call(t, "run", "--local", "-f", Write(t, several...), "--target", "data="+one+","+two); got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	Empty(t, one)
	Empty(t, two)
}

// TestLeftByAKilledRun checks that a run removes the data of an earlier run that was killed with all its processes, but
// not the data of a live run, data that was kept on purpose, or data of an operator in a cluster.
func TestLeftByAKilledRun(t *testing.T) {
	t.Parallel()
	directory := tmpfs(t, "size=200m", 0)
	mount, err := dataset.ProveMount(directory, dataset.Expectation{})
	if err != nil {
		t.Fatal(err)
	}
	leave := func(uid string, lives bool, change func(*dataset.Owner)) {
		t.Helper()
		owner := dataset.Owner{BenchmarkUID: uid, Benchmark: "b", Run: "b-1", Installation: "local"}
		change(&owner)
		lock, err := dataset.AcquireLock(mount, owner)
		if err != nil {
			t.Fatal(err)
		}
		data, err := dataset.Create(mount, dataset.Location{BenchmarkUID: uid, DatasetHash: "aaaa"}, owner)
		if err != nil {
			t.Fatal(err)
		}
		_ = data.Close()
		if lives {
			t.Cleanup(func() { _ = lock.Release() })
		} else {
			_ = lock.File().Close() // as if its process had been killed
		}
	}
	leave("killed", false, func(*dataset.Owner) {})
	leave("living", true, func(*dataset.Owner) {})
	leave("kept", false, func(o *dataset.Owner) { o.Keep = true })
	leave("cluster", false, func(o *dataset.Owner) { o.Installation = "6b0f7f0c-0000-4000-8000-000000000001" })
	got := Call(t, "run", "--local", "-f", Write(t), "--target", "data="+directory, "-o", "json")
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	var left []string
	entries, err := os.ReadDir(filepath.Join(directory, v1alpha1.DataDirectory))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if want := []string{"cluster", "kept", "living"}; !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
	if !slices.ContainsFunc(got.Document(t).Warnings, func(w v1alpha1.Warning) bool { return w.Type == v1alpha1.WarningDataLeftBehind }) {
		t.Errorf("warnings %+v", got.Document(t).Warnings)
	}
}
