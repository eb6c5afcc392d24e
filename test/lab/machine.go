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
	"testing"
	"time"
)

// Host is the address by which a machine reaches this computer's loopback.
const Host = "10.0.2.2"

// hangGuard ends a machine that hangs.
const hangGuard = 30 * time.Minute

// Machine is one to boot. The zero value has two processors, 2 GiB and no disk.
type Machine struct {
	// Programs of this computer, linked statically, are in /lab by the names of their keys.
	Programs map[string]string
	// Files are in /lab by the names of their keys.
	Files map[string]string
	// Disks are /dev/vda, /dev/vdb and so on.
	Disks []Disk
}

// Disk is a virtio disk on an empty, sparse file.
type Disk struct {
	Bytes int64
	// Throttling are options of QEMU's own, such as {"bps-write": 8e6, "bps-write-max": 60e6, "bps-write-max-length": 15}: a
	// bucket of max x length that leaks at the first rate.
	Throttling map[string]int64
}

// Output is what a script printed, and how it ended.
type Output struct {
	Text string
	Code int
}

// Run boots the machine, runs a script of busybox's shell and powers off.
func (m Machine) Run(t testing.TB, script string) Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangGuard)
	defer cancel()
	for _, program := range []string{"qemu-system-x86_64", "busybox", "depmod"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: make lab-packages installs it", err)
		}
	}
	output, err := m.run(ctx, t.TempDir(), script)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

func (m Machine) run(ctx context.Context, scratch, script string) (Output, error) {
	base, err := prepare(ctx)
	if err != nil {
		return Output{}, err
	}
	initrd, err := m.initrd(base, scratch, script)
	if err != nil {
		return Output{}, err
	}
	arguments := []string{"-accel", "tcg,thread=multi", "-cpu", "max", "-m", "2048", "-smp", "2", "-nographic", "-no-reboot",
		"-kernel", base.kernel, "-initrd", initrd, "-append", "console=ttyS0 quiet panic=-1",
		"-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net"}
	for i, disk := range m.Disks {
		option, err := disk.option(filepath.Join(scratch, "disk-"+strconv.Itoa(i)))
		if err != nil {
			return Output{}, err
		}
		arguments = append(arguments, "-drive", option)
	}
	var said bytes.Buffer
	command := exec.CommandContext(ctx, "qemu-system-x86_64", arguments...)
	command.Stdout, command.Stderr = &said, &said
	err = command.Run()
	text := strings.ReplaceAll(said.String(), "\r", "")
	_, text, begun := strings.Cut(text, "LAB-BEGIN\n")
	text, end, ended := strings.Cut(text, "\nLAB-END ")
	if err != nil || !begun || !ended {
		return Output{}, fmt.Errorf("the machine did not run its script to the end: %w\n%s", errors.Join(err, ctx.Err()), last(said.String(), 4000))
	}
	word, _, _ := strings.Cut(end, "\n")
	code, err := strconv.Atoi(strings.TrimSpace(word))
	return Output{Text: text, Code: code}, err
}

func last(text string, most int) string { return text[max(0, len(text)-most):] }

// initrd is the image's with what is this machine's own behind it: the kernel unpacks one after the other.
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
	a.text("lab/script", []byte(script))
	for name, path := range m.Programs {
		a.file("lab/"+name, path)
	}
	for name, text := range m.Files {
		a.text("lab/"+name, []byte(text))
	}
	if err := errors.Join(a.close(), packed.Close()); err != nil {
		return "", err
	}
	path := filepath.Join(scratch, "initrd.gz")
	return path, os.WriteFile(path, own.Bytes(), 0o600)
}

// option makes the disk's file and describes it to QEMU.
func (d Disk) option(path string) (string, error) {
	file, err := os.Create(path) // #nosec G304 -- in the test's folder
	if err != nil {
		return "", err
	}
	if err := errors.Join(file.Truncate(d.Bytes), file.Close()); err != nil {
		return "", err
	}
	option := "file=" + path + ",format=raw,if=virtio,cache=none"
	for name, value := range d.Throttling {
		option += fmt.Sprintf(",throttling.%s=%d", name, value)
	}
	return option, nil
}
