package agent

import (
	"bytes"
	"crypto/sha256"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// spreadFiles returns the files of a job, one on each volume.
func spreadFiles(volumes int, bytes uint64) []*agentapi.DataFile {
	var all []*agentapi.DataFile
	for i := range volumes {
		all = append(all, &agentapi.DataFile{Name: "data.0." + itoa(i), Bytes: bytes, Volume: uint32(i)})
	}
	return all
}

const spreadGlobal = "[global]\ngroup_reporting=1\nlat_percentiles=1\nfallocate=none\nfilename_format=$filenum/data.0.$filenum\nfile_service_type=roundrobin:1\n"

func onVolumes(directories ...string) func(*Agent) {
	return func(a *Agent) {
		a.env.Config.Volumes = nil
		for i, directory := range directories {
			a.env.Config.Volumes = append(a.env.Config.Volumes, VolumeConfig{Name: "v" + itoa(i), Path: directory})
		}
	}
}

// TestVolumesShareTheLoadEvenly checks that a step on a stripe of two stores writes the same number of bytes to both,
// except for I/O in flight. The figures are the stores' own records.
func TestVolumesShareTheLoadEvenly(t *testing.T) {
	t.Parallel()
	const limit = "buckets: [{name: volume, counts: bytes, baselinePerSecond: 4e7}]\n"
	first, second := mountStore(t, limit), mountStore(t, limit)
	r := serve(t, onVolumes(first.directory, second.directory))
	files := spreadFiles(2, 4<<20)
	prepare := request("prepare", spreadGlobal+"ioengine=libaio\ndirect=1\niodepth=8\nrw=write\nbs=256k\nnrfiles=2\nsize=8m\n[job]\n")
	prepare.Volume, prepare.MoreVolumes, prepare.Folders = "v0", []string{"v1"}, 2
	prepare.Dataset = &agentapi.Dataset{NewBytes: 4 << 20, Writes: files, Files: files, Content: "a", Reuse: true, MeasureUsage: true}
	prepare.GetFio().WrittenBytes = 8 << 20
	ended, _ := r.run(prepare, noLimit)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || ended.GetUsage().GetApparentBytes() != 8<<20 || ended.GetUsage().GetFiles() != 2 {
		t.Fatalf("got %v", ended)
	}
	for i, store := range []*store{first, second} {
		if info, err := os.Stat(filepath.Join(store.directory, dataPath, "data.0."+itoa(i))); err != nil || info.Size() != 4<<20 {
			t.Errorf("volume %d: %v, %v", i, info, err)
		}
	}
	before := [2]float64{first.written(), second.written()}
	for id, load := range map[string]struct {
		words    string
		inFlight float64
	}{
		"random":   {"rw=randwrite\niodepth=32\nbs=4k\n", 32 * 4096},
		"in order": {"rw=write\niodepth=1\nbs=64k\n", 65536},
	} {
		// Write only half of each file, so that the file sizes do not balance the load.
		step := request(id, spreadGlobal+"ioengine=libaio\ndirect=1\nnrfiles=2\nsize=8m\nio_size=4m\n"+load.words+"[job]\n")
		step.Volume, step.MoreVolumes, step.Folders = "v0", []string{"v1"}, 2
		step.Dataset = &agentapi.Dataset{Files: files}
		step.GetFio().MaxOutstanding = 32
		if ended, _ := r.run(step, noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
			t.Fatalf("%s: %v", id, ended)
		}
		after := [2]float64{first.written(), second.written()}
		one, two := after[0]-before[0], after[1]-before[1]
		if before = after; one+two < 4<<20 || math.Abs(one-two) > load.inFlight {
			t.Errorf("%s: %.0f bytes on the first, %.0f on the second", id, one, two)
		}
	}
	again := request("again", prepare.GetFio().GetJob())
	again.Volume, again.MoreVolumes, again.Folders, again.Dataset = prepare.GetVolume(), prepare.GetMoreVolumes(), 2, prepare.GetDataset()
	if ended, records := r.run(again, noLimit); notices(ended, records)[volumes.NoticeReused] == "" {
		t.Errorf("what was laid out is not used again: %v, %v", ended, notices(ended, records))
	}
	if answer := r.finish(true); !answer.GetDataRemoved() {
		t.Errorf("got %v", answer)
	}
	for _, store := range []*store{first, second} {
		if entries, err := os.ReadDir(store.directory); err != nil || len(entries) > 0 {
			t.Errorf("left: %v, %v", entries, err)
		}
	}
}

// written returns the number of bytes that the store has accepted so far. The store records whole seconds, so written
// waits until the current second has ended.
func (s *store) written() float64 {
	s.t.Helper()
	now := float64(time.Now().UnixNano()) / 1e9
	var bytes float64
	eventually(s.t, "the store does not record the second that has ended", func() bool {
		told := s.truth()
		if len(told.seconds) == 0 || told.seconds[len(told.seconds)-1] < now {
			return false
		}
		bytes = told.bytes[len(told.bytes)-1]
		return true
	})
	return bytes
}

func loop(t *testing.T, bytes int64) (device, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "disk")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Truncate(file, bytes))
	said, err := exec.CommandContext(t.Context(), "losetup", "--find", "--show", file).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device can be made here: %v: %s", err, said)
	}
	device = strings.TrimSpace(string(said))
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	return device, file
}

