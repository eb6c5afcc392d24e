package agent

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

func (r *rig) left() []string {
	r.t.Helper()
	entries, err := os.ReadDir(r.directory)
	must(r.t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func (r *rig) finish(remove bool) *agentapi.FinishResponse {
	r.t.Helper()
	answer, err := r.Finish(r.t.Context(), &agentapi.FinishRequest{Epoch: 1, RemoveData: remove})
	must(r.t, err)
	return answer
}

func TestFinish(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before  func(*rig)
		keep    bool
		removed bool
		left    int
	}{
		"with nothing": {removed: true},
		"loaded":       {before: func(r *rig) { r.load(request("a", endlessWrite)) }, removed: true},
		"running": {before: func(r *rig) {
			r.load(request("a", endlessWrite))
			r.start("a", noLimit)
			r.jobs(1)
		}, removed: true},
		"with data":    {before: func(r *rig) { r.run(request("a", quickWrite), noLimit) }, removed: true},
		"keeping data": {before: func(r *rig) { r.run(request("a", quickWrite), noLimit) }, keep: true, left: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, nil)
			if test.before != nil {
				test.before(r)
			}
			var all sync.WaitGroup
			for range 3 { // repeated requests are harmless and get the first answer
				all.Go(func() {
					answer, err := r.Finish(t.Context(), &agentapi.FinishRequest{Epoch: 1, RemoveData: !test.keep})
					if err != nil || answer.GetDataRemoved() != test.removed || answer.GetProblem() != "" {
						t.Errorf("got %v, %v", answer, err)
					}
				})
			}
			all.Wait()
			if left := r.left(); len(left) != test.left {
				t.Errorf("left: %v", left)
			}
			select {
			case <-r.agent.Finished():
				if err := r.agent.leftData(); err != nil {
					t.Errorf("the exit code would report remaining data: %v", err)
				}
			default:
				t.Error("the agent does not exit")
			}
			if _, err := r.Load(t.Context(), request("z", endlessWrite)); status.Code(err) != codes.Unavailable {
				t.Errorf("a step is loaded after the end: %v", err)
			}
		})
	}
}

// TestFinishWhileLoading checks that a Finish during a Load does not deadlock.
func TestFinishWhileLoading(t *testing.T) {
	t.Parallel()
	for range 5 {
		r := serve(t, nil)
		var all sync.WaitGroup
		all.Go(func() { _, _ = r.Load(t.Context(), request("a", endlessWrite)) })
		all.Go(func() {
			bad := request("b", endlessWrite)
			bad.Dataset = &agentapi.Dataset{NewBytes: 1 << 60}
			_, _ = r.Load(t.Context(), bad)
		})
		all.Go(func() { r.finish(true) })
		all.Wait()
		if left := r.left(); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	}
}

func TestFinishSaysWhatStays(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.run(request("a", quickWrite), noLimit)
	must(t, os.Remove(filepath.Join(r.directory, ".storagebench/benchmark-1/owner.json")))
	answer := r.finish(true)
	if answer.GetDataRemoved() || !strings.Contains(answer.GetProblem(), "volume data: ") || !strings.Contains(answer.GetProblem(), "benchmark-1") {
		t.Errorf("got %v", answer)
	}
	if said := r.agent.Abandon("again"); !strings.Contains(said, "its load was stopped, but its data remains: volume data") {
		t.Errorf("it says %q", said)
	}
	if err := r.agent.leftData(); err == nil || !strings.Contains(err.Error(), "benchmark-1") {
		t.Errorf("the exit code would not report the remaining data: %v", err)
	}
}

// TestFinishAfterTheDirectoryWasRemoved checks that the agent removes its other files even if the client's directory is
// already gone.
func TestFinishAfterTheDirectoryWasRemoved(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.run(request("a", quickWrite), noLimit)
	r.dropSpare()
	must(t, os.RemoveAll(filepath.Join(r.directory, dataPath)))
	if answer := r.finish(true); !answer.GetDataRemoved() || answer.GetProblem() != "" || len(r.left()) > 0 {
		found, _ := filepath.Glob(filepath.Join(r.directory, filepath.Dir(dataPath), "*"))
		t.Errorf("got %v, left %v", answer, found)
	}
}

