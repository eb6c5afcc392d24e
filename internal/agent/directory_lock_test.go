package agent

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// layOut returns a step that lays out 1 MiB and checks the size at its end.
func layOut(id string) *agentapi.LoadRequest {
	load := request(id, global+"ioengine=psync\nrw=write\nbs=64k\nsize=1m\n[job]\n")
	files := []*agentapi.DataFile{{Name: "data.0.0", Bytes: 1 << 20}}
	load.Dataset = &agentapi.Dataset{NewBytes: 1 << 20, Writes: files, Files: files}
	load.GetFio().WrittenBytes = 1 << 20
	return load
}

// at makes an agent use an existing directory.
func at(directory string) func(*Config) {
	return func(c *Config) { c.Volumes[0].Path = directory }
}

// TestReplacementWaitsForTheOldAgent checks that a replacement waits while its predecessor still holds the same
// directory, and that the predecessor's removal of data does not affect the replacement's files. This happens if a pod
// is deleted by force: the cluster no longer lists it, but its agent exits late.
func TestReplacementWaitsForTheOldAgent(t *testing.T) {
	t.Parallel()
	old := spawn(t, nil)
	old.running()
	must(t, old.command.Process.Signal(syscall.SIGSTOP))
	must(t, old.command.Process.Signal(syscall.SIGTERM))
	replacement := spawn(t, at(old.directory))
	loaded := make(chan error, 1)
	go func() {
		_, err := replacement.Load(t.Context(), layOut("b"))
		loaded <- err
	}()
	replacement.waits()
	must(t, old.command.Process.Signal(syscall.SIGCONT))
	must(t, <-loaded)
	if err := <-old.exited; err != nil || !strings.Contains(old.said.String(), "its load was stopped and its data removed") {
		t.Errorf("the old one ended with %v: %s", err, old.said)
	}
	replacement.start("b", noLimit)
	ended, records := replacement.finished("b")
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Errorf("got %v", ended)
	}
	if said := notices(ended, records)["DirectoryHeld"]; !strings.Contains(said, `of run "run"`) {
		t.Errorf("it says %q of what it waited for", said)
	}
	info, err := os.Stat(filepath.Join(old.directory, dataPath, "data.0.0"))
	if err != nil || info.Size() != 1<<20 {
		t.Errorf("what was laid out: %v, %v", info, err)
	}
	if answer := replacement.finish(true); !answer.GetDataRemoved() {
		t.Errorf("got %v", answer)
	}
	replacement.gone(nil, "")
	if left := old.left(); len(left) > 0 {
		found, _ := exec.Command("find", old.directory).CombinedOutput()
		t.Errorf("left: %v: %s", left, found)
	}
}

// waits waits until the agent has logged that its directory is held.
func (s *separate) waits() {
	s.t.Helper()
	stream, err := s.Watch(s.t.Context(), &agentapi.WatchRequest{Epoch: 1})
	must(s.t, err)
	for {
		record, err := stream.Recv()
		must(s.t, err)
		if record.GetNotice().GetWarning() == "DirectoryHeld" {
			return
		}
	}
}

