package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// TestKeptLayout checks that a retained layout is recognized by its bytes, and that a notice gives the reason if it is
// written again.
func TestKeptLayout(t *testing.T) {
	t.Parallel()
	overwrite := func(offset int64, with []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			must(t, err)
			_, err = file.WriteAt(with, offset)
			must(t, err)
			must(t, file.Close())
		}
	}
	for name, test := range map[string]struct {
		// between changes the file between the two runs.
		between func(*testing.T, string)
		// writes adds a step that writes the same content after the layout. killed ends the first agent without Finish.
		writes, killed bool
		want           string
	}{
		"nothing":                          {},
		"a write of the run":               {writes: true},
		"somebody's byte":                  {between: overwrite(1<<20-1, []byte{1}), want: "file data.0.0 was modified at offset 983040 since the previous run"},
		"a byte, and nobody has summed it": {between: overwrite(1<<20-1, []byte{1}), killed: true},
		"zeros, and nobody has summed it":  {between: overwrite(0, make([]byte, 1<<20)), killed: true, want: "file data.0.0 contains zeros at offset 0"},
		"another size":                     {between: func(t *testing.T, path string) { t.Helper(); must(t, os.Truncate(path, 4096)) }, want: "file data.0.0 has 4096 bytes, not 1048576"},
		"no record": {between: func(t *testing.T, path string) {
			t.Helper()
			must(t, os.Remove(filepath.Join(filepath.Dir(filepath.Dir(path)), "layout-0.json")))
		}, want: "file data.0.0 is not recorded as complete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := serve(t, nil)
			first.laysOut(lays("a", "abc"))
			if test.writes {
				first.run(writes("b", "abc", strings.Replace(quickWrite, "[global]", "[global]\nrandseed=99", 1)), noLimit)
			}
			if test.killed {
				first.dropSpare()
				first.agent.volumes.Release()
			} else if answer := first.finish(false); answer.GetProblem() != "" {
				t.Errorf("got %v", answer)
			}
			if test.between != nil {
				test.between(t, filepath.Join(first.directory, dataPath, "data.0.0"))
			}
			second := serveAt(t, first.directory, nil)
			ended, records := second.run(lays("a", "abc"), noLimit)
			if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
				t.Fatalf("got %v", ended)
			}
			said := notices(ended, records)
			bytes, _ := sums(ended.GetOperations())
			if _, reused := said[volumes.NoticeReused]; reused != (test.want == "") || reused == (bytes > 0) || !strings.Contains(said["LayoutRenewed"], test.want) {
				t.Errorf("it wrote %d bytes and says %v; want %q", bytes, said, test.want)
			}
			if second.laysOut(lays("c", "abc")) {
				t.Error("what was just laid out is written again")
			}
			second.finish(true)
		})
	}
}

