package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modules of the kernel that machines can load, by folder.
var modules = []string{"crypto", "lib", "arch/x86/crypto", "fs", "net/sunrpc", "net/dns_resolver", "net/core", "drivers/net/virtio_net.ko",
	"drivers/net/net_failover.ko", "drivers/virtio", "drivers/block", "drivers/md"}

// hostPrograms of this computer that machines have, with their libraries.
var hostPrograms = []string{"/usr/bin/fio", "/sbin/mkfs.ext4"}

// hostFiles are copied as they are.
var hostFiles = []string{"/etc/mke2fs.conf"}

const initScript = `#!/bin/sh
export PATH=/bin:/sbin:/usr/bin:/lab
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /tmp /mnt /root /run /var
mount -t devpts pts /dev/pts; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp
ln -sf /proc/self/fd /dev/fd
echo root:x:0:0:root:/root:/bin/sh > /etc/passwd; echo root:x:0: > /etc/group; hostname lab
modprobe -a virtio_pci virtio_net virtio_blk
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
cd /tmp; echo; echo LAB-BEGIN
/bin/sh /lab/script 2>&1
code=$?
echo; echo LAB-END $code
sync; poweroff -f
`

// image is a kernel and the archive that all machines begin with.
type image struct{ kernel, initrd string }

// Cache is the folder of what machines are made of.
func Cache() (string, error) {
	base, err := os.UserCacheDir()
	return filepath.Join(base, "storagebench", "lab"), err
}

// prepare makes the image, or finds it in the cache.
func prepare(ctx context.Context) (image, error) {
	cache, err := Cache()
	if err != nil {
		return image{}, err
	}
	name, version, err := kernelPackage(ctx)
	if err != nil {
		return image{}, err
	}
	fio, err := os.ReadFile(hostPrograms[0])
	if err != nil {
		return image{}, fmt.Errorf("a machine needs the host's fio: %w", err)
	}
	sum := sha256.Sum256(fmt.Append(fio, name, version, initScript, modules, hostPrograms, hostFiles))
	at := filepath.Join(cache, hex.EncodeToString(sum[:8]))
	made := image{kernel: filepath.Join(at, "vmlinuz"), initrd: filepath.Join(at, "initrd.gz")}
	if _, err := os.Stat(made.initrd); err == nil {
		return made, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil { // #nosec G301 -- as the rest of the cache
		return image{}, err
	}
	scratch, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return image{}, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := unpackKernel(ctx, scratch, name, version); err != nil {
		return image{}, err
	}
	if err := makeInitrd(ctx, scratch); err != nil {
		return image{}, err
	}
	if err := os.RemoveAll(filepath.Join(scratch, "unpacked")); err != nil {
		return image{}, err
	}
	if err := os.Rename(scratch, at); err != nil && !errors.Is(err, fs.ErrExist) {
		return image{}, err
	}
	return made, nil
}

// kernelPackage is the one that Debian's linux-image-cloud-amd64 stands for.
func kernelPackage(ctx context.Context) (name, version string, err error) {
	output, err := exec.CommandContext(ctx, "apt-cache", "show", "--no-all-versions", "linux-image-cloud-amd64").Output()
	if err != nil {
		return "", "", fmt.Errorf("find Debian's cloud kernel: %w", err)
	}
	for line := range strings.Lines(string(output)) {
		if depends, found := strings.CutPrefix(line, "Depends: "); found {
			name, version, _ = strings.Cut(strings.TrimSpace(depends), " ")
		}
	}
	if name == "" {
		return "", "", errors.New("apt-get knows no linux-image-cloud-amd64: run apt-get update")
	}
	return name, strings.Trim(version, "(= )"), nil
}

func unpackKernel(ctx context.Context, at, name, version string) error {
	download := exec.CommandContext(ctx, "apt-get", "download", name+"="+version)
	download.Dir = at
	if output, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("download %s: %w: %s", name, err, output)
	}
	found, err := filepath.Glob(filepath.Join(at, "*.deb"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("download %s: got %q, %w", name, found, err)
	}
	unpacked := filepath.Join(at, "unpacked")
	if output, err := exec.CommandContext(ctx, "dpkg-deb", "-x", found[0], unpacked).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack %s: %w: %s", found[0], err, output)
	}
	kernels, err := filepath.Glob(filepath.Join(unpacked, "boot", "vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		return fmt.Errorf("%s has the kernels %q, %w", name, kernels, err)
	}
	if err := os.Rename(kernels[0], filepath.Join(at, "vmlinuz")); err != nil {
		return err
	}
	return os.Remove(found[0])
}

// makeInitrd writes the archive: busybox, the kernel's modules, programs of this computer.
func makeInitrd(ctx context.Context, at string) error {
	roots, err := filepath.Glob(filepath.Join(at, "unpacked", "lib", "modules", "*"))
	if err != nil || len(roots) != 1 {
		return fmt.Errorf("the kernel has the modules %q, %w", roots, err)
	}
	release := filepath.Base(roots[0])
	if output, err := exec.CommandContext(ctx, "depmod", "-b", filepath.Join(at, "unpacked"), release).CombinedOutput(); err != nil {
		return fmt.Errorf("depmod: %w: %s", err, output)
	}
	file, err := os.Create(filepath.Join(at, "initrd.gz")) // #nosec G304 -- in our cache
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	packed, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		return err
	}
	a := &archive{w: packed}
	for _, name := range []string{"bin", "sbin", "dev", "proc", "sys", "etc", "lib", "lab", "tmp"} {
		a.directory(name)
	}
	a.text("init", []byte(initScript))
	if err := addBusybox(ctx, a); err != nil {
		return err
	}
	if err := addModules(a, roots[0], "lib/modules/"+release); err != nil {
		return err
	}
	for _, program := range hostPrograms {
		if err := addProgram(ctx, a, program); err != nil {
			return err
		}
	}
	for _, name := range hostFiles {
		a.file(strings.TrimPrefix(name, "/"), name)
	}
	return errors.Join(a.close(), packed.Close())
}

func addBusybox(ctx context.Context, a *archive) error {
	applets, err := exec.CommandContext(ctx, "busybox", "--list").Output()
	if err != nil {
		return fmt.Errorf("busybox (Debian's busybox-static): %w", err)
	}
	path, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	a.file("bin/busybox", path)
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			a.link("bin/"+applet, "busybox")
		}
	}
	a.link("sbin/modprobe", "../bin/busybox") // The kernel calls it by this path.
	return a.err
}

func addModules(a *archive, from, to string) error {
	lists, err := filepath.Glob(filepath.Join(from, "modules.*"))
	if err != nil {
		return err
	}
	for _, list := range lists {
		a.file(to+"/"+filepath.Base(list), list)
	}
	for _, folder := range modules {
		root := filepath.Join(from, "kernel", folder)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && path == root {
				return nil // It is built into this kernel.
			}
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(from, path)
			if err == nil {
				a.file(to+"/"+name, path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return a.err
}

// addProgram adds a program of this computer with the libraries that it is linked with.
func addProgram(ctx context.Context, a *archive, path string) error {
	a.file(strings.TrimPrefix(path, "/"), path)
	linked, err := exec.CommandContext(ctx, "ldd", path).Output()
	if err != nil && !bytes.Contains(linked, []byte("not a dynamic executable")) {
		return fmt.Errorf("ldd %s: %w", path, err)
	}
	for _, word := range strings.Fields(string(linked)) {
		if strings.HasPrefix(word, "/") {
			a.file(strings.TrimPrefix(word, "/"), word)
		}
	}
	return a.err
}