// TestFinishKillsWhatDoesNotStop checks that a tool that ignores the stop delays the agent's exit no longer than the
// timeout.
func TestFinishKillsWhatDoesNotStop(t *testing.T) {
	t.Parallel()
	begun := filepath.Join(t.TempDir(), "begun")
	r := serve(t, func(a *Agent) {
		a.env.Config.FioPath = executable(t, fioVersion+"trap '' INT; cat >/dev/null; touch "+begun+"; while :; do sleep 0.1; done\n")
		a.env.Timeouts.Finish = 500 * time.Millisecond
	})
	r.load(request("a", "x"))
	r.start("a", noLimit)
	eventually(t, "the tool does not begin", func() bool {
		_, err := os.Stat(begun)
		return err == nil
	})
	pid := r.tool().PID()
	if answer := r.finish(true); !answer.GetDataRemoved() {
		t.Errorf("got %v", answer)
	}
	if ended, _ := r.finished("a"); ended.GetReason() != "Hung" || !strings.Contains(ended.GetMessage(), "the agent is exiting") {
		t.Errorf("got %v", ended)
	}
	if _, err := os.Stat("/proc/" + itoa(pid)); err == nil {
		t.Error("it lives")
	}
}

// TestToolLeavesSomethingThatHoldsItsOutput checks that the agent does not wait for a process that a tool left outside
// its process group, although that process keeps the tool's output open.
func TestToolLeavesSomethingThatHoldsItsOutput(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pid")
	r := serve(t, func(a *Agent) {
		a.env.Config.FioPath = executable(t, fioVersion+"cat >/dev/null; [ -s "+pids+" ] && exit; env -i PATH=$PATH setsid sh -c 'echo $$ >"+pids+"; exec sleep 1000' & \nuntil [ -s "+pids+" ]; do sleep 0.05; done; exit 3\n")
		a.env.Timeouts.Gone = time.Second
	})
	r.load(request("a", "x"))
	r.start("a", noLimit)
	if ended, _ := r.finished("a"); ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED {
		t.Errorf("got %v", ended)
	}
	text, err := os.ReadFile(pids)
	must(t, err)
	killByID(t, strings.TrimSpace(string(text)))
}

// bubbleClock is a clock inside a synctest bubble.
type bubbleClock struct{ began time.Time }

func (c bubbleClock) Monotonic() int64 { return int64(time.Since(c.began)) + 1 } //nolint:forbidigo // virtual time
func (c bubbleClock) Wall() int64      { return time.Now().UnixNano() }

// TestOrphan checks that an agent exits after its orphan timeout, which counts from the last contact, the deadline of
// the live step or the end of the last Watch, whichever is latest.
func TestOrphan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		a := New(Config{OrphanTimeout: timeout}, bubbleClock{time.Now()})
		ended := make(chan error, 1)
		go func() { ended <- a.WatchOrphaned(t.Context()) }()
		staysFor := func(long time.Duration, why string) {
			t.Helper()
			time.Sleep(long)
			synctest.Wait()
			select {
			case err := <-ended:
				t.Fatalf("the agent exits (%v), although %s", err, why)
			default:
			}
		}
		staysFor(timeout, "it has just begun")
		live := newStep(a, key("a"), content{})
		live.order.deadline = a.env.Clock.Monotonic() + int64(time.Minute)
		a.mu.Lock()
		a.live = live
		a.mu.Unlock()
		staysFor(time.Minute+timeout, "its step may still run")
		_, done, err := a.attend(t.Context(), &agentapi.WatchRequest{Epoch: 1})
		must(t, err)
		staysFor(time.Hour, "a Watch is open")
		done()
		staysFor(timeout, "a Watch was open until now")
		time.Sleep(2 * time.Second)
		must(t, <-ended)
		close(a.finished)
	})
}