// TestReplacementOfADeadAgent checks that a replacement does not wait for a dead agent.
func TestReplacementOfADeadAgent(t *testing.T) {
	t.Parallel()
	unshare := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if output, err := exec.CommandContext(t.Context(), unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no PID namespace can be made here, as a pod has: %v: %s", err, output)
	}
	old := spawn(t, nil, unshare...)
	old.running()
	must(t, old.command.Process.Kill())
	replacement := spawn(t, at(old.directory))
	if ended, _ := replacement.run(layOut("b"), noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Errorf("got %v", ended)
	}
	replacement.finish(true)
	replacement.gone(nil, "")
	if left := old.left(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestReplacementRefusedBesideTheOldAgent checks that the replacement's step is refused if the old agent does not exit.
// The refusal names the holder of the directory, and neither agent touches the other's files.
func TestReplacementRefusedBesideTheOldAgent(t *testing.T) {
	t.Parallel()
	old := serve(t, nil)
	old.load(request("a", endlessWrite))
	impatient := func(a *Agent) {
		a.env.Timeouts.Held, a.env.Timeouts.HeldAtEnd = 300*time.Millisecond, 300*time.Millisecond
	}
	replacement := serveAt(t, old.directory, impatient)
	_, err := replacement.Load(t.Context(), layOut("b"))
	if reasonIn(err) != tool.ReasonHeld || !strings.Contains(err.Error(), "holder-0.json") || !strings.Contains(err.Error(), `of run "run"`) {
		t.Errorf("got %v", err)
	}
	answer := replacement.finish(true)
	if answer.GetDataRemoved() || !strings.Contains(answer.GetProblem(), "in use by another agent") {
		t.Errorf("got %v", answer)
	}
	if _, err := os.Stat(filepath.Join(old.directory, dataPath)); err != nil {
		t.Errorf("the old one's directory: %v", err)
	}
	if answer := old.finish(true); !answer.GetDataRemoved() || len(old.left()) > 0 {
		t.Errorf("got %v, left %v", answer, old.left())
	}
}

// TestHolderRecordWasRemoved checks that, if the holder record was removed and cannot be written again, only the
// current step is refused. Once there is space, the agent loads steps and removes its data.
func TestHolderRecordWasRemoved(t *testing.T) {
	withMounts(t, func() {
		for name, loads := range map[string]bool{"next step": true, "removal": false} {
			directory := t.TempDir()
			must(t, unix.Mount("none", directory, "tmpfs", 0, "size=4m,mode=755"))
			r := serveAt(t, directory, nil)
			r.run(request("a", quickWrite), noLimit)
			must(t, os.Remove(filepath.Join(directory, filepath.Dir(dataPath), "holder-0.json")))
			filler := filepath.Join(directory, "filler")
			if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
				t.Fatalf("the file system is not full: %v", err)
			}
			if _, err := r.Load(t.Context(), request("b", quickWrite)); reasonIn(err) != tool.ReasonNoSpace {
				t.Fatalf("%s: without space: %v", name, err)
			}
			must(t, os.Remove(filler))
			if loads {
				if ended, _ := r.run(request("b", quickWrite), noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
					t.Errorf("%s: got %v", name, ended)
				}
			}
			if answer := r.finish(true); !answer.GetDataRemoved() || len(r.left()) > 0 {
				t.Errorf("%s: got %v, left %v", name, answer, r.left())
			}
			must(t, unix.Unmount(directory, unix.MNT_DETACH))
		}
	})
}

// TestOldAgentLeavesWhatAnotherHasTaken checks that, on a file system without locks, an old agent loads no further step
// and removes nothing once a replacement has written its own holder record.
func TestOldAgentLeavesWhatAnotherHasTaken(t *testing.T) {
	t.Parallel()
	old := serveAt(t, mountStore(t, "noLocks: true\n").directory, nil)
	old.run(layOut("a"), noLimit)
	mark := filepath.Join(old.directory, filepath.Dir(dataPath), "holder-0.json")
	must(t, os.WriteFile(mark, []byte(`{"schemaVersion":1,"instance":"new","run":"run","runUID":"run-1","host":"other-pod"}`), 0o600))
	if _, err := old.Load(t.Context(), layOut("b")); reasonIn(err) != tool.ReasonHeld || !strings.Contains(err.Error(), "other-pod") {
		t.Errorf("got %v", err)
	}
	answer := old.finish(true)
	if answer.GetDataRemoved() || !strings.Contains(answer.GetProblem(), "other-pod") {
		t.Errorf("got %v", answer)
	}
	if _, err := os.Stat(filepath.Join(old.directory, dataPath, "data.0.0")); err != nil {
		t.Errorf("the file of the new one: %v", err)
	}
}

// TestReplacedAgentWithoutADirectoryRemovesNothing checks that, without locks, an agent that exits on its own and holds
// no directory does not remove the data: it may have been replaced. If the conductor requests the removal, it does,
// because the conductor knows which agents are gone.
func TestReplacedAgentWithoutADirectoryRemovesNothing(t *testing.T) {
	t.Parallel()
	directory := mountStore(t, "noLocks: true\n").directory
	successor := serveAt(t, directory, nil)
	successor.run(layOut("a"), noLimit)
	quick := func(a *Agent) { a.env.Timeouts.HeldAtEnd = 300 * time.Millisecond }
	old := serveAt(t, directory, quick)
	if said := old.agent.Abandon("it was told to end"); !strings.Contains(said, "in use by another agent") {
		t.Errorf("it says %q", said)
	}
	if ended, _ := successor.run(layOut("b"), noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Errorf("the successor's next step: %v", ended)
	}
	if _, err := os.Stat(filepath.Join(directory, dataPath, "data.0.0")); err != nil {
		t.Errorf("the file of the successor: %v", err)
	}
	told := serveAt(t, directory, quick)
	if answer := told.finish(true); !answer.GetDataRemoved() {
		t.Errorf("got %v", answer)
	}
}