// readOnly mounts a directory a second time, read-only. The test must have its own mount namespace.
func readOnly(t *testing.T, directory string) string {
	t.Helper()
	copied := t.TempDir()
	must(t, unix.Mount(directory, copied, "", unix.MS_BIND, ""))
	t.Cleanup(func() { _ = unix.Unmount(copied, unix.MNT_DETACH) })
	must(t, unix.Mount("", copied, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	return copied
}

func reads(id string) *agentapi.LoadRequest {
	load := request(id, strings.Replace(quickWrite, "rw=write", "rw=read\nallow_file_create=0", 1))
	load.Dataset.Files = []*agentapi.DataFile{{Name: "data.0.0", Bytes: 1 << 20}}
	load.Dataset.Reads = load.Dataset.Files
	return load
}

// TestReadOnlyVolume checks that a run on a read-only volume reads the retained data of another benchmark, writes and
// removes nothing, and refuses steps whose data is missing.
func TestReadOnlyVolume(t *testing.T) {
	withMounts(t, func() {
		writer := serve(t, nil)
		writer.laysOut(lays("a", "abc"))
		asReader := func(a *Agent) {
			a.env.Config.BenchmarkUID, a.env.Config.Benchmark = "reader", "reading"
			a.env.Config.Volumes[0].ReadOnly = true
		}
		copied := readOnly(t, writer.directory)
		impatient := serveAt(t, copied, asReader)
		if _, err := impatient.Load(t.Context(), lays("a", "abc")); reasonIn(err) != tool.ReasonHeld {
			t.Errorf("while another one may be writing: %v", err)
		}
		writer.dropSpare() // The lock of the spare fio would outlive the agent.
		writer.finish(false)
		before := sumTree(t, filepath.Join(writer.directory, ".storagebench", "benchmark-1"))

		reader := serveAt(t, copied, asReader)
		ended, records := reader.run(lays("a", "abc"), noLimit)
		if said := notices(ended, nil)[volumes.NoticeReused]; ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || !strings.Contains(said, "already exist") {
			t.Errorf("got %v", ended)
		}
		if said := notices(&agentapi.Ended{}, records)[volumes.NoticeReused]; !strings.Contains(said, "run run of benchmark benchmark") {
			t.Errorf("it does not say whose data it reads: %q", said)
		}
		ended, _ = reader.run(reads("b"), noLimit)
		if bytes, _ := sums(ended.GetOperations()); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || bytes != 1<<20 {
			t.Errorf("got %v", ended)
		}
		for name, test := range map[string]struct {
			load   *agentapi.LoadRequest
			reason string
		}{
			"another content":  {lays("c", "def"), tool.ReasonNotPrepared},
			"a file too many":  {func() *agentapi.LoadRequest { l := reads("d"); l.Dataset.Reads[0].Name = "data.1.0"; return l }(), tool.ReasonNotPrepared},
			"more than it has": {func() *agentapi.LoadRequest { l := reads("e"); l.Dataset.Reads[0].Bytes++; return l }(), tool.ReasonNotPrepared},
		} {
			if _, err := reader.Load(t.Context(), test.load); reasonIn(err) != test.reason {
				t.Errorf("%s: %v", name, err)
			}
		}
		described, err := reader.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1})
		must(t, err)
		if volume := described.GetVolumes()[0]; volume.GetProblem() != "" || volume.GetTotalBytes() == 0 {
			t.Errorf("described as %v", volume)
		}
		if answer := reader.finish(true); !answer.GetDataRemoved() || answer.GetProblem() != "" {
			t.Errorf("got %v", answer)
		}
		if after := sumTree(t, filepath.Join(writer.directory, ".storagebench", "benchmark-1")); after != before {
			t.Error("the retained data has changed")
		}
		other := serveAt(t, copied, func(a *Agent) { asReader(a); a.env.Config.DatasetHash = "other" })
		if _, err := other.Load(t.Context(), lays("a", "abc")); reasonIn(err) != tool.ReasonNotPrepared || !strings.Contains(err.Error(), "dataPolicy: Retain") {
			t.Errorf("a layout that does not exist: %v", err)
		}
	})
}