func onDevice(device string) func(*Agent) {
	return func(a *Agent) {
		a.env.Config.Volumes = []VolumeConfig{{Name: "disk", Path: device, Device: true}}
		a.env.Timeouts.Held = 300 * time.Millisecond
	}
}

// deviceStep returns a step that works on 8 MiB of a device, behind its ownership mark.
func deviceStep(id, load string) *agentapi.LoadRequest {
	step := request(id, "[global]\ngroup_reporting=1\nlat_percentiles=1\nfallocate=none\n[job]\nfilename=0\noffset=1m\nsize=8m\nioengine=libaio\ndirect=1\nbs=64k\n"+load)
	step.Folders, step.RawWrites = 1, true
	step.Dataset = &agentapi.Dataset{Files: []*agentapi.DataFile{{Name: "device", Bytes: 8 << 20}}}
	return step
}

func devicePrepare(id string) *agentapi.LoadRequest {
	step := deviceStep(id, "rw=write\n")
	step.Dataset.Writes, step.Dataset.Content, step.Dataset.Reuse = step.Dataset.GetFiles(), "a", true
	step.GetFio().WrittenBytes = 8 << 20
	return step
}

func deviceRead(id string) *agentapi.LoadRequest {
	step := deviceStep(id, "rw=randread\ntime_based=1\nruntime=1\n")
	step.Dataset.Reads = step.Dataset.GetFiles()
	step.GetFio().DurationNanoseconds = int64(time.Second)
	return step
}

// TestEmptyDevice checks that the agent marks an empty device, lays it out once, measures it, and leaves it empty.
func TestEmptyDevice(t *testing.T) {
	t.Parallel()
	device, file := loop(t, 32<<20)
	r := serve(t, onDevice(device))
	described, err := r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1})
	must(t, err)
	if volume := described.GetVolumes()[0]; !volume.GetRaw() || volume.GetTotalBytes() != 32<<20 || volume.GetProblem() != "" {
		t.Errorf("got %v", volume)
	}
	if _, err := r.Load(t.Context(), deviceRead("early")); reasonIn(err) != tool.ReasonNotPrepared || !strings.Contains(err.Error(), "only 0 are laid out") {
		t.Errorf("a read of data that was never written: %v", err)
	}
	if ended, _ := r.run(devicePrepare("prepare"), noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	ended, _ := r.run(deviceRead("read"), noLimit)
	if bytes, _ := sums(ended.GetOperations()); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || bytes == 0 || ended.GetUnwrittenBytes() != 0 {
		t.Errorf("got %v", ended)
	}
	if ended, _ := r.run(devicePrepare("again"), noLimit); len(ended.GetOperations()) > 0 {
		t.Errorf("it was laid out again: %v", ended)
	}
	// The mark and the lock exclude other clients and other benchmarks.
	other := serve(t, onDevice(device))
	if _, err := other.Load(t.Context(), deviceRead("b")); reasonIn(err) != tool.ReasonHeld {
		t.Errorf("beside its holder: %v", err)
	}
	if answer := r.finish(true); !answer.GetDataRemoved() {
		t.Errorf("got %v", answer)
	}
	text, err := os.ReadFile(file)
	must(t, err)
	if left := len(bytes.Trim(text, "\x00")); left != 0 {
		t.Errorf("%d bytes are left", left)
	}
}

