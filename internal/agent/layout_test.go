package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

// lays returns a step of a prepare phase that lays out one file of 1 MiB.
func lays(id, content string) *agentapi.LoadRequest {
	load := writes(id, content, quickWrite+"end_fsync=1\n")
	load.Dataset.Writes, load.Dataset.Reuse = load.GetDataset().GetFiles(), true
	load.GetFio().WrittenBytes = 1 << 20
	return load
}

// writes returns a step that writes to that file.
func writes(id, content, job string) *agentapi.LoadRequest {
	load := request(id, job)
	load.Dataset = &agentapi.Dataset{Content: content, Files: []*agentapi.DataFile{{Name: "data.0.0", Bytes: 1 << 20}}}
	return load
}

// laysOut runs a step of a prepare phase, and reports whether it wrote.
func (r *rig) laysOut(load *agentapi.LoadRequest) (wrote bool) {
	r.t.Helper()
	ended, records := r.run(load, noLimit)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		r.t.Fatalf("got %v", ended)
	}
	bytes, _ := sums(ended.GetOperations())
	message, reused := notices(ended, records)[volumes.NoticeReused]
	if wrote = bytes == 1<<20; wrote == reused {
		r.t.Fatalf("it wrote %d bytes, and says %q", bytes, message)
	}
	if reused {
		started := records[0].GetStarted().GetReleasedNanoseconds()
		if len(records) != 2 || started == 0 || ended.GetIoStartNanoseconds() != started || ended.GetIoEndNanoseconds() != started ||
			len(ended.GetOperations()) > 0 || !strings.Contains(message, "1048576 bytes in 1 files already exist") {
			r.t.Errorf("a layout that is used again ends with %v after %v", ended, records)
		}
	}
	return wrote
}

func TestLayoutIsUsedAgain(t *testing.T) {
	t.Parallel()
	file := func(r *rig) string { return filepath.Join(r.directory, dataPath, "data.0.0") }
	truncate := func(bytes int64) func(*rig) {
		return func(r *rig) { must(r.t, os.Truncate(file(r), bytes)) }
	}
	step := func(load *agentapi.LoadRequest) func(*rig) {
		return func(r *rig) { r.run(load, noLimit) }
	}
	tests := map[string]struct {
		// between runs between two prepare phases. content is the content of the second one; empty means abc.
		between func(*rig)
		content string
		writes  bool
		// always is true if each further prepare phase writes the file again.
		always bool
	}{
		"nothing happened":                     {between: func(*rig) {}},
		"the same content was written over it": {between: step(writes("b", "abc", quickWrite))},
		"it was read":                          {between: step(writes("b", "", strings.Replace(quickWrite, "rw=write", "rw=read", 1)))},
		"a step of other files": {between: step(func() *agentapi.LoadRequest {
			l := writes("b", "def", global+"ioengine=psync\nrw=write\nbs=4k\nsize=1m\nfilename=other\n[job]\n")
			l.Dataset.Files[0].Name = "other"
			return l
		}())},
		"another content is asked for":        {between: func(*rig) {}, content: "def", writes: true},
		"another content was written over it": {between: step(writes("b", "def", quickWrite)), writes: true},
		"another content was about to be":     {between: func(r *rig) { r.load(writes("b", "def", quickWrite)); r.stopped("b") }, writes: true},
		"it is shorter":                       {between: truncate(1 << 19), writes: true},
		"it is longer": {between: func(r *rig) {
			// The longer file stays: another layout of the run may need the data at its end.
			must(r.t, os.WriteFile(file(r), make([]byte, 1<<20+4096), 0o600))
		}, writes: true, always: true},
		"it has a hole": {between: func(r *rig) { truncate(1 << 19)(r); truncate(1 << 20)(r) }, writes: true},
		"it is gone":    {between: func(r *rig) { must(r.t, os.Remove(file(r))) }, writes: true},
		"the record is gone": {between: func(r *rig) {
			must(r.t, os.Remove(filepath.Join(filepath.Dir(filepath.Dir(file(r))), "layout-0.json")))
		}, writes: true},
		"another one was cut short": {between: func(r *rig) { r.load(lays("b", "def")); r.stopped("b") }, writes: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, nil)
			if !r.laysOut(lays("a", "abc")) {
				t.Fatal("the first did not write")
			}
			test.between(r)
			load := lays("z", "abc")
			if test.content != "" {
				load.Dataset.Content = test.content
			}
			if wrote := r.laysOut(load); wrote != test.writes {
				t.Errorf("it wrote: %v, want %v", wrote, test.writes)
			}
			again, _ := proto.Clone(load).(*agentapi.LoadRequest)
			again.Step = key("zz")
			if wrote := r.laysOut(again); wrote != test.always {
				t.Errorf("the file that was just laid out is written again: %v, want %v", wrote, test.always)
			}
		})
	}
}

