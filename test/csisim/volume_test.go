package csisim_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/csisim"
	"github.com/storagebench/storagebench/test/hang"
)

// fill writes to a file until the volume is full, and returns the number of bytes.
func fill(t *testing.T, name string) int64 {
	t.Helper()
	file, err := os.Create(name)
	must(t, err)
	defer file.Close()
	var all int64
	for piece := make([]byte, 256<<10); ; {
		n, err := file.Write(piece)
		if all += int64(n); errors.Is(err, unix.ENOSPC) {
			return all
		}
		must(t, err)
		if all > 1<<30 {
			t.Fatal("it is never full")
		}
	}
}

func stats(t *testing.T, l *life) (bytes, inodes *csi.VolumeUsage) {
	t.Helper()
	response, err := l.d.NodeGetVolumeStats(t.Context(), &csi.NodeGetVolumeStatsRequest{VolumeId: l.id, VolumePath: l.target()})
	must(t, err)
	return response.GetUsage()[0], response.GetUsage()[1]
}

// TestFull checks that a volume is full at its capacity, or at csisim/size, that its statistics agree, and that growing
// it makes room.
func TestFull(t *testing.T) {
	d := newDriver(t, optionsOf(newHome(t), generic))
	l := newLife(t, d, "pvc", false)
	l.up()
	if got := fill(t, l.file("file")); got != l.bytes {
		t.Errorf("it was full at %d bytes of %d", got, l.bytes)
	}
	if bytes, _ := stats(t, l); bytes.Total != l.bytes || bytes.Used != l.bytes || bytes.Available != 0 {
		t.Errorf("the full volume tells %v", bytes)
	}
	must(t, l.expand())
	if got := fill(t, l.file("more")); got != 8*mebibyte {
		t.Errorf("there was room for %d bytes more, not 8 MiB", got)
	}
	l.down()

	l = newLife(t, d, "small", false)
	l.parameters = map[string]string{csisim.SizeParameter: "1Mi", csisim.InodesParameter: "3"}
	l.up()
	if got := fill(t, l.file("file")); got != mebibyte {
		t.Errorf("it was full at %d bytes, not 1 MiB", got)
	}
	must(t, os.WriteFile(l.file("two"), nil, 0o644))
	must(t, os.WriteFile(l.file("three"), nil, 0o644))
	if err := os.WriteFile(l.file("four"), nil, 0o644); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a fourth file gives %v", err)
	}
	if _, inodes := stats(t, l); inodes.Available != 0 {
		t.Errorf("the volume tells %v", inodes)
	}
	l.down()
}

// TestPublishing checks mount options, read-only mounts and access modes. Publishing again with the same options
// changes nothing; with other options it fails.
func TestPublishing(t *testing.T) {
	d := newDriver(t, optionsOf(newHome(t), generic))
	l := newLife(t, d, "pvc", false)
	l.flags = []string{"noatime", "noexec", "vers=3.0", "cache=none"}
	l.up()
	var stat unix.Statfs_t
	must(t, unix.Statfs(l.target(), &stat))
	for name, flag := range map[string]int64{"noatime": unix.ST_NOATIME, "noexec": unix.ST_NOEXEC, "nosuid": unix.ST_NOSUID, "nodev": unix.ST_NODEV} {
		if stat.Flags&flag == 0 {
			t.Errorf("the mount is not %s", name)
		}
	}
	reader := filepath.Join(l.folder, "reader")
	must(t, l.publishAt(reader, true))
	must(t, l.publishAt(reader, true))
	if err := l.publishAt(reader, false); status.Code(err) != codes.AlreadyExists {
		t.Errorf("a read-only target was published again for writing: %v", err)
	}
	must(t, os.WriteFile(l.file("file"), nil, 0o644))
	if err := os.WriteFile(filepath.Join(reader, "file"), nil, 0o644); !errors.Is(err, unix.EROFS) {
		t.Errorf("a read-only mount is writable: %v", err)
	}
	if err := l.remove(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("deleted while in use: %v", err)
	}
	must(t, l.unpublishAt(reader))
	l.mode = csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	if err := l.publishAt(reader, false); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("published for a second pod with ReadWriteOncePod: %v", err)
	}
	l.mode = csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	must(t, l.publishAt(reader, false))
	if err := os.WriteFile(filepath.Join(reader, "file"), nil, 0o644); !errors.Is(err, unix.EROFS) {
		t.Errorf("a ReadOnlyMany volume is writable: %v", err)
	}
	must(t, l.unpublishAt(reader))
	l.down()
}

