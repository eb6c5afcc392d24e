package lab

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/images/debian"
)

// kernelMeta is Debian's name for its newest kernel for virtual machines.
const kernelMeta = "linux-image-cloud-amd64"

// programs lists the programs of the machines by Debian package. Everything that they load is added too.
var programs = map[string][]string{
	"busybox-static":    {"usr/bin/busybox"},
	"fio":               {"usr/bin/fio"},
	"e2fsprogs":         {"usr/sbin/mke2fs"},
	"xfsprogs":          {"usr/sbin/mkfs.xfs"},
	"btrfs-progs":       {"usr/sbin/mkfs.btrfs"},
	"dmsetup":           {"usr/sbin/dmsetup"},
	"iproute2":          {"usr/sbin/tc"},
	"nfs-common":        {"usr/sbin/mount.nfs"},
	"nfs-kernel-server": {"usr/sbin/exportfs", "usr/sbin/rpc.nfsd", "usr/sbin/rpc.mountd"},
	"rpcbind":           {"usr/sbin/rpcbind"},
}

// modules lists the kernel modules that machines can load, by folder or file name.
var modules = []string{"crypto", "lib", "arch/x86/crypto", "fs", "net/sunrpc", "net/dns_resolver", "net/core", "net/sched", "drivers/net/virtio_net.ko",
	"drivers/net/net_failover.ko", "drivers/virtio", "drivers/block", "drivers/md", "drivers/scsi", "drivers/nvme", "block"}

// data lists path prefixes of other files of the packages, which the programs read.
var data = []string{"etc/mke2fs.conf", "etc/netconfig", "usr/lib/tc/"}

const initScript = `#!/bin/sh
export PATH=/bin:/sbin:/lab
/bin/busybox --install -s 2>/dev/null
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /tmp /mnt /root /run /var/lib/nfs
mount -t devpts pts /dev/pts; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp
ln -sf /proc/self/fd /dev/fd; ln -sf /proc/mounts /etc/mtab
echo root:x:0:0:root:/root:/bin/sh > /etc/passwd; echo root:x:0: > /etc/group; hostname lab; echo 127.0.0.1 lab localhost > /etc/hosts
printf 'tcp 6 TCP\nudp 17 UDP\n' > /etc/protocols; printf 'rpcbind 111/tcp\nnfs 2049/tcp\nmountd 20048/tcp\n' > /etc/services
printf 'rpcbind 100000\nnfs 100003\nmountd 100005\n' > /etc/rpc
ln -sf mke2fs /sbin/mkfs.ext4
modprobe -a virtio_pci virtio_net virtio_blk virtio_scsi sd_mod nvme
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
mkdir /dev/lab
for block in /sys/block/[vsn]*; do
	serial=$(cat $block/serial $block/device/serial 2>/dev/null || tail -c +5 $block/device/vpd_pg80 2>/dev/null)
	[ -z "$serial" ] || ln -s /dev/${block##*/} /dev/lab/$(echo $serial)
done
cd /tmp; echo; echo LAB-BEGIN
/bin/sh /lab/script 2>&1
code=$?
sync; echo; echo LAB-DISKS; 
for disk in /dev/lab/*; do echo ${disk##*/} $(cat /sys/block/$(basename $(readlink $disk))/stat); done
echo LAB-END $code
poweroff -f
`

// image holds the files from which all machines boot: the kernel and the base initramfs.
type image struct{ kernel, initrd string }

// Cache returns the folder of the images and of apt's state.
func Cache() (string, error) {
	base, err := os.UserCacheDir()
	return filepath.Join(base, "storagebench", "lab"), err
}

