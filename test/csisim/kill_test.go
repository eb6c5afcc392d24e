package csisim_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/storagebench/storagebench/test/csisim"
)

// operation is a step in the life of a volume.
type operation struct {
	name string
	do   func(*life) error
}

var operations = []operation{
	{"create", (*life).create}, {"stage", (*life).stage}, {"publish", (*life).publish}, {"expand", (*life).expand},
	{"unpublish", (*life).unpublish}, {"unstage", (*life).unstage}, {"delete", (*life).remove},
}

var errKilled = errors.New("killed")

// killed runs an operation and kills it at its nth point with errKilled. If the operation has fewer points, killed
// returns its result.
func killed(d *csisim.Driver, point int, do func() error) (err error) {
	restore := csisim.AtSteps(d, func() {
		if point--; point < 0 {
			panic(errKilled)
		}
	})
	defer restore()
	defer func() {
		if reason := recover(); reason != nil {
			if reason != errKilled { //nolint:errorlint // compared by identity, on purpose
				panic(reason)
			}
			err = errKilled
		}
	}()
	return do()
}

// reborn returns a new driver in place of a killed one. It knows only what is on disk, mounted and attached.
func reborn(t testing.TB, old *csisim.Driver) *csisim.Driver {
	t.Helper()
	must(t, old.Close())
	return newDriver(t, old.Options)
}

// TestKilledAnywhere kills the driver at each point of each operation and starts it again. Repeating the operation and
// continuing from there must succeed, and so must removing the volume. Contents must survive.
func TestKilledAnywhere(t *testing.T) {
	for _, block := range []bool{false, true} {
		for at, operation := range operations {
			for _, then := range []string{"again", "down"} {
				kind := map[bool]string{false: "mount", true: "block"}[block]
				t.Run(kind+"/"+operation.name+"/"+then, func(t *testing.T) {
					if requireRoot(t); block {
						requireLoop(t)
					}
					d := newDriver(t, optionsOf(newHome(t), generic))
					for point := 0; ; point++ {
						l := newLife(t, d, fmt.Sprintf("pvc-%d", point), block)
						l.id = l.name // what create returns, even if the kill lost the answer
						died := killAt(l, at, point)
						d = reborn(t, d)
						l.d = d
						if then == "again" {
							finish(l, at)
						} else {
							l.down()
						}
						clean(t, d.Options)
						if !died {
							if point == 0 {
								t.Error("there is no point at which it could be killed")
							}
							return
						}
					}
				})
			}
		}
	}
}

// killAt runs all operations before one, and kills that one at a point. It reports whether the operation has that
// point.
func killAt(l *life, at, point int) bool {
	l.t.Helper()
	for i, before := range operations[:at] {
		must(l.t, before.do(l))
		if operations[i].name == "publish" {
			l.write()
		}
	}
	err := killed(l.d, point, func() error { return operations[at].do(l) })
	if err != nil && !errors.Is(err, errKilled) {
		l.t.Fatalf("%s: %v", operations[at].name, err)
	}
	return err != nil
}

// finish repeats an operation and runs all later ones.
func finish(l *life, at int) {
	l.t.Helper()
	for i, operation := range operations[at:] {
		for range 2 { // every operation is idempotent
			if err := operation.do(l); err != nil {
				l.t.Fatalf("%s after it was killed in %s: %v", operation.name, operations[at].name, err)
			}
		}
		switch name := operation.name; {
		case name == "publish" && i == 0 || name == "publish" && at < 2:
			l.write()
			l.read()
		case name == "expand":
			l.read()
		}
	}
}

var content = bytes.Repeat([]byte("burst"), 1000)

