package agent

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/process"
)

// reasonIn returns the machine-readable reason in an error.
func reasonIn(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// refused loads a step that the agent must refuse, and checks that this leaves nothing behind.
func (r *rig) refused(request *agentapi.LoadRequest, reason string, words ...string) {
	r.t.Helper()
	descriptors := openFiles(r.t)
	_, err := r.Load(r.t.Context(), request)
	if err == nil || reasonIn(err) != reason {
		r.t.Fatalf("got %v (%s), want %s", err, reasonIn(err), reason)
	}
	for _, word := range append(words, "") {
		if !strings.Contains(status.Convert(err).Message(), word) || strings.Contains(status.Convert(err).Message(), "rpc error") {
			r.t.Errorf("message %q, want %q in it", status.Convert(err).Message(), word)
		}
	}
	if got := openFiles(r.t); got > descriptors {
		r.t.Errorf("%d files are open, %d were before", got, descriptors)
	}
	if below, err := process.Descendants(os.Getpid()); err != nil || len(below) > 0 {
		r.t.Errorf("processes are left: %v, %v", below, err)
	}
	if answer, err := r.Describe(r.t.Context(), &agentapi.DescribeRequest{Epoch: 1}); err != nil || len(answer.GetSteps()) > 0 {
		r.t.Errorf("a refused step is known: %v, %v", answer.GetSteps(), err)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	count := 0
	for _, entry := range entries {
		// gRPC opens and closes connections at any time.
		if name, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && !strings.HasPrefix(name, "socket:") && !strings.HasPrefix(name, "/proc/") &&
			!strings.HasPrefix(filepath.Base(name), "holder-") { // The agent keeps it open until it exits.
			count++
		}
	}
	return count
}

func TestLoadRefusesBeforeAnyHarm(t *testing.T) {
	fill := func(size int64) func(*os.File) {
		return func(file *os.File) { _, _ = file.Write(make([]byte, size)) }
	}
	reads := func(bytes uint64) *agentapi.Dataset {
		return &agentapi.Dataset{Reads: []*agentapi.DataFile{{Name: "data.0.0", Bytes: bytes}}}
	}
	tests := map[string]struct {
		prepare func(*rig)
		change  func(*agentapi.LoadRequest)
		reason  string
		words   []string
	}{
		"missing directory": {prepare: func(r *rig) { r.agent.env.Config.Volumes[0].Path = filepath.Join(r.directory, "none") },
			reason: tool.ReasonMissing, words: []string{"none does not exist", "mount the volume there first"}},
		"a file in its place": {prepare: func(r *rig) {
			r.agent.env.Config.Volumes[0].Path = filepath.Join(r.directory, "file")
			must(r.t, os.WriteFile(filepath.Join(r.directory, "file"), nil, 0o600))
		}, reason: tool.ReasonVolume, words: []string{"is not a directory"}},
		"another directory than planned": {prepare: func(r *rig) {
			mount, err := dataset.ProveMount(r.directory, dataset.Expectation{})
			must(r.t, err)
			r.agent.env.Config.Volumes[0].Expect = dataset.Expectation{Device: mount.Device, Inode: mount.Inode}
			must(r.t, os.Rename(r.directory, r.directory+"-moved"))
			must(r.t, os.Mkdir(r.directory, 0o700))
		}, reason: tool.ReasonVolume, words: []string{"is not the directory that the run was planned for"}},
		"unknown volume": {change: func(l *agentapi.LoadRequest) { l.Volume = "other" }, words: []string{`no volume "other"`}},
		"no space": {change: func(l *agentapi.LoadRequest) { l.Dataset = &agentapi.Dataset{NewBytes: 1 << 60} },
			reason: tool.ReasonNoSpace, words: []string{"1152921504606846976 bytes", "free up space, enlarge the volume, or use a smaller dataset"}},
		"file to read is missing": {change: func(l *agentapi.LoadRequest) { l.Dataset = reads(1 << 20) },
			reason: tool.ReasonNotPrepared, words: []string{"data.0.0, which no phase has laid out"}},
		"file to read is short": {prepare: func(r *rig) { r.put("data.0.0", fill(1<<19)) },
			change: func(l *agentapi.LoadRequest) { l.Dataset = reads(1 << 20) },
			reason: tool.ReasonNotPrepared, words: []string{"reads 1048576 bytes of file data.0.0, which has only 524288"}},
		"file to read is elsewhere": {change: func(l *agentapi.LoadRequest) {
			l.Dataset = &agentapi.Dataset{Reads: []*agentapi.DataFile{{Name: "../../owner.json"}}}
		}, reason: tool.ReasonVolume, words: []string{"is not a path inside the dataset"}},
		"a link in place of a file to write": {prepare: func(r *rig) {
			r.put("data.0.0", fill(0))
			file := filepath.Join(r.directory, dataPath, "data.0.0")
			must(r.t, os.Remove(file))
			must(r.t, os.Symlink(filepath.Join(r.t.TempDir(), "of-another-user"), file))
		}, change: func(l *agentapi.LoadRequest) {
			l.Dataset = &agentapi.Dataset{NewBytes: 1 << 20, Files: []*agentapi.DataFile{{Name: "data.0.0", Bytes: 1 << 20}}}
		}, reason: tool.ReasonVolume, words: []string{"data.0.0 belongs to another owner (it is not a regular file)"}},
		"no such fio": {prepare: func(r *rig) { r.agent.env.Config.FioPath = "/nonexistent/fio" },
			reason: tool.ReasonTool, words: []string{"/nonexistent/fio"}},
		"no program": {prepare: func(r *rig) { r.agent.env.Config.FioPath = executable(r.t, "")[:1] + "etc/passwd" },
			reason: tool.ReasonTool, words: []string{"permission denied"}},
		"foreign owner": {prepare: func(r *rig) {
			must(r.t, os.MkdirAll(filepath.Join(r.directory, ".storagebench/benchmark-1/mine"), 0o700))
		}, reason: tool.ReasonVolume, words: []string{"belongs to another owner"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := serve(t, nil)
			load := request("a", endlessWrite)
			if test.prepare != nil {
				test.prepare(r)
				if len(r.agent.steps) > 0 {
					// Creating the file took a step, which is irrelevant for the test.
					r.agent.steps = map[string]*step{}
				}
			}
			if test.change != nil {
				test.change(load)
			}
			r.refused(load, test.reason, test.words...)
			// The agent still answers, and refuses the step again.
			if _, err := r.Load(t.Context(), load); err == nil {
				t.Error("it is not refused again")
			}
		})
	}
}

// TestNoRoomForADatasetThatGrows checks that a step of a dataset that grows within a run needs space only for bytes
// that earlier steps have not written.
func TestNoRoomForADatasetThatGrows(t *testing.T) {
	withMounts(t, func() {
		directory := tmpfs(t, "size=16m")
		r := serveAt(t, directory, nil)
		r.put("data.0.0", func(file *os.File) { _, _ = file.Write(make([]byte, 8<<20)) })
		r.agent.steps = map[string]*step{} // Creating the file took a step.
		load := request("a", endlessWrite)
		grow := func(bytes, newBytes uint64) {
			load.Dataset = &agentapi.Dataset{NewBytes: newBytes, Files: []*agentapi.DataFile{{Name: "data.0.0", Bytes: bytes}}}
		}
		grow(20<<20, 12<<20)
		r.refused(load, tool.ReasonNoSpace, "12582912 bytes")
		grow(12<<20, 20<<20) // The step does not list all files.
		r.refused(load, tool.ReasonNoSpace, "12582912 bytes")
		grow(8<<20, 4<<20) // An earlier run has retained all 8 MiB.
		must(t, os.WriteFile(filepath.Join(directory, "filler"), make([]byte, 6<<20), 0o600))
		r.load(load)
		r.stopped("a")
	})
}

// TestNoRoomForAllClients checks that clients that share a volume need space for the data of all of them, except for
// data that they have or may have already.
func TestNoRoomForAllClients(t *testing.T) {
	withMounts(t, func() {
		directory := tmpfs(t, "size=24m")
		r := serveAt(t, directory, nil)
		file := filepath.Join(putData(t, directory, 1), "data.0.0")
		must(t, os.Remove(file)) // The client has loaded the step and waits.
		load := request("a", endlessWrite)
		load.Dataset = &agentapi.Dataset{NewBytes: 10 << 20, Sharing: 3}
		r.refused(load, tool.ReasonNoSpace, "needs 30.0 MiB")
		putData(t, directory, 1) // An earlier step has laid out a byte.
		load.Dataset.Files = []*agentapi.DataFile{{Name: "data.0.0", Bytes: 10 << 20}}
		r.refused(load, tool.ReasonNoSpace, "needs 30.0 MiB")
		must(t, os.WriteFile(file, make([]byte, 10<<20), 0o600))
		load.Dataset.NewBytes = 6 << 20
		r.load(load)             // 12 of 14 MiB
		load.Dataset.Sharing = 0 // A client was lost, and so was the answer.
		r.load(load)
		r.stopped("a")
		unknown := request("b", endlessWrite)
		unknown.Dataset = &agentapi.Dataset{NewBytes: 6 << 20, Sharing: 3}
		r.load(unknown)
		r.stopped("b")
	})
}

// TestNoInodesForAllClients checks that clients that share a volume need inodes for the files of all of them, except
// for files that they may have already.
func TestNoInodesForAllClients(t *testing.T) {
	withMounts(t, func() {
		directory := tmpfs(t, "size=8m,nr_inodes=150")
		r := serveAt(t, directory, nil)
		load := request("a", endlessWrite)
		load.Dataset = &agentapi.Dataset{NewFiles: 50, NewFolders: []string{"small.0.0"}, Sharing: 3}
		r.refused(load, tool.ReasonNoInodes, "creates 150 files")
		folder := filepath.Join(putData(t, directory, 1), "small.0.0")
		r.refused(load, tool.ReasonNoInodes, "creates 150 files")
		must(t, os.Mkdir(folder, 0o700)) // The client has loaded the step and waits.
		r.refused(load, tool.ReasonNoInodes, "creates 150 files")
		must(t, os.WriteFile(filepath.Join(folder, "0"), nil, 0o600)) // An earlier attempt has created files.
		laid := request("b", endlessWrite)
		laid.Dataset = &agentapi.Dataset{NewBytes: 1, Sharing: 3}
		for i := range 50 {
			laid.Dataset.Files = append(laid.Dataset.Files, &agentapi.DataFile{Name: fmt.Sprintf("data.%d.0", i+1)})
		}
		r.refused(laid, tool.ReasonNoInodes, "creates 150 files")
		r.load(load)
		r.stopped("a")
	})
}

// TestLoadOnOtherFileSystems checks steps on a read-only file system, on a full one, and on one that is mounted over
// the planned one.
func TestLoadOnOtherFileSystems(t *testing.T) {
	t.Parallel()
	withMounts(t, func() {
		directory := t.TempDir()
		mount := func(flags uintptr, options string) {
			t.Helper()
			if err := unix.Mount("tmpfs", directory, "tmpfs", flags, options); err != nil {
				t.Skipf("nothing can be mounted here: %v", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(directory, unix.MNT_DETACH) })
		}
		planned, err := dataset.ProveMount(directory, dataset.Expectation{})
		must(t, err)
		r := serveAt(t, directory, nil)
		t.Cleanup(func() { r.agent.finish(volumes.Removal{}, "the test is over") })
		mount(unix.MS_RDONLY, "size=1m")
		r.refused(request("a", endlessWrite), tool.ReasonReadOnly, "is on a read-only file system", "mount it read-write")
		must(t, unix.Unmount(directory, 0))

		r.agent.env.Config.Volumes[0].Expect = dataset.Expectation{Device: planned.Device, Inode: planned.Inode}
		mount(0, "size=16m")
		r.refused(request("a", endlessWrite), tool.ReasonVolume, "is not the directory that the run was planned for")
		r.agent.env.Config.Volumes[0].Expect = dataset.Expectation{}

		// Space runs out in a step that did not declare the space that it needs.
		ended, _ := r.run(request("full", global+"ioengine=psync\nrw=write\nbs=64k\nsize=64m\n[job]\n"), noLimit)
		if ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended.GetReason() != "NoSpace" || !strings.Contains(ended.GetMessage(), "the volume is full") {
			t.Errorf("a full volume: %v", ended)
		}
		// tmpfs accepts O_DIRECT but keeps everything in memory.
		must(t, os.RemoveAll(filepath.Join(directory, ".storagebench")))
		load := request("direct", global+"ioengine=psync\nrw=write\nbs=64k\nsize=4m\ndirect=1\n[job]\n")
		load.GetFio().Direct = true
		load.Dataset = &agentapi.Dataset{Files: []*agentapi.DataFile{{Name: "data.0.0", Bytes: 4 << 20}}}
		ended, records := r.run(load, noLimit)
		if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
			t.Skipf("this tmpfs does not take O_DIRECT: %v", ended.GetMessage())
		}
		if said := notices(ended, records)["DirectIONotHonoured"]; !strings.Contains(said, "4194304 of the files' 4194304 bytes are in the page cache") {
			t.Errorf("it does not warn of the cache: %v", ended)
		}
	})
}

func TestLookAtTheFiles(t *testing.T) {
	t.Parallel()
	write := global + "ioengine=psync\nrw=write\nbs=64k\nsize=4m\nend_fsync=1\n[job]\n"
	read := global + "ioengine=psync\nrw=read\nbs=64k\nsize=4m\nallow_file_create=0\n[job]\n"
	file := []*agentapi.DataFile{{Name: "data.0.0", Bytes: 4 << 20}}
	sparse := func(file *os.File) {
		_, err := file.WriteAt(make([]byte, 64<<10), 0)
		if err == nil {
			err = file.Truncate(4 << 20)
		}
		if err == nil {
			_, err = file.Seek(0, io.SeekEnd)
		}
		must(t, err)
	}
	tests := map[string]struct {
		put       func(*os.File)
		job       string
		dataset   *agentapi.Dataset
		direct    bool
		outcome   agentapi.Outcome
		reason    string
		unwritten uint64
	}{
		"whole layout":   {job: write, dataset: &agentapi.Dataset{Writes: file, Files: file}, outcome: agentapi.Outcome_OUTCOME_COMPLETE},
		"short layout":   {job: strings.Replace(write, "4m", "2m", 1), dataset: &agentapi.Dataset{Writes: file}, outcome: agentapi.Outcome_OUTCOME_FAILED, reason: "LayoutIncomplete"},
		"layout of less": {job: strings.Replace(write, "rw=write", "rw=write\nfilesize=4m\nio_size=1m\nfallocate=none", 1), dataset: &agentapi.Dataset{Writes: file}, outcome: agentapi.Outcome_OUTCOME_FAILED, reason: "LayoutIncomplete"},
		"layout elsewhere": {job: strings.Replace(write, "data.$", "other.$", 1), dataset: &agentapi.Dataset{Writes: file},
			outcome: agentapi.Outcome_OUTCOME_FAILED, reason: "LayoutIncomplete"},
		"read of a sparse file": {put: sparse, job: read, dataset: &agentapi.Dataset{Reads: file, Files: file},
			outcome: agentapi.Outcome_OUTCOME_COMPLETE, unwritten: 4<<20 - 64<<10},
		"read of a reserved file": {put: func(file *os.File) { must(t, unix.Fallocate(int(file.Fd()), 0, 0, 4<<20)) }, job: read,
			dataset: &agentapi.Dataset{Reads: file}, outcome: agentapi.Outcome_OUTCOME_COMPLETE, unwritten: 4 << 20},
		"written while it is read": {put: sparse, job: strings.Replace(read, "rw=read", "rw=readwrite\nrwmixread=10\nsize=4m\nloops=3", 1),
			dataset: &agentapi.Dataset{Reads: file}, outcome: agentapi.Outcome_OUTCOME_COMPLETE, unwritten: 4<<20 - 64<<10},
		"direct layout": {job: strings.Replace(write, "bs=64k", "bs=64k\ndirect=1", 1), direct: true,
			dataset: &agentapi.Dataset{Writes: file, Files: file}, outcome: agentapi.Outcome_OUTCOME_COMPLETE},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, nil)
			if test.put != nil {
				r.put("data.0.0", test.put)
			}
			load := request("a", test.job)
			load.Dataset, load.GetFio().Direct = test.dataset, test.direct
			ended, records := r.run(load, noLimit)
			if ended.GetOutcome() != test.outcome || ended.GetReason() != test.reason {
				t.Errorf("got %v", ended)
			}
			if ended.GetUnwrittenBytes() != test.unwritten {
				t.Errorf("%d bytes were read and never written, want %d", ended.GetUnwrittenBytes(), test.unwritten)
			}
			if said, warned := notices(ended, records)["DirectIONotHonoured"]; warned {
				t.Errorf("it warns: %s", said)
			}
		})
	}
}

