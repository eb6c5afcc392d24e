package local

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/series"
)

// TestDataOfAnEndedRun checks that a run that has ended has no data for the guard to remove: its locks are released, so
// another run may use the directories. The data of the runner's next run counts again.
func TestDataOfAnEndedRun(t *testing.T) {
	first := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: "b-1", UID: "1"}}
	second := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: "b-2", UID: "2"}}
	var written bytes.Buffer
	journal := NewJournal(&written)
	check := func(when, run string, ended bool, data int) {
		t.Helper()
		sum, err := readJournal(bytes.NewReader(written.Bytes()))
		if err != nil || sum.Run.Name != run || sum.Ended != ended || len(sum.Data) != data {
			t.Errorf("%s: run %s, ended %t, data %v, %v", when, sum.Run.Name, sum.Ended, sum.Data, err)
		}
	}
	journal.Write(Entry{Run: first, Data: []Data{{Path: "/mnt/a", BenchmarkUID: "u"}}})
	journal.Write(Entry{Run: first})
	check("during the run", "b-1", false, 1)
	journal.Write(Entry{Run: first, Ended: true})
	check("after its end", "b-1", true, 0)
	journal.Write(Entry{Run: second, Data: []Data{{Path: "/mnt/a", BenchmarkUID: "u"}}})
	check("during the next run", "b-2", false, 1)
}

// TestEarlierRunsOfADeadRunner checks that the guard keeps the results of the runs that ended before the current one.
func TestEarlierRunsOfADeadRunner(t *testing.T) {
	var written bytes.Buffer
	journal := NewJournal(&written)
	for _, uid := range []types.UID{"1", "2", "3"} {
		run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		journal.Write(Entry{Run: run})
		journal.Write(Entry{Series: &series.Step{ID: "step of " + string(uid)}})
		if uid != "3" {
			journal.Write(Entry{Run: run, Ended: true})
		}
	}
	sum, err := readJournal(&written)
	if err != nil || sum.Run.UID != "3" || sum.Ended || len(sum.earlier) != 2 {
		t.Fatalf("run %s, ended %t, after %d others, %v", sum.Run.UID, sum.Ended, len(sum.earlier), err)
	}
	for i, earlier := range sum.earlier {
		if uid := []types.UID{"1", "2"}[i]; earlier.Run.UID != uid || earlier.Series.Step("step of "+string(uid)) == nil {
			t.Errorf("earlier run %d is %s, with the series %+v", i, earlier.Run.UID, earlier.Series)
		}
	}
}

// TestCleanSparesAnotherRun checks that the guard of a dead runner leaves a directory alone while another run holds its
// lock, and otherwise removes the data.
func TestCleanSparesAnotherRun(t *testing.T) {
	directory := t.TempDir()
	mount, err := dataset.ProveMount(directory, dataset.Expectation{})
	if err != nil {
		t.Fatal(err)
	}
	owner := dataset.Owner{BenchmarkUID: "uid", Benchmark: "b", Run: "b-2", RunUID: "2", Installation: installationName}
	lock, err := dataset.AcquireLock(mount, owner)
	if err != nil {
		t.Fatal(err)
	}
	created, err := dataset.Create(mount, dataset.Location{BenchmarkUID: "uid", DatasetHash: "hash"}, owner)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(created.Path(), "data")
	if err := os.WriteFile(file, []byte("of b-2"), 0o600); err != nil {
		t.Fatal(err)
	}
	dead := Entry{Run: &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: "b-1", UID: "1"}}, Data: []Data{{Path: directory, BenchmarkUID: "uid"}}}
	if err := clean(dead); err != nil {
		t.Errorf("while another run holds the lock: %v", err)
	}
	if _, err := os.Lstat(file); err != nil {
		t.Errorf("the data of the other run: %v", err)
	}
	if _, err := dataset.AcquireLock(mount, owner); err == nil {
		t.Error("the lock of the other run is gone")
	}
	if err := created.Close(); err != nil {
		t.Fatal(err)
	}
	if err := lock.File().Close(); err != nil { // as if the other run were killed
		t.Fatal(err)
	}
	if err := clean(dead); err != nil {
		t.Errorf("without another run: %v", err)
	}
	if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

// TestCleanOfAnotherDirectory checks that the guard reports an error if another directory has replaced the run's own,
// for example after an unmount. It must not count as cleaned.
func TestCleanOfAnotherDirectory(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	mount, err := dataset.ProveMount(directory, dataset.Expectation{})
	if err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: "b-1", UID: "1"}}
	lock, err := acquireLock(mount, "uid", run)
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{targets: map[string]*target{"data": {uid: "uid", volumes: []*volume{{mount: mount, lock: lock}}}}}
	dead := Entry{Run: run, Data: r.data()}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(directory, directory+".old"), os.Mkdir(directory, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := clean(dead); !errors.Is(err, dataset.ErrChanged) {
		t.Errorf("got %v, want %v", err, dataset.ErrChanged)
	}
}