// TestDeviceWithRemainingData checks that the agent reports data that remains on a released device. Loop devices
// support discard, so the test writes where the agent does not discard.
func TestDeviceWithRemainingData(t *testing.T) {
	t.Parallel()
	device, _ := loop(t, 32<<20)
	r := serve(t, onDevice(device))
	if ended, _ := r.run(devicePrepare("prepare"), noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	other, err := os.OpenFile(device, os.O_RDWR, 0)
	must(t, err)
	_, err = other.WriteAt([]byte("x"), 32<<20-1)
	must(t, err)
	must(t, other.Close())
	if answer := r.finish(true); answer.GetDataRemoved() || !strings.Contains(answer.GetProblem(), "volume disk: "+device+" was released, but the data on it remains") {
		t.Errorf("got %v", answer)
	}
}

// TestReadingRunLeavesTheDevice checks that a run that may not write to a device does not remove the data that an
// earlier run has retained there. An agent of the earlier run still removes it, even if that agent has not used the
// device.
func TestReadingRunLeavesTheDevice(t *testing.T) {
	t.Parallel()
	device, file := loop(t, 32<<20)
	first := serve(t, onDevice(device))
	if ended, _ := first.run(devicePrepare("prepare"), noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	first.finish(false)
	before, err := os.ReadFile(file)
	must(t, err)
	reader := serve(t, onDevice(device))
	reader.agent.env.Config.RunUID = "run-2"
	read := deviceRead("read")
	read.RawWrites = false
	if ended, _ := reader.run(read, noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	reader.finish(true)
	after, err := os.ReadFile(file)
	must(t, err)
	if !bytes.Equal(after, before) {
		t.Error("the run that only reads has changed the device")
	}
	if answer := serve(t, onDevice(device)).finish(true); !answer.GetDataRemoved() {
		t.Errorf("got %v", answer)
	}
	after, err = os.ReadFile(file)
	must(t, err)
	if left := len(bytes.Trim(after, "\x00")); left != 0 {
		t.Errorf("%d bytes are left", left)
	}
}

// TestInterruptedLayoutOfDevice checks that data is not reused if another layout was loaded meanwhile, because that
// layout may have begun to replace it.
func TestInterruptedLayoutOfDevice(t *testing.T) {
	t.Parallel()
	device, _ := loop(t, 32<<20)
	r := serve(t, onDevice(device))
	r.run(devicePrepare("a"), noLimit)
	if ended, _ := r.run(devicePrepare("again"), noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || len(ended.GetOperations()) > 0 {
		t.Fatalf("the data is not used again: %v", ended)
	}
	other := devicePrepare("b")
	other.Dataset.Content = "b"
	r.load(other)
	r.stopped("b")
	ended, _ := r.run(devicePrepare("c"), noLimit)
	if bytes, _ := sums(ended.GetOperations()); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || bytes != 8<<20 {
		t.Errorf("of 8 MiB that another layout may have begun to replace, %d bytes were written: %v", bytes, ended)
	}
}

// TestDeviceThatIsNotEmpty checks that the refusal names the foreign data on a device, and that no byte of it changes.
func TestDeviceThatIsNotEmpty(t *testing.T) {
	t.Parallel()
	put := func(at int64, text string) func(*testing.T, string) {
		return func(t *testing.T, file string) {
			t.Helper()
			f, err := os.OpenFile(file, os.O_RDWR, 0)
			must(t, err)
			_, err = f.WriteAt([]byte(text), at)
			must(t, err)
			must(t, f.Close())
		}
	}
	for name, test := range map[string]struct {
		fill func(*testing.T, string)
		word string
	}{
		"ext4": {func(t *testing.T, file string) {
			t.Helper()
			if said, err := exec.CommandContext(t.Context(), "mkfs.ext4", "-q", file).CombinedOutput(); err != nil {
				t.Skipf("no mkfs.ext4 here: %v %s", err, said)
			}
		}, "ext2, ext3 or ext4"},
		"XFS": {put(0, "XFSB"), "XFS"}, "LVM": {put(0x218, "LVM2 001"), "LVM2"}, "NTFS": {put(3, "NTFS    "), "NTFS"},
		"GPT at the end": {put(32<<20-512, "EFI PART"), "GPT"},
		"unknown data":   {put(3_000_000, "x"), "unknown data at byte 3000000"},
		"another's mark": {put(0, `storagebench raw device`+"\n"+`{"schemaVersion":1,"benchmarkUID":"other","benchmark":"theirs","run":"theirs-1"}`), `benchmark "theirs"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			device, file := loop(t, 32<<20)
			test.fill(t, file)
			must(t, exec.CommandContext(t.Context(), "blockdev", "--flushbufs", device).Run())
			sum := func() [32]byte {
				text, err := os.ReadFile(file)
				must(t, err)
				return sha256.Sum256(text)
			}
			before := sum()
			r := serve(t, onDevice(device))
			if _, err := r.Load(t.Context(), devicePrepare("a")); reasonIn(err) != tool.ReasonVolume || !strings.Contains(err.Error(), test.word) || !strings.Contains(err.Error(), device) {
				t.Errorf("got %v, want %q", err, test.word)
			}
			read := deviceRead("b")
			read.RawWrites = false
			if name != "another's mark" {
				if ended, _ := r.run(read, noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || ended.GetUnwrittenBytes() == 0 {
					t.Errorf("a read without permission to write: %v", ended)
				}
			}
			r.finish(true)
			if sum() != before {
				t.Error("its bytes have changed")
			}
		})
	}
}

func TestDeviceRefusals(t *testing.T) {
	t.Parallel()
	device, file := loop(t, 8<<20)
	small := serve(t, onDevice(device))
	if _, err := small.Load(t.Context(), devicePrepare("a")); reasonIn(err) != tool.ReasonNoSpace || !strings.Contains(err.Error(), "7.0 MiB") {
		t.Errorf("too small: %v", err)
	}
	unasked := devicePrepare("b")
	unasked.RawWrites = false
	if _, err := small.Load(t.Context(), unasked); reasonIn(err) != tool.ReasonVolume || !strings.Contains(err.Error(), "allowRawDeviceWrites") {
		t.Errorf("without permission to write: %v", err)
	}
	none := serve(t, onDevice(file))
	if _, err := none.Load(t.Context(), devicePrepare("c")); err == nil || !strings.Contains(err.Error(), "is not a block device") {
		t.Errorf("a file: %v", err)
	}
}

// TestNoInodes checks that a step is refused if the volume has space for its bytes but too few inodes for its files.
func TestNoInodes(t *testing.T) {
	t.Parallel()
	withMounts(t, func() {
		directory := t.TempDir()
		if err := unix.Mount("none", directory, "tmpfs", 0, "size=16m,nr_inodes=20"); err != nil {
			t.Skipf("nothing can be mounted here: %v", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(directory, unix.MNT_DETACH) })
		r := serveAt(t, directory, nil)
		load := request("a", endlessWrite)
		load.Dataset = &agentapi.Dataset{NewBytes: 1 << 20}
		for i := range 100 {
			load.Dataset.Files = append(load.Dataset.Files, &agentapi.DataFile{Name: "data.0." + itoa(i), Bytes: 4096})
		}
		_, err := r.Load(t.Context(), load)
		if reasonIn(err) != tool.ReasonNoInodes || !strings.Contains(err.Error(), "creates 100 files") {
			t.Errorf("got %v", err)
		}
	})
}
