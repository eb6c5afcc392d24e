package dataset

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/storagebench/storagebench/test/hang"
)

func testHolder(instance string) Holder {
	return Holder{Instance: instance, Run: "quick-1", RunUID: "run-uid-1", Host: "pod-" + instance}
}

func mustTake(t *testing.T, mount Mount, instance string) (*Dataset, *Hold) {
	t.Helper()
	d, hold, err := Take(t.Context(), mount, client(0), testOwner(), testHolder(instance), func(Holder) {})
	must(t, err)
	t.Cleanup(func() { _ = d.Close(); hold.Release() })
	return d, hold
}

// TestTakeWaitsForTheHolder checks that an agent learns who holds the directory and waits until the holder and its
// tools have exited.
func TestTakeWaitsForTheHolder(t *testing.T) {
	mount := mustProve(t, t.TempDir())
	_, hold := mustTake(t, mount, "old")
	tool := exec.CommandContext(t.Context(), "sh", "-c", "echo ready; read line")
	tool.ExtraFiles = []*os.File{hold.File()}
	stdin, err := tool.StdinPipe()
	must(t, err)
	stdout, err := tool.StdoutPipe()
	must(t, err)
	must(t, tool.Start())
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	hold.Release() // as if the old agent were killed

	var told []Holder
	waiting, cancel := context.WithTimeout(t.Context(), hang.Guard)
	defer cancel()
	_, _, err = Take(waiting, mount, client(0), testOwner(), testHolder("new"), func(h Holder) {
		told = append(told, h)
		cancel()
	})
	if !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "pod-old") || !strings.Contains(err.Error(), "quick-1") {
		t.Errorf("beside a living tool: %v", err)
	}
	if len(told) != 1 || told[0].Instance != "old" {
		t.Errorf("reported holders: %v", told)
	}
	must(t, stdin.Close())
	_ = tool.Wait()
	d, taken := mustTake(t, mount, "new")
	must(t, d.Confirm(taken))
	if _, other, err := Take(t.Context(), mount, Location{BenchmarkUID: testUID, DatasetHash: testHash, Client: 1}, testOwner(),
		testHolder("other"), func(Holder) {}); err != nil {
		t.Errorf("another client's directory: %v", err)
	} else {
		other.Release()
	}
}

// TestTakeAfterTheRemoval checks that an agent that waits for a directory gets a new one if the holder removes the old
// one, and that this removal does not affect the new directory.
func TestTakeAfterTheRemoval(t *testing.T) {
	path := t.TempDir()
	mount := mustProve(t, path)
	old, _ := mustTake(t, mount, "old")
	mustWrite(t, filepath.Join(old.Path(), "data"), "old")
	waits := make(chan struct{})
	type taken struct {
		d    *Dataset
		hold *Hold
		err  error
	}
	done := make(chan taken, 1)
	go func() {
		d, hold, err := Take(t.Context(), mount, client(0), testOwner(), testHolder("new"), func(Holder) { close(waits) })
		if err == nil {
			err = os.WriteFile(filepath.Join(d.Path(), "data"), []byte("new"), 0o600)
		}
		done <- taken{d, hold, err}
	}()
	<-waits
	must(t, old.Remove(t.Context()))
	now := <-done
	must(t, now.err)
	must(t, now.d.Confirm(now.hold))
	if text, err := os.ReadFile(filepath.Join(now.d.Path(), "data")); err != nil || string(text) != "new" {
		t.Errorf("the new one's file: %q, %v", text, err)
	}
	must(t, now.d.Remove(t.Context()))
	if exists(filepath.Join(path, ".storagebench")) {
		t.Error("something is left")
	}
}

// TestConfirm checks that, without locks, the newest holder record counts: the previous holder detects that it has lost
// the directory.
func TestConfirm(t *testing.T) {
	mount := mustProve(t, t.TempDir())
	old, hold := mustTake(t, mount, "old")
	must(t, old.Confirm(hold))
	hold.locked = false // as on a file system without locks
	other := &Hold{holder: testHolder("new"), file: hold.file}
	must(t, other.write("the mark"))
	if err := old.Confirm(hold); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "pod-new") {
		t.Errorf("taken over: %v", err)
	}
	must(t, os.Remove(filepath.Join(filepath.Dir(old.Path()), "holder-0.json")))
	if err := old.Confirm(hold); !errors.Is(err, ErrMissing) {
		t.Errorf("without a mark: %v", err)
	}
}

// TestTakeInTurns checks that only one agent at a time holds a directory, while others use another directory, and that
// nothing is left at the end.
func TestTakeInTurns(t *testing.T) {
	path := t.TempDir()
	mount := mustProve(t, path)
	var all sync.WaitGroup
	var inside [2]sync.Mutex
	for worker := range 6 {
		all.Go(func() {
			index := worker % 2
			for range 15 {
				d, hold, err := Take(t.Context(), mount, Location{BenchmarkUID: testUID, DatasetHash: testHash, Client: index},
					testOwner(), testHolder("any"), func(Holder) {})
				if err != nil {
					t.Error(err)
					return
				}
				if !inside[index].TryLock() {
					t.Error("two hold one directory")
					return
				}
				err = errors.Join(d.Confirm(hold), os.WriteFile(filepath.Join(d.Path(), "data"), nil, 0o600))
				inside[index].Unlock()
				if err = errors.Join(err, d.Remove(t.Context()), d.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if exists(filepath.Join(path, ".storagebench")) {
		t.Error("something is left")
	}
}