// TestDescribe checks that Describe answers even if a tool or a file system hangs, and that it remembers good answers.
func TestDescribe(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	answer, err := r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1})
	must(t, err)
	if answer.GetRunUid() != runUID || answer.GetTarget() != "target" || answer.GetProtocol() != agentapi.Protocol {
		t.Errorf("got %v", answer)
	}
	tool, volume, host := answer.GetTools()[0], answer.GetVolumes()[0], answer.GetHost()
	if !strings.HasPrefix(tool.GetVersion(), "fio-3.") || tool.GetProblem() != "" || tool.GetPath() == "" {
		t.Errorf("tool %v", tool)
	}
	if volume.GetPath() != r.directory || volume.GetTotalBytes() == 0 || volume.GetDevice() == 0 || volume.GetProblem() != "" {
		t.Errorf("volume %v", volume)
	}
	if host.GetCpus() < 1 || host.GetMemoryBytes() < 1<<20 || host.GetBootId() == "" || host.GetKernel() == "" {
		t.Errorf("host %v", host)
	}
	r.agent.env.Config.FioPath = "/nonexistent"
	if again, err := r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1}); err != nil || again.GetTools()[0].GetProblem() != "" {
		t.Errorf("asked again: %v, %v", again, err)
	}
	for name, fio := range map[string]string{
		"hangs":   fioVersion[:0] + "sleep 1000 & sleep 1000\n",
		"other":   "echo tool 1.0\n",
		"fails":   "echo fio-3.33; exit 2\n",
		"missing": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, func(a *Agent) {
				a.env.Config.FioPath = "/nonexistent/fio"
				if fio != "" {
					a.env.Config.FioPath = executable(t, fio)
				}
			})
			answer, err := r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1})
			must(t, err)
			if answer.GetTools()[0].GetProblem() == "" {
				t.Errorf("got %v", answer.GetTools())
			}
			t.Log(answer.GetTools()[0].GetProblem())
		})
	}
}

func TestNoDescriptorLeaks(t *testing.T) {
	r := serve(t, nil)
	once := func() {
		id := itoa(int(r.agent.env.Clock.Monotonic()))
		load := request(id, endlessWrite)
		r.load(load)
		if _, err := r.Stop(t.Context(), &agentapi.StopRequest{Epoch: 1}); err != nil {
			t.Fatal(err)
		}
		r.finished(id)
		r.run(request("w"+id, quickWrite), noLimit)
		if _, err := r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1}); err != nil {
			t.Fatal(err)
		}
	}
	once()
	r.spare()
	before := openFiles(t)
	for range 3 {
		once()
	}
	r.spare()
	// Goroutines that read the output of exited tools may still be closing their files.
	eventually(t, "more files are open after some steps than after the first", func() bool { return openFiles(t) <= before })
	r.agent.finish(volumes.Removal{}, "the test is over")
	if below, err := process.Descendants(os.Getpid()); err != nil || len(below) > 0 {
		t.Errorf("processes are left: %v, %v", below, err)
	}
}

// TestLeavingIsToldFromStopping checks that an agent that exits without a request from its conductor, for example
// because its pod is deleted, gives that as the reason for the end of its step. The step is then repeated instead of
// counting as short. A step that is loaded during the exit is refused as unavailable.
func TestLeavingIsToldFromStopping(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Timeouts.Finish = time.Hour }) // fio may take long to stop
	r.load(request("a", endlessWrite))
	r.start("a", noLimit)
	r.begun(1)
	r.agent.Abandon("it was told to end (terminated)")
	ended, _ := r.finished("a")
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_STOPPED || ended.GetReason() != agentapi.ReasonLeaving ||
		!strings.Contains(ended.GetMessage(), "it was told to end (terminated)") {
		t.Errorf("ended %s, %s: %s", ended.GetOutcome(), ended.GetReason(), ended.GetMessage())
	}
	if _, err := r.Load(t.Context(), request("b", endlessWrite)); status.Code(err) != codes.Unavailable {
		t.Errorf("the next step: %v", err)
	}
}
