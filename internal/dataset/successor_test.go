package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// dropLock releases a lock behind its holder's back, so that another agent can take the directory. This happens if
// locks are local to a machine, or if a file server loses the lock.
func dropLock(t *testing.T, hold *Hold, reachesServer bool) {
	t.Helper()
	hold.locked = reachesServer
	must(t, unix.Flock(int(hold.file.Fd()), unix.LOCK_UN))
}

// TestNothingOfASuccessorIsTouched checks that an agent that has lost its directory to another agent changes nothing in
// it.
func TestNothingOfASuccessorIsTouched(t *testing.T) {
	for name, reachesServer := range map[string]bool{"node-local locks": false, "a lock that was lost": true} {
		t.Run(name, func(t *testing.T) {
			mount := mustProve(t, t.TempDir())
			old, oldHold := mustTake(t, mount, "old")
			must(t, old.SetLaidOut(LaidOut{"data": {Bytes: 3}}))
			dropLock(t, oldHold, reachesServer)
			successor, hold := mustTake(t, mount, "new")
			mustWrite(t, filepath.Join(successor.Path(), "data"), "new")
			for change, err := range map[string]error{
				"confirm": old.ConfirmMark(oldHold), "record": old.SetLaidOut(nil), "keep": old.Keep(), "remove": old.Remove(t.Context()),
			} {
				if !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "pod-new") {
					t.Errorf("%s: %v", change, err)
				}
			}
			known, err := successor.LaidOut()
			if text, readErr := os.ReadFile(filepath.Join(successor.Path(), "data")); readErr != nil || string(text) != "new" || err != nil || len(known) != 1 {
				t.Errorf("the successor has %q, %v, %v, %v", text, readErr, known, err)
			}
			must(t, successor.ConfirmMark(hold))
			must(t, successor.Remove(t.Context()))
		})
	}
}

// takingContext calls do at the n-th call of Err.
type takingContext struct {
	context.Context
	asked, n int
	do       func()
}

func (c *takingContext) Err() error {
	if c.asked++; c.asked == c.n {
		c.do()
	}
	return c.Context.Err()
}

// TestRemovalEndsWhenASuccessorComes checks that a removal stops if another agent takes the directory meanwhile.
func TestRemovalEndsWhenASuccessorComes(t *testing.T) {
	mount := mustProve(t, t.TempDir())
	old, oldHold := mustTake(t, mount, "old")
	for i := range 20 {
		mustWrite(t, filepath.Join(old.Path(), fmt.Sprintf("folder-%d", i%4), fmt.Sprintf("file-%d", i)), "old")
	}
	dropLock(t, oldHold, false)
	ctx := &takingContext{Context: t.Context(), n: 7, do: func() {
		successor, _ := mustTake(t, mount, "new")
		mustWrite(t, filepath.Join(successor.Path(), "data"), "new")
	}}
	if err := old.Remove(ctx); !errors.Is(err, ErrHeld) {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(old.Path(), "data")); err != nil || string(text) != "new" {
		t.Errorf("the successor's file: %q, %v", text, err)
	}
	left, err := filepath.Glob(filepath.Join(old.Path(), "folder-*", "file-*"))
	if must(t, err); len(left) < 10 {
		t.Errorf("only %d of 20 files are left", len(left))
	}
}

// TestSweepEndsWhenASuccessorComes checks that a sweep without a lock stops if an agent of another run takes a
// directory meanwhile.
func TestSweepEndsWhenASuccessorComes(t *testing.T) {
	path := t.TempDir()
	mount := mustProve(t, path)
	old := mustCreate(t, path, 0) // it has no holder record, so there is nothing to lock
	for i := range 20 {
		mustWrite(t, filepath.Join(old.Path(), fmt.Sprintf("file-%d", i)), "old")
	}
	ctx := &takingContext{Context: t.Context(), n: 7, do: func() {
		successor, _ := mustTake(t, mount, "new")
		mustWrite(t, filepath.Join(successor.Path(), "data"), "new")
	}}
	err := Sweep(ctx, mount, testUID, "run-uid-2")
	if !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "pod-new") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(old.Path(), "data")); err != nil || string(text) != "new" {
		t.Errorf("the successor's file: %q, %v", text, err)
	}
	left, err := filepath.Glob(filepath.Join(old.Path(), "file-*"))
	if must(t, err); len(left) < 10 {
		t.Errorf("only %d of 20 files are left", len(left))
	}
}

// TestMarkThatIsAHardLink checks that a holder record that is a hard link to another file is not overwritten.
func TestMarkThatIsAHardLink(t *testing.T) {
	path := t.TempDir()
	mount := mustProve(t, path)
	d := mustCreate(t, path, 0)
	precious := filepath.Join(path, "precious")
	mustWrite(t, precious, "mine")
	must(t, os.Link(precious, filepath.Join(filepath.Dir(d.Path()), "holder-0.json")))
	if _, _, err := Take(t.Context(), mount, client(0), testOwner(), testHolder("new"), func(Holder) {}); !errors.Is(err, ErrForeign) {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "mine" {
		t.Errorf("the file is %q, %v", text, err)
	}
}