// write writes content that read recognizes.
func (l *life) write() {
	l.t.Helper()
	name := l.target()
	if !l.block {
		name = l.file("content")
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	must(l.t, err)
	_, err = file.Write(content)
	must(l.t, err)
	must(l.t, file.Sync())
	must(l.t, file.Close())
}

func (l *life) read() {
	l.t.Helper()
	name := l.target()
	if !l.block {
		name = l.file("content")
	}
	file, err := os.Open(name)
	must(l.t, err)
	defer file.Close()
	got := make([]byte, len(content))
	_, err = file.Read(got)
	must(l.t, err)
	if !bytes.Equal(got, content) {
		l.t.Error("the content differs from what was written")
	}
}

// clientOf connects to a driver in another process. Its first call must wait until the driver is ready.
func clientOf(t *testing.T, home string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient("unix:"+csisim.Socket(home, generic), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func startDriver(t *testing.T, home string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), "/proc/self/exe", beDriver, home)
	command.Stderr = os.Stderr
	must(t, command.Start())
	return command
}

// TestSIGKILL checks that killing a driver does not interrupt a pod that writes to its volume, and that the next driver
// takes over.
func TestSIGKILL(t *testing.T) {
	home := newHome(t)
	o := optionsOf(home, generic)
	t.Cleanup(func() { clearAll(t, o) })
	process := startDriver(t, home)
	connection := clientOf(t, home)
	ctx := t.Context()
	capability := &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
	}
	created, err := csi.NewControllerClient(connection).CreateVolume(ctx, &csi.CreateVolumeRequest{
		Name: "pvc", VolumeCapabilities: []*csi.VolumeCapability{capability},
	}, grpc.WaitForReady(true))
	must(t, err)
	id := created.GetVolume().GetVolumeId()
	staging, target := filepath.Join(home, "staging"), filepath.Join(home, "target")
	node := csi.NewNodeClient(connection)
	_, err = node.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{VolumeId: id, StagingTargetPath: staging, VolumeCapability: capability})
	must(t, err)
	_, err = node.NodePublishVolume(ctx, &csi.NodePublishVolumeRequest{VolumeId: id, StagingTargetPath: staging, TargetPath: target, VolumeCapability: capability})
	must(t, err)
	file, err := os.Create(filepath.Join(target, "file"))
	must(t, err)
	defer file.Close()

	must(t, process.Process.Kill())
	_ = process.Wait()
	_, err = file.Write(content)
	must(t, err)
	must(t, file.Sync())
	must(t, file.Close())

	// A new connection, because the old one may not have noticed that its driver died.
	process, connection = startDriver(t, home), clientOf(t, home)
	node = csi.NewNodeClient(connection)
	_, err = node.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: id, TargetPath: target}, grpc.WaitForReady(true))
	must(t, err)
	_, err = node.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: id, StagingTargetPath: staging})
	must(t, err)
	_, err = csi.NewControllerClient(connection).DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id})
	must(t, err)
	must(t, process.Process.Signal(syscall.SIGKILL))
	_ = process.Wait()
}

// TestKilledStore kills a store. Its mounts must fail, its contents must survive, and publishing the volume again must
// bring them back.
func TestKilledStore(t *testing.T) {
	for _, block := range []bool{false, true} {
		t.Run(map[bool]string{false: "mount", true: "block"}[block], func(t *testing.T) {
			if requireRoot(t); block {
				requireLoop(t)
			}
			d := newDriver(t, optionsOf(newHome(t), generic))
			l := newLife(t, d, "pvc", block)
			l.up()
			l.write()
			killStores(t, l)
			if _, err := os.Stat(l.file("content")); err == nil {
				t.Error("a store that was killed still answers")
			}
			must(t, l.publish()) // even if it is published already
			l.read()
			killStores(t, l)
			must(t, l.unpublish())
			must(t, l.publish())
			l.read()
			killStores(t, l)
			l.down()
			clean(t, d.Options)
		})
	}
}

// killStores kills the process of a volume's store.
func killStores(t *testing.T, l *life) {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	killed := 0
	for _, name := range commands {
		text, _ := os.ReadFile(name) // the process may have ended
		if !bytes.Contains(text, []byte(beStore+"\x00"+l.d.Home)) {
			continue
		}
		var pid int
		_, err := fmt.Sscanf(name, "/proc/%d/", &pid)
		must(t, err)
		process, err := unix.PidfdOpen(pid, 0)
		must(t, err)
		must(t, syscall.Kill(pid, syscall.SIGKILL))
		dead(t, process)
		killed++
	}
	if killed != 1 {
		t.Fatalf("there are %d processes of stores, not 1", killed)
	}
}

// dead waits until a killed process has released its open files.
func dead(t *testing.T, process int) {
	t.Helper()
	defer unix.Close(process)
	waited := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}} // #nosec G115 -- a descriptor
	for {
		n, err := unix.Poll(waited, 20_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		must(t, err)
		if n == 0 {
			t.Fatal("a process that was killed is there after 20 s")
		}
		return
	}
}