// TestFailuresByFile checks that editing a store's configuration file makes a store in use fail, and recover.
func TestFailuresByFile(t *testing.T) {
	d := newDriver(t, optionsOf(newHome(t), generic))
	l := newLife(t, d, "pvc", false)
	l.parameters[csisim.ScenarioParameter] = "facts"
	l.up()
	store, err := csisim.StoreOf(d.Home, d.Name, l.id)
	must(t, err)
	config, err := store.Config()
	must(t, err)
	file := filepath.Join(csisim.Folder(d.Home, d.Name), "stores", "*", "store.yaml")
	found, err := filepath.Glob(file)
	must(t, err)
	set := func(failures ...model.Failure) {
		config.Failures = failures
		text, err := yaml.Marshal(config)
		must(t, err)
		must(t, os.WriteFile(found[0]+".test", text, 0o644))
		must(t, os.Rename(found[0]+".test", found[0]))
	}
	write := func() error { return os.WriteFile(l.file("file"), content, 0o644) }
	until := func(wanted error) {
		t.Helper()
		hang.Until(t, fmt.Sprintf("writing gives %v", wanted), func() bool { return errors.Is(write(), wanted) })
	}
	for failure, wanted := range map[model.FailureError]error{
		model.FailureEIO: unix.EIO, model.FailureENOSPC: unix.ENOSPC, model.FailureEROFS: unix.EROFS,
	} {
		set(model.Failure{Error: failure})
		until(wanted)
	}
	set()
	until(nil)
	// A change through the socket takes effect at once.
	config.Failures = []model.Failure{{Error: model.FailureEROFS}}
	must(t, store.Set(config))
	if err := write(); !errors.Is(err, unix.EROFS) {
		t.Errorf("after Set writing gives %v", err)
	}
	config.Failures = nil
	must(t, store.Set(config))
	l.down()
}

// TestSharedStore checks that volumes can name one store, which shares neither their files nor their space, and that a
// volume that describes this store differently is refused.
func TestSharedStore(t *testing.T) {
	d := newDriver(t, optionsOf(newHome(t), generic))
	var lives []*life
	for _, name := range []string{"one", "two"} {
		l := newLife(t, d, name, false)
		l.parameters = map[string]string{csisim.ScenarioParameter: "facts", csisim.StoreParameter: "server"}
		l.up()
		must(t, os.WriteFile(l.file("of-"+name), content, 0o644))
		lives = append(lives, l)
	}
	other := newLife(t, d, "other", false)
	other.parameters = map[string]string{csisim.ScenarioParameter: "azure-p30", csisim.StoreParameter: "server"}
	if err := other.create(); err == nil || !strings.Contains(err.Error(), csisim.StoreParameter) {
		t.Errorf("the store described otherwise: %v", err)
	}
	if _, err := os.Stat(lives[1].file("of-one")); err == nil {
		t.Error("a volume has files of another")
	}
	fill(t, lives[0].file("file"))
	must(t, os.WriteFile(lives[1].file("still"), content, 0o644))
	stores, err := filepath.Glob(filepath.Join(csisim.Folder(d.Home, d.Name), "stores", "*"))
	must(t, err)
	if len(stores) != 1 {
		t.Errorf("there are stores %q", stores)
	}
	lives[0].down()
	must(t, os.WriteFile(lives[1].file("still"), content, 0o644))
	lives[1].down()
	clean(t, d.Options)
}

// TestDeviceIsItsStore checks that a raw device has the size of its volume, also after the volume has grown, and that
// the store's record has the bytes written to it.
func TestDeviceIsItsStore(t *testing.T) {
	requireLoop(t)
	d := newDriver(t, optionsOf(newHome(t), generic))
	l := newLife(t, d, "pvc", true)
	l.parameters[csisim.ScenarioParameter] = "azure-p30"
	l.up()
	device, err := os.OpenFile(l.target(), os.O_WRONLY|unix.O_DIRECT, 0)
	must(t, err)
	size, err := device.Seek(0, io.SeekEnd)
	must(t, err)
	if size != l.bytes {
		t.Errorf("the device has %d bytes, the volume %d", size, l.bytes)
	}
	must(t, device.Close())
	// Write through the page cache: O_DIRECT needs an aligned buffer, which a Go slice may not be.
	device, err = os.OpenFile(l.target(), os.O_WRONLY|unix.O_SYNC, 0)
	must(t, err)
	_, err = device.Write(make([]byte, 4*mebibyte))
	must(t, err)
	must(t, device.Close())
	must(t, l.expand())
	device, err = os.Open(l.target())
	must(t, err)
	if size, err = device.Seek(0, io.SeekEnd); err != nil || size != 16*mebibyte {
		t.Errorf("the device has %d bytes, %v, after it has grown to 16 MiB", size, err)
	}
	must(t, device.Close())
	time.Sleep(1100 * time.Millisecond)
	store, err := csisim.StoreOf(d.Home, d.Name, l.id)
	must(t, err)
	record, err := store.Truth()
	must(t, err)
	if sums := record.Between(record.Start, time.Now()); sums.WriteBytes != 4*mebibyte {
		t.Errorf("of 4 MiB the record has %+v", sums)
	}
	l.down()
}