// TestCachedPartOfALargeDataset checks that a step that accesses only a small part of its files is judged by the bytes
// that it moved: they must not be in the page cache.
func TestCachedPartOfALargeDataset(t *testing.T) {
	t.Parallel()
	for option, warns := range map[string]bool{"direct=0": true, "direct=1": false} {
		r := serve(t, nil)
		r.put("data.1.0", func(file *os.File) { must(t, file.Truncate(1<<30)) })
		load := request("a", global+"ioengine=psync\nrw=write\nbs=64k\nsize=8m\n"+option+"\n[job]\n")
		load.GetFio().Direct = true
		load.Dataset = &agentapi.Dataset{Files: []*agentapi.DataFile{
			{Name: "data.0.0", Bytes: 8 << 20}, {Name: "data.1.0", Bytes: 1 << 30}}}
		ended, records := r.run(load, noLimit)
		said, warned := notices(ended, records)["DirectIONotHonoured"]
		if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || warned != warns ||
			warns && !strings.HasSuffix(said, "are in the page cache after a step that moved 8388608") {
			t.Errorf("%s: %v", option, ended)
		}
	}
}

func TestToolRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		job, fio string
		reason   string
		words    []string
	}{
		"bad option":   {job: global + "no_such_option=1\n[job]\n", reason: "BadOption", words: []string{"fio rejected an option", "no_such_option"}},
		"bad value":    {job: global + "rw=sideways\nsize=1m\n[job]\n", reason: "BadOption", words: []string{"sideways"}},
		"bad engine":   {job: global + "ioengine=warp\nsize=1m\n[job]\n", reason: "BadEngine", words: []string{"warp"}},
		"no job":       {job: "\n", reason: "BadOption"},
		"no file":      {job: global + "ioengine=psync\nrw=read\nsize=1m\nallow_file_create=0\n[job]\n", reason: "NoSuchFile", words: []string{"prepare"}},
		"says noise":   {fio: fioVersion + "cat >/dev/null; printf '\\377\\376{\"a\": }\\n' >&2; printf 'half a \\303'; exit 3\n", reason: "Other"},
		"says nothing": {fio: fioVersion + "cat >/dev/null\n", reason: "NoOutput"},
		"dies at once": {fio: fioVersion + "exit 7\n", reason: "NoOutput", words: []string{"exit code 7"}},
		"kills itself": {fio: fioVersion + "kill -9 $$\n", reason: "Killed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, func(a *Agent) {
				if test.fio != "" {
					a.env.Config.FioPath = executable(t, test.fio)
				}
			})
			load := request("a", test.job)
			r.load(load)
			// If the tool has already exited, the step ends without this start.
			now := r.agent.env.Clock.Monotonic()
			_, _ = r.Start(t.Context(), &agentapi.StartRequest{Epoch: 1, Step: key("a"), AtNanoseconds: now, DeadlineNanoseconds: now + 20e9})
			ended, _ := r.finished("a")
			if ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended.GetReason() != test.reason && test.fio == "" {
				t.Errorf("got %v", ended)
			}
			for _, word := range test.words {
				if !strings.Contains(ended.GetMessage(), word) {
					t.Errorf("message %q, want %q in it", ended.GetMessage(), word)
				}
			}
			if test.fio != "" {
				t.Logf("%s: %s", ended.GetReason(), ended.GetMessage())
			}
		})
	}
}

func TestLoadNeedsAStep(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for _, load := range []*agentapi.LoadRequest{{Epoch: 1}, {Epoch: 1, Step: key("a")}} {
		if _, err := r.Load(t.Context(), load); status.Code(err) != codes.InvalidArgument {
			t.Errorf("got %v", err)
		}
	}
}
