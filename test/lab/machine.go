package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/output"
)

// Host is the address by which a machine reaches this computer's loopback.
const Host = "10.0.2.2"

// hangGuard is the time limit for a machine, in case it hangs.
const hangGuard = 30 * time.Minute

// Machine describes a virtual machine. Every machine has two processors and 2 GiB of memory; the zero value has no
// disk.
type Machine struct {
	// Programs maps file names in /lab to programs of this computer, which must be linked statically.
	Programs map[string]string
	// Files maps file names in /lab to their contents.
	Files map[string]string
	Disks []Disk
	// Ports maps ports of this computer's loopback to the machine's ports to which they are forwarded.
	Ports map[int]int
	// On maps lines to functions. A function is called once, when the machine has printed its line.
	On map[string]func()
}

// Output holds the output and the exit code of a script, and the counters of the machine's disks.
type Output struct {
	Text string
	Code int
	// Guest holds the counters of each disk from the machine's kernel, and Host those from QEMU (query-blockstats). Both
	// count from the start of the machine to the end of the script.
	Guest, Host []Counters
}

// Run boots the machine, runs a script in busybox's shell, and powers the machine off.
func (m Machine) Run(t testing.TB, script string) Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangGuard)
	defer cancel()
	running := m.boot(ctx, t, script)
	output, err := running.end(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// Serve boots the machine and returns once its script has printed the line "LAB-READY". The machine runs until the test
// ends. freeze pauses the machine for a duration.
func (m Machine) Serve(t testing.TB, script string) (freeze func(time.Duration)) {
	t.Helper()
	running := m.boot(t.Context(), t, script)
	t.Cleanup(func() {
		_ = running.command.Process.Kill()
		<-running.ended
		if t.Failed() {
			t.Logf("the serving machine said:\n%s", last(running.said.String(), 4000))
		}
	})
	for deadline := time.Now().Add(hangGuard); !strings.Contains(running.said.String(), "LAB-READY"); time.Sleep(100 * time.Millisecond) {
		select {
		case <-running.ended:
			t.Fatalf("the serving machine ended: %s", running.said.String())
		default:
		}
		if said := running.said.String(); strings.Contains(said, "\nLAB-END ") || time.Now().After(deadline) {
			t.Fatalf("the serving machine is not ready: %s", said)
		}
	}
	return func(duration time.Duration) {
		_ = running.command.Process.Signal(syscall.SIGSTOP)
		time.Sleep(duration)
		_ = running.command.Process.Signal(syscall.SIGCONT)
	}
}

// Enter boots the machine with a shell on this terminal, and returns when the machine has ended.
func (m Machine) Enter(ctx context.Context) error {
	scratch, err := os.MkdirTemp("", "storagebench-lab-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	arguments, err := m.arguments(ctx, scratch, "setsid cttyhack sh; poweroff -f")
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "qemu-system-x86_64", arguments...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	return command.Run()
}

// running is a machine that has been started.
type running struct {
	machine Machine
	command *exec.Cmd
	said    *output.Buffer
	// qmp is the path of QEMU's control socket (QMP).
	qmp string
	// done holds the lines of On that the machine has printed.
	done  map[string]bool
	ended chan struct{}
	err   error
}

func (m Machine) boot(ctx context.Context, t testing.TB, script string) *running {
	t.Helper()
	for _, program := range []string{"qemu-system-x86_64", "depmod"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: make lab-packages installs it", err)
		}
	}
	// The name of the test's own folder may contain commas, which separate QEMU's options.
	scratch, err := os.MkdirTemp("", "storagebench-lab-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	arguments, err := m.arguments(ctx, scratch, script)
	if err != nil {
		t.Fatal(err)
	}
	// With -no-shutdown, QEMU keeps running after the machine has powered off, so that its counters can be read.
	r := &running{machine: m, said: &output.Buffer{}, qmp: filepath.Join(scratch, "qmp"), done: map[string]bool{}, ended: make(chan struct{})}
	r.command = exec.CommandContext(ctx, "qemu-system-x86_64", append(arguments, "-no-shutdown", "-qmp", "unix:"+r.qmp+",server=on,wait=off")...)
	r.command.Stdout, r.command.Stderr = r.said, r.said
	r.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // if the test is killed, so is the machine
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		r.err = r.command.Wait()
		close(r.ended)
	}()
	return r
}

// arguments returns the arguments of QEMU.
func (m Machine) arguments(ctx context.Context, scratch, script string) ([]string, error) {
	base, err := prepare(ctx)
	if err != nil {
		return nil, err
	}
	initrd, err := m.initrd(base, scratch, script)
	if err != nil {
		return nil, err
	}
	network := "user,id=net"
	for here, there := range m.Ports {
		network += fmt.Sprintf(",hostfwd=tcp:127.0.0.1:%d-:%d", here, there)
	}
	arguments := []string{"-accel", "tcg,thread=multi", "-cpu", "max", "-m", "2048", "-smp", "2", "-nographic", "-no-reboot",
		"-kernel", base.kernel, "-initrd", initrd, "-append", "console=ttyS0 quiet panic=-1",
		"-netdev", network, "-device", "virtio-net-pci,netdev=net", "-device", "virtio-scsi-pci,id=scsi"}
	for i, disk := range m.Disks {
		options, err := disk.options(scratch, i)
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, options...)
	}
	return arguments, nil
}