// TestStatic checks that a handle that was not created becomes a volume if its attributes describe a simulation or the
// driver has a default scenario. Other handles are unknown.
func TestStatic(t *testing.T) {
	home := newHome(t)
	d := newDriver(t, optionsOf(home, "fsx.csi.aws.com"))
	l := newLife(t, d, "static", false)
	l.mode = csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	l.id, l.context = "fs-0123456789abcdef0", map[string]string{"dnsname": "fs-0123456789abcdef0.fsx.eu-central-1.amazonaws.com", "mountname": "abcdef"}
	if err := l.stage(); status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), csisim.ScenarioParameter) {
		t.Errorf("staging an unknown handle: %v", err)
	}
	l.context[csisim.ScenarioParameter], l.context[csisim.SizeParameter] = "fsx-lustre-lz4", "64Mi"
	must(t, l.stage())
	must(t, l.publish())
	l.write()
	l.read()
	if bytes, _ := stats(t, l); bytes.Total != 64*mebibyte {
		t.Errorf("it has %v", bytes)
	}
	l.down()

	o := optionsOf(home, "smb.csi.k8s.io")
	o.DefaultScenario = "fsx-windows-32-hdd"
	l = newLife(t, newDriver(t, o), "share", false)
	l.id, l.context = "server/share##", map[string]string{"source": "//server/share"}
	must(t, l.stage())
	must(t, l.publish())
	store, err := csisim.StoreOf(home, o.Name, l.id)
	must(t, err)
	config, err := store.Config()
	must(t, err)
	if wanted, _ := burstfs.Scenario(o.DefaultScenario); config.Scenario != wanted.Scenario {
		t.Errorf("the store is %q", config.Scenario)
	}
	l.down()
}

// TestModify checks that a VolumeAttributesClass changes the store of a volume in use, but cannot change its scenario.
func TestModify(t *testing.T) {
	d := newDriver(t, optionsOf(newHome(t), "ebs.csi.aws.com"))
	l := newLife(t, d, "pvc", false)
	l.bytes = 1 << 30
	l.parameters[csisim.ScenarioParameter] = "ebs-gp2"
	l.up()
	modify := func(parameters map[string]string) error {
		_, err := d.ControllerModifyVolume(t.Context(), &csi.ControllerModifyVolumeRequest{VolumeId: l.id, MutableParameters: parameters})
		return err
	}
	must(t, modify(map[string]string{"iops": "4000", csisim.OverridesParameter: "{buckets: [{name: throughput, baselinePerSecond: 5e6}]}"}))
	store, err := csisim.StoreOf(d.Home, d.Name, l.id)
	must(t, err)
	config, err := store.Config()
	must(t, err)
	if got := config.Buckets[1]; got.BaselinePerSecond != 5e6 || got.Counts != model.CountsBytes {
		t.Errorf("the bucket is %+v", got)
	}
	if err := modify(map[string]string{csisim.ScenarioParameter: "facts"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("another scenario: %v", err)
	}
	l.down()
}

// TestLostContents checks that a volume whose memory was unmounted returns errors until it is deleted. It must not be
// recreated empty.
func TestLostContents(t *testing.T) {
	d := newDriver(t, optionsOf(newHome(t), generic))
	l := newLife(t, d, "pvc", false)
	must(t, l.create())
	found, err := filepath.Glob(filepath.Join(csisim.Folder(d.Home, d.Name), "stores/*/backing/*"))
	must(t, err)
	must(t, unix.Unmount(found[0], 0))
	for name, do := range map[string]func() error{"stage": l.stage, "create": l.create, "expand": l.expand} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "delete the volume") {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, l.remove())
	clean(t, d.Options)
}

// TestSecondDriver checks that a second process cannot run the same driver.
func TestSecondDriver(t *testing.T) {
	o := optionsOf(newHome(t), generic)
	newDriver(t, o)
	if _, err := csisim.NewDriver(t.Context(), o); !errors.Is(err, unix.EWOULDBLOCK) || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("a second one: %v", err)
	}
}

// TestDeviceIsParallel checks that requests to a raw device reach its store in parallel.
func TestDeviceIsParallel(t *testing.T) {
	requireLoop(t)
	const depth, blocks = 16, 2000
	d := newDriver(t, optionsOf(newHome(t), generic))
	l := newLife(t, d, "pvc", true)
	l.bytes = 64 * mebibyte
	l.parameters[csisim.ScenarioParameter] = "azure-p30"
	l.up()
	output, err := exec.CommandContext(t.Context(), "fio", "--name=device", "--filename="+l.target(), "--rw=randwrite", "--bs=4k",
		"--direct=1", "--ioengine=libaio", "--iodepth="+strconv.Itoa(depth), "--number_ios="+strconv.Itoa(blocks)).CombinedOutput()
	if err != nil {
		t.Fatalf("fio: %v\n%s", err, output)
	}
	time.Sleep(1100 * time.Millisecond)
	store, err := csisim.StoreOf(d.Home, d.Name, l.id)
	must(t, err)
	record, err := store.Truth()
	must(t, err)
	deepest, operations, bytes := 0, int64(0), int64(0)
	for _, second := range record.Seconds {
		deepest = max(deepest, second.MostInFlight)
		operations += second.WriteOperations
		bytes += second.WriteBytes
	}
	if deepest < depth/2 || bytes != 4096*operations || operations != blocks {
		t.Errorf("at most %d of %d were in flight; the record has %d operations of %d bytes in all, fio made %d of 4096", deepest, depth, operations,
			bytes, blocks)
	}
	l.down()
}
