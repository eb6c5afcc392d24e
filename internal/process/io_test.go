package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/hang"
)

// TestIOOfEndedChildrenIsTheirParents checks that the counters of a process include those of the children that it
// waited for, and can be read after it exits. The I/O of short-lived children must not be lost.
func TestIOOfEndedChildrenIsTheirParents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	h, err := Start(exec.CommandContext(t.Context(), "sh", "-c", "dd if=/dev/zero of="+path+" bs=64k count=160 2>/dev/null; :"))
	if err != nil {
		t.Fatal(err)
	}
	<-h.Exited()
	counters, err := ReadIO(h.PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(); err != nil {
		t.Fatal(err)
	}
	const want = 160 << 16
	if counters.WriteBytes < want || counters.WriteBytes > want+1<<16 || counters.WriteCalls < 160 {
		t.Errorf("%+v, want %d bytes in 160 writes", counters, want)
	}
	if _, err := ReadIO(h.PID()); err == nil {
		t.Error("a process that is gone has counters")
	}
}

// TestIOOfAThread checks that the counters of a thread exclude the I/O of other threads and of children that it waited
// for.
func TestIOOfAThread(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := ReadThreadIO()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := exec.CommandContext(t.Context(), "dd", "if=/dev/zero", "of="+path, "bs=64k", "count=160").Run(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	after, err := ReadThreadIO()
	if err != nil {
		t.Fatal(err)
	}
	// The thread has read what dd wrote, and has started dd.
	own := after.Since(before)
	if read := uint64(len(text)); own.ReadBytes < read || own.ReadBytes > read+64<<10 || own.WriteBytes > 64<<10 {
		t.Errorf("%+v, want %d bytes read", own, read)
	}
}

func TestParseIORefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "rchar: 1\n", "rchar: x\nwchar: 1\nsyscr: 1\nsyscw: 1\n"} {
		if got, err := parseIO(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
	got, err := parseIO("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n")
	want := IO{ReadBytes: 1, WriteBytes: 2, ReadCalls: 3, WriteCalls: 4, StorageReadBytes: 5}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got := want.Since(IO{ReadBytes: 9, WriteBytes: 1}); got != (IO{WriteBytes: 1, ReadCalls: 3, WriteCalls: 4, StorageReadBytes: 5}) {
		t.Errorf("%+v", got)
	}
	if got := want.Add(want).Max(IO{CancelledBytes: 7}); got != (IO{2, 4, 6, 8, 10, 0, 7}) {
		t.Errorf("%+v", got)
	}
}

func TestHasOpenBelow(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file, err := os.Create(filepath.Join(directory, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if !HasOpenBelow(os.Getpid(), directory) || HasOpenBelow(os.Getpid(), directory[:len(directory)-1]) {
		t.Error("a file that is open is not found, or in a directory of another name")
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if HasOpenBelow(os.Getpid(), directory) {
		t.Error("a file that was closed is open")
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	h, err := Start(exec.CommandContext(t.Context(), "sleep", "1000"))
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(hang.Guard)
	for {
		found, err := State(h.PID())
		if err == nil && found.Command == "sleep" && found.State == 'S' {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v, %v", found, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	_ = h.Kill()
	if err := h.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v", err)
	}
	if found, err := State(h.PID()); err == nil {
		t.Errorf("process %s is there", strconv.Itoa(found.PID))
	}
}

// TestKillCollectsWhatItKilled checks that Kill leaves no process of the command, not even a zombie.
func TestKillCollectsWhatItKilled(t *testing.T) {
	t.Parallel()
	command := actor(t, "killer")
	if output, err := command.Output(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
}

// killerRole kills a command whose children have left its process group. This process adopts the children.
func killerRole() error {
	if err := SetSubreaper(); err != nil {
		return err
	}
	h, err := Start(exec.Command("sh", "-c", "for i in 1 2 3; do setsid sleep 1000 & done; wait"))
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(hang.Guard); ; time.Sleep(5 * time.Millisecond) {
		descendantsOf, err := Descendants(os.Getpid())
		if err != nil {
			return err
		}
		if sleeping := slices.DeleteFunc(descendantsOf, func(p Process) bool { return p.Command != "sleep" }); len(sleeping) == 3 {
			break
		}
		if time.Now().After(deadline) {
			return errors.New("the command does not start its children")
		}
	}
	if err := h.Kill(); err != nil {
		return err
	}
	_ = h.Wait() // fails, because the command was killed
	if err := h.Kill(); err != nil {
		return err
	}
	left, err := Descendants(os.Getpid())
	if err != nil || len(left) > 0 {
		return fmt.Errorf("left: %v, %w", left, err)
	}
	return nil
}