// prepare returns the image from the cache, and builds it if necessary.
func prepare(ctx context.Context) (image, error) {
	cache, err := Cache()
	if err != nil {
		return image{}, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil { // #nosec G301 -- as the rest of the cache
		return image{}, err
	}
	apt, err := debian.NewApt(debian.Options{Cache: cache, Progress: os.Stderr})
	if err != nil {
		return image{}, err
	}
	defer apt.Close()
	var made image
	err = apt.Try(ctx, func() error {
		packages, err := apt.Resolve(ctx, append(slices.Sorted(maps.Keys(programs)), kernelMeta)...)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(fmt.Append(nil, packages, initScript, modules, programs, data))
		at := filepath.Join(cache, hex.EncodeToString(sum[:8]))
		made = image{kernel: filepath.Join(at, "vmlinuz"), initrd: filepath.Join(at, "initrd.gz")}
		if _, err := os.Stat(made.initrd); err == nil {
			return nil
		}
		return compose(ctx, apt, packages, cache, at)
	})
	if err != nil {
		return image{}, fmt.Errorf("make the image of the machines: %w", err)
	}
	return made, nil
}

// compose builds the kernel and the initramfs in the folder at, which must not exist yet.
func compose(ctx context.Context, apt *debian.Apt, packages []debian.Package, cache, at string) error {
	scratch, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	downloads, made := filepath.Join(scratch, "packages"), filepath.Join(scratch, "made")
	if err := errors.Join(os.Mkdir(downloads, 0o700), os.Mkdir(made, 0o755)); err != nil { // #nosec G301 -- as the rest of the cache
		return err
	}
	archives, err := apt.Fetch(ctx, downloads, packages)
	if err != nil {
		return err
	}
	root := debian.Root{}
	for i, archive := range archives {
		if err := root.Unpack(ctx, packages[i].Name, archive, func(name string) bool { return !strings.HasPrefix(name, "usr/share/") }); err != nil {
			return err
		}
	}
	kernels := slices.DeleteFunc(root.Below("boot"), func(name string) bool { return !strings.HasPrefix(name, "boot/vmlinuz-") })
	if len(kernels) != 1 {
		return fmt.Errorf("the packages have the kernels %q", kernels)
	}
	if err := os.WriteFile(filepath.Join(made, "vmlinuz"), root[kernels[0]].Data, 0o600); err != nil {
		return err
	}
	if err := addModules(ctx, root, strings.TrimPrefix(kernels[0], "boot/vmlinuz-"), scratch); err != nil {
		return err
	}
	if err := writeInitrd(root, filepath.Join(made, "initrd.gz")); err != nil {
		return err
	}
	if err := os.Rename(made, at); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// addModules removes the kernel modules that machines do not need from root, and adds depmod's module lists.
func addModules(ctx context.Context, root debian.Root, release, scratch string) error {
	folder := "usr/lib/modules/" + release
	for _, name := range root.Below(folder + "/kernel") {
		if !slices.ContainsFunc(modules, func(module string) bool {
			relative := strings.TrimPrefix(name, folder+"/kernel/")
			return relative == module || strings.HasPrefix(relative, module+"/")
		}) {
			delete(root, name)
		}
	}
	for _, name := range root.Below(folder) {
		file := filepath.Join(scratch, strings.TrimPrefix(name, "usr/"))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, root[name].Data, 0o600)); err != nil {
			return err
		}
	}
	if output, err := exec.CommandContext(ctx, "depmod", "-b", scratch, release).CombinedOutput(); err != nil {
		return fmt.Errorf("depmod: %w: %s", err, output)
	}
	lists, err := filepath.Glob(filepath.Join(scratch, "lib", "modules", release, "modules.*"))
	for _, list := range lists {
		text, err := os.ReadFile(list) // #nosec G304 -- in our cache
		if err != nil {
			return err
		}
		root[folder+"/"+filepath.Base(list)] = debian.File{Mode: 0o644, Data: text}
	}
	return err
}

// writeInitrd writes the initramfs: the programs with everything that they load, the modules and the data.
func writeInitrd(root debian.Root, to string) error {
	file, err := os.Create(to) // #nosec G304 -- in our cache
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	packed, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		return err
	}
	a := &archive{w: packed}
	for _, name := range []string{"dev", "proc", "sys", "etc", "lab", "tmp", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64"} {
		a.directory(name)
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		a.link(name, "usr/"+name)
	}
	a.file("init", 0o755, []byte(initScript))
	a.link("usr/bin/sh", "busybox")
	names := root.Below("usr/lib/modules")
	for _, name := range slices.Sorted(maps.Keys(root)) {
		if slices.ContainsFunc(data, func(want string) bool { return strings.HasPrefix(name, want) }) {
			names = append(names, name)
		}
	}
	for _, wanted := range programs {
		for _, program := range wanted {
			needed, err := root.Closure(program)
			if err != nil {
				return err
			}
			names = append(names, needed...)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if one := root[name]; one.Mode.Type() == fs.ModeSymlink {
			a.link(name, one.Target)
		} else {
			a.file(name, int(one.Mode.Perm()), one.Data)
		}
	}
	return errors.Join(a.close(), packed.Close())
}