// end waits for the end of the script, reads the counters and ends the machine.
func (r *running) end(ctx context.Context) (Output, error) {
	var host []Counters
	for over := false; !over; {
		select {
		case <-r.ended:
			over = true
		case <-ctx.Done():
			<-r.ended
			over = true
		case <-time.After(100 * time.Millisecond):
			r.react()
			if strings.Contains(r.said.String(), "\nLAB-END ") {
				var err error
				if host, err = quit(ctx, r.qmp, len(r.machine.Disks)); err != nil {
					return Output{}, err
				}
				<-r.ended
				over = true
			}
		}
	}
	text := strings.ReplaceAll(r.said.String(), "\r", "")
	_, text, begun := strings.Cut(text, "LAB-BEGIN\n")
	text, rest, _ := strings.Cut(text, "\nLAB-DISKS\n")
	disks, end, ended := strings.Cut(rest, "LAB-END ")
	if r.err != nil || !begun || !ended {
		return Output{}, fmt.Errorf("the machine did not run its script to the end: %w\n%s", errors.Join(r.err, ctx.Err()), last(r.said.String(), 4000))
	}
	word, _, _ := strings.Cut(end, "\n")
	code, err := strconv.Atoi(strings.TrimSpace(word))
	if err != nil {
		return Output{}, err
	}
	guest, err := r.machine.diskstats(disks)
	return Output{Text: text, Code: code, Guest: guest, Host: host}, err
}

// react calls the functions of On whose lines the machine has printed.
func (r *running) react() {
	for line, do := range r.machine.On {
		if !r.done[line] && strings.Contains(strings.ReplaceAll(r.said.String(), "\r", ""), "\n"+line+"\n") {
			r.done[line] = true
			do()
		}
	}
}

func last(text string, most int) string { return text[max(0, len(text)-most):] }

// initrd writes the machine's initramfs: the image's, followed by an archive of the machine's own files. The kernel
// unpacks one after the other.
func (m Machine) initrd(base image, scratch, script string) (string, error) {
	whole, err := os.ReadFile(base.initrd)
	if err != nil {
		return "", err
	}
	own := bytes.NewBuffer(whole)
	packed, err := gzip.NewWriterLevel(own, gzip.BestSpeed)
	if err != nil {
		return "", err
	}
	a := &archive{w: packed}
	a.file("lab/script", 0o755, []byte(script))
	for name, path := range m.Programs {
		a.program("lab/"+name, path)
	}
	for name, text := range m.Files {
		a.file("lab/"+name, 0o644, []byte(text))
	}
	if err := errors.Join(a.close(), packed.Close()); err != nil {
		return "", err
	}
	path := filepath.Join(scratch, "initrd.gz")
	return path, os.WriteFile(path, own.Bytes(), 0o600)
}
