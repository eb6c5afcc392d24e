package agent

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

// TestSpareIsTaken checks that the next step uses the fio that was spawned when the previous load ended, and that it
// measures like any other fio.
func TestSpareIsTaken(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	if ended, _ := r.run(request("a", quickWrite), noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	for _, id := range []string{"b", "c"} {
		spare := r.spare()
		load := request(id, slowWrite(1))
		load.GetFio().DurationNanoseconds = int64(time.Second)
		r.load(load)
		if got := r.tool().PID(); got != spare {
			t.Errorf("step %s has fio %d, want the spare one, %d", id, got, spare)
		}
		released := r.agent.env.Clock.Monotonic()
		r.start(id, noLimit)
		ended, records := r.finished(id)
		if next := r.spare(); next == spare {
			t.Error("it is still the spare one")
		}
		if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
			t.Fatalf("got %v", ended)
		}
		bytes, _ := sums(ended.GetOperations())
		if got, _ := sampled(records); got != bytes {
			t.Errorf("%d bytes, the samples have %d", bytes, got)
		}
		if bytes == 0 || ended.GetIoStartNanoseconds() < released {
			t.Errorf("%d bytes from %d on, released at %d", bytes, ended.GetIoStartNanoseconds(), released)
		}
	}
}

// TestSpareThatDoesNotFit checks that an unsuitable spare fio is ended, and that the step gets a new one.
func TestSpareThatDoesNotFit(t *testing.T) {
	t.Parallel()
	tests := map[string]func(r *rig, spare int, load *agentapi.LoadRequest){
		"other arguments": func(_ *rig, _ int, load *agentapi.LoadRequest) {
			load.GetFio().SampleIntervalNanoseconds = int64(time.Second)
		},
		"it was killed": func(r *rig, spare int, _ *agentapi.LoadRequest) {
			killByID(r.t, itoa(spare))
		},
		"another directory is in its place": func(r *rig, _ int, _ *agentapi.LoadRequest) {
			own := filepath.Join(r.directory, dataPath)
			must(r.t, os.Rename(own, own+"-moved"))
		},
		"another fio was installed": func(r *rig, _ int, _ *agentapi.LoadRequest) {
			r.agent.env.Config.FioPath = executable(r.t, fioVersion+`exec fio "$@"`+"\n")
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, nil)
			r.run(request("a", quickWrite), noLimit)
			spare, load := r.spare(), request("b", quickWrite)
			change(r, spare, load)
			r.load(load)
			if r.tool().PID() == spare {
				t.Error("it was taken")
			}
			if now, err := process.State(spare); err == nil && now.Command == "fio" && now.PPID == os.Getpid() && now.State != 'Z' {
				t.Error("it lives")
			}
			r.start("b", noLimit)
			if ended, _ := r.finished("b"); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
				t.Errorf("got %v", ended)
			}
			if _, err := os.Stat(filepath.Join(r.directory, dataPath, "data.0.0")); err != nil {
				t.Errorf("its file is elsewhere: %v", err)
			}
		})
	}
}

// TestSpareTouchesNothing checks that a spare fio has no file on the storage open, and has written nothing there.
func TestSpareTouchesNothing(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.run(request("a", quickWrite), noLimit)
	pid := r.spare()
	eventually(t, "it does not sleep", func() bool {
		found, err := process.State(pid)
		return err == nil && found.State == 'S'
	})
	spare := "/proc/" + itoa(pid)
	open, err := os.ReadDir(spare + "/fd")
	must(t, err)
	for _, one := range open {
		if target, err := os.Readlink(filepath.Join(spare, "fd", one.Name())); err == nil && strings.Contains(target, r.directory) &&
			filepath.Base(target) != "holder-0.json" { // The lock excludes other agents until the last tool is gone.
			t.Errorf("it has %s open", target)
		}
	}
	text, err := os.ReadFile(spare + "/io")
	if err != nil {
		t.Skipf("its counters cannot be read here: %v", err)
	}
	if !strings.Contains(string(text), "\nwrite_bytes: 0\n") {
		t.Errorf("it has written:\n%s", text)
	}
}

// TestSpareEndsWithTheAgent checks that the spare fio exits with the agent, however the agent exits.
func TestSpareEndsWithTheAgent(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*separate){
		"finished": func(s *separate) { s.finish(true) },
		"told":     func(s *separate) { _ = s.command.Process.Signal(syscall.SIGTERM) },
		"killed":   func(s *separate) { _ = s.command.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spawn(t, nil)
			s.run(request("a", quickWrite), noLimit)
			var below []process.Process
			eventually(t, "no spare fio waits", func() bool {
				below, _ = process.Descendants(s.command.Process.Pid)
				return len(below) == 1
			})
			end(s)
			if err := <-s.exited; (err != nil) != (name == "killed") {
				t.Errorf("it ended with %v", err)
			}
			eventually(t, "it is left behind", func() bool {
				text, err := os.ReadFile("/proc/" + itoa(below[0].PID) + "/stat")
				return err != nil || strings.Contains(string(text), ") Z ")
			})
		})
	}
}