// TestCommandOnAReadOnlyVolume checks that a user's program on a read-only volume works in the target's own folder and
// reads the user's files.
func TestCommandOnAReadOnlyVolume(t *testing.T) {
	withMounts(t, func() {
		directory := t.TempDir()
		must(t, os.Mkdir(filepath.Join(directory, "own"), 0o755))
		must(t, os.WriteFile(filepath.Join(directory, "own", "file"), []byte(strings.Repeat("text\n", 100_000)), 0o600))
		before := sumTree(t, directory)
		copied := readOnly(t, directory)
		r := serveAt(t, copied, func(a *Agent) { a.env.Config.Volumes[0].ReadOnly = true; a.env.Config.Volumes[0].Folder = "own" })
		load := &agentapi.LoadRequest{Epoch: 1, Step: key("a"), Dataset: &agentapi.Dataset{MeasureUsage: true}, Tool: &agentapi.LoadRequest_Command{
			Command: &agentapi.CommandTool{Command: []string{"wc", "-l", "file"}, SampleIntervalNanoseconds: int64(time.Second)}}}
		ended, _ := r.run(load, noLimit)
		if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || ended.GetCommand().GetExitCode() != 0 {
			t.Errorf("got %v", ended)
		}
		load.Step, load.GetCommand().Command = key("b"), []string{"touch", "new"}
		if ended, _ := r.run(load, noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED {
			t.Errorf("it wrote: %v", ended)
		}
		if answer := r.finish(true); answer.GetProblem() != "" {
			t.Errorf("got %v", answer)
		}
		if sumTree(t, directory) != before {
			t.Error("the user's files have changed")
		}
	})
}

// TestReadOnlyVolumeStaysWithItsData checks that a run on a read-only volume keeps using the data that it has locked,
// even if another benchmark retains data too.
func TestReadOnlyVolumeStaysWithItsData(t *testing.T) {
	withMounts(t, func() {
		writer := serve(t, nil)
		writer.laysOut(lays("a", "abc"))
		writer.dropSpare() // The lock of the spare fio would outlive the agent.
		writer.finish(false)
		reader := serveAt(t, readOnly(t, writer.directory), func(a *Agent) {
			a.env.Config.BenchmarkUID, a.env.Config.Benchmark = "reader", "reading"
			a.env.Config.Volumes[0].ReadOnly = true
		})
		reader.run(lays("a", "abc"), noLimit)
		first := serveAt(t, writer.directory, func(a *Agent) { a.env.Config.BenchmarkUID = "0-first" })
		first.laysOut(lays("a", "def"))
		first.dropSpare()
		first.finish(false)
		if ended, _ := reader.run(lays("b", "abc"), noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
			t.Errorf("got %v", ended)
		}
		must(t, os.RemoveAll(filepath.Join(writer.directory, dataPath)))
		reader.run(lays("c", "def"), noLimit)
		other := serveAt(t, writer.directory, func(a *Agent) {
			a.env.Config.BenchmarkUID, a.env.Timeouts.Held = "0-first", 300*time.Millisecond
		})
		if _, err := other.Load(t.Context(), lays("a", "def")); reasonIn(err) != tool.ReasonHeld {
			t.Errorf("the data that it reads instead is not locked: %v", err)
		}
	})
}

// TestCommandBesideADirectoryWithoutALayout checks that a directory without a layout does not count as retained data: a
// user's program works in the target's own folder beside it.
func TestCommandBesideADirectoryWithoutALayout(t *testing.T) {
	withMounts(t, func() {
		directory := t.TempDir()
		must(t, os.WriteFile(filepath.Join(directory, "file"), []byte("text\n"), 0o600))
		writer := serveAt(t, directory, nil)
		writer.run(request("a", quickWrite), noLimit)
		asReader := func(a *Agent) {
			a.env.Config.BenchmarkUID, a.env.Config.Benchmark = "reader", "reading"
			a.env.Config.Volumes[0].ReadOnly = true
		}
		for _, id := range []string{"while it is used", "after that"} {
			reader := serveAt(t, readOnly(t, directory), asReader)
			ended, _ := reader.run(commandRequest(id, "wc", "-l", "file"), noLimit)
			if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
				t.Errorf("%s: got %v", id, ended)
			}
			writer.finish(false)
		}
	})
}

// TestNoInodesForNewFiles checks that a step that creates more files than the volume has inodes is refused before it
// creates any.
func TestNoInodesForNewFiles(t *testing.T) {
	withMounts(t, func() {
		directory := t.TempDir()
		must(t, unix.Mount("none", directory, "tmpfs", 0, "size=8m,nr_inodes=100"))
		r := serveAt(t, directory, nil)
		load := request("a", quickWrite)
		load.Dataset.NewFiles = 5000
		_, err := r.Load(t.Context(), load)
		if reasonIn(err) != tool.ReasonNoInodes || !strings.Contains(err.Error(), "creates 5000 files") {
			t.Errorf("got %v", err)
		}
		load.Dataset.NewFiles = 50
		r.load(load)
		r.stopped("a")
		if answer := r.finish(true); !answer.GetDataRemoved() || len(r.left()) > 0 {
			t.Errorf("got %v, left %v", answer, r.left())
		}
		must(t, unix.Unmount(directory, unix.MNT_DETACH))
	})
}

// TestNoRoomForADirectory checks that a step is refused if the volume has no space for the client's directory, and that
// nothing is left on the volume.
func TestNoRoomForADirectory(t *testing.T) {
	withMounts(t, func() {
		directory := t.TempDir()
		must(t, unix.Mount("none", directory, "tmpfs", 0, "size=64k"))
		must(t, os.WriteFile(filepath.Join(directory, "full"), make([]byte, 64<<10), 0o600))
		r := serveAt(t, directory, nil)
		if _, err := r.Load(t.Context(), request("a", quickWrite)); reasonIn(err) != tool.ReasonNoSpace {
			t.Errorf("got %v", err)
		}
		if answer := r.finish(true); !answer.GetDataRemoved() || answer.GetProblem() != "" {
			t.Errorf("got %v", answer)
		}
		if entries, err := os.ReadDir(directory); err != nil || len(entries) != 1 {
			t.Errorf("left: %v, %v", entries, err)
		}
		must(t, unix.Unmount(directory, unix.MNT_DETACH))
	})
}