// TestLayoutThatCannotBeRecorded checks that a layout that cannot be recorded is still complete. A notice explains why
// the next run will write it again.
func TestLayoutThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.laysOut(lays("a", "abc"))
	record := filepath.Join(filepath.Dir(filepath.Join(r.directory, dataPath)), "layout-0.json")
	must(t, os.Remove(record))
	must(t, os.MkdirAll(filepath.Join(record+".new", "in the way"), 0o700))
	ended, records := r.run(lays("b", "abc"), noLimit)
	message := notices(ended, records)["ToolMessages"]
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || !strings.Contains(message, "the next run writes it again: write the layout record") {
		t.Errorf("it says %q, and got %v", message, ended)
	}
}

func (r *rig) stopped(id string) {
	r.t.Helper()
	_, err := r.Stop(r.t.Context(), &agentapi.StopRequest{Epoch: 1, Step: key(id), Reason: "the test says so"})
	must(r.t, err)
	if ended, _ := r.finished(id); ended.GetOutcome() != agentapi.Outcome_OUTCOME_STOPPED {
		r.t.Errorf("got %v", ended)
	}
}

// TestHalfALayoutIsNone checks that the data of an interrupted layout is not used, but written again.
func TestHalfALayoutIsNone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig){
		"stopped": func(r *rig) { r.begun(1); r.stopped("a") },
		"failed": func(r *rig) {
			jobs := r.begun(1)
			must(r.t, syscall.Kill(jobs[0].PID, syscall.SIGKILL))
			r.finished("a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, nil)
			slow := lays("a", "abc")
			slow.GetFio().Job += "rate=10k\n"
			r.load(slow)
			r.start("a", noLimit)
			end(r)
			// A file may have its full size without being complete.
			must(t, os.WriteFile(filepath.Join(r.directory, dataPath, "data.0.0"), make([]byte, 1<<20), 0o600))
			if !r.laysOut(lays("b", "abc")) {
				t.Error("the data of an interrupted layout is used")
			}
		})
	}
}

// TestReusedLayoutWaitsForItsStart checks that a step that reuses a layout needs no tool, and can be stopped before its
// start.
func TestReusedLayoutWaitsForItsStart(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.laysOut(lays("a", "abc"))
	r.dropSpare()
	r.laysOut(lays("again", "abc"))
	r.spare() // it waits for the next step
	r.agent.env.Config.FioPath = "/nonexistent/fio"
	r.load(lays("b", "abc"))
	r.load(lays("b", "abc"))
	r.stopped("b")
	if r.laysOut(lays("c", "abc")) {
		t.Error("it wrote")
	}
}

// TestLayoutOutlivesTheAgent checks that an agent uses the complete layouts of an agent that died, but not the
// incomplete ones.
func TestLayoutOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	next := func() *separate {
		return spawn(t, func(c *Config) { c.Volumes[0].Path = directory })
	}
	// Kill all processes, as the end of a container does. fio's jobs have their own sessions and outlive fio.
	kill := func(s *separate) {
		t.Helper()
		below, err := process.Descendants(s.command.Process.Pid)
		must(t, err)
		must(t, s.command.Process.Kill())
		if err := <-s.exited; err == nil {
			t.Error("it ended by itself")
		}
		for _, p := range below {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
		// The directory stays locked until the last of these processes has exited.
		for _, p := range below {
			eventually(t, "a process that the agent has started is still alive", func() bool {
				now, err := process.State(p.PID)
				return err != nil || now.StartTicks != p.StartTicks || now.State == 'Z'
			})
		}
	}
	atWork := func(s *separate) {
		t.Helper()
		eventually(t, "fio's job does not run", func() bool {
			below, err := process.Descendants(s.command.Process.Pid)
			// A job is a child of fio. A spare fio may be a child of the agent, too.
			return err == nil && slices.ContainsFunc(below, func(p process.Process) bool { return p.PPID != s.command.Process.Pid })
		})
	}
	first := next()
	slow := lays("a", "abc")
	slow.GetFio().Job += "rate=10k\n"
	first.load(slow)
	first.start("a", noLimit)
	atWork(first)
	kill(first)
	second := next()
	if !second.laysOut(lays("a", "abc")) {
		t.Error("an incomplete layout was used")
	}
	kill(second)
	third := next()
	if third.laysOut(lays("a", "abc")) {
		t.Error("a complete layout was not used")
	}
	third.load(writes("b", "def", endlessWrite))
	third.start("b", noLimit)
	atWork(third)
	kill(third)
	fourth := next()
	if !fourth.laysOut(lays("a", "abc")) {
		t.Error("a layout that another step has overwritten was used")
	}
	fourth.finish(true)
}
