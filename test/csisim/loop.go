package csisim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// diskFile holds the contents of a raw block volume.
const diskFile = "disk"

const loopMajor = 7

// loopName is the name that the kernel keeps with a loop device. Devices belong to the whole machine, so the name
// includes the simulation.
func loopName(instance string, v volume) string {
	return "csisim:" + digits(instance, 8) + ":" + v.key()
}

// loop is a loop device in use.
type loop struct {
	device string
	// name is empty if the store is gone, because the kernel then cannot read the device's status. file is always known.
	name, file string
	// on is the mount that holds the backing file.
	on number
}

// loops lists the loop devices in use.
func loops() ([]loop, error) {
	used, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, fmt.Errorf("listing loop devices: %w", err)
	}
	var found []loop
	for _, file := range used {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // no longer in use
		}
		l := loop{device: filepath.Join("/dev", strings.Split(file, "/")[3]), file: strings.TrimSpace(string(text))}
		if err := l.ask(); err != nil {
			return nil, err
		}
		found = append(found, l)
	}
	return found, nil
}

// ask reads the device's status from the kernel. It leaves the fields empty for a device that is not in use, that has
// no node in this /dev, or whose store is gone.
func (l *loop) ask() error {
	descriptor, err := unix.Open(l.device, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening %s: %w", l.device, err)
	}
	defer unix.Close(descriptor) //nolint:errcheck // nothing was written
	status, err := unix.IoctlLoopGetStatus64(descriptor)
	if errors.Is(err, unix.ENXIO) || deadMount(err) || errors.Is(err, unix.EIO) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("asking %s: %w", l.device, err)
	}
	l.name = unix.ByteSliceToString(status.File_name[:])
	l.on = number{int(unix.Major(status.Device)), int(unix.Minor(status.Device))}
	return nil
}

// loopOf returns the loop device of a volume, or an empty one. It also finds a device whose store is gone.
func loopOf(instance string, v volume) (loop, error) {
	if !v.Block {
		return loop{}, nil
	}
	all, err := loops()
	if err != nil {
		return loop{}, err
	}
	for _, l := range all {
		if l.name == loopName(instance, v) || l.name == "" && strings.Contains(l.file, "/"+v.key()+"/"+diskFile) {
			return l, nil
		}
	}
	return loop{}, nil
}

func deviceOf(instance string, v volume) (string, error) {
	l, err := loopOf(instance, v)
	return l.device, err
}

// attach makes a loop device of a volume's file, unless there is one. The kernel configures a device in one call, so
// that a kill leaves none half made.
func attach(instance string, v volume, served string) (string, error) {
	there, err := loopOf(instance, v)
	if err != nil {
		return "", err
	}
	live, err := at(filepath.Dir(served))
	if err != nil {
		return "", err
	}
	if len(live) > 0 && there.on == numberOf(live[len(live)-1]) {
		return there.device, nil
	}
	if there.device != "" { // its store has died
		if err := detach(there.device); err != nil {
			return "", err
		}
	}
	file := filepath.Join(served, diskFile)
	backing, err := unix.Open(file, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("opening %s: %w", file, err)
	}
	defer unix.Close(backing) //nolint:errcheck // the device has its own descriptor
	control, err := unix.Open("/dev/loop-control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("opening the kernel's loop devices, which raw block volumes need: %w", err)
	}
	defer unix.Close(control) //nolint:errcheck // nothing was written
	// Direct I/O sends requests to the store in parallel, as they arrive.
	config := unix.LoopConfig{Fd: uint32(backing), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_DIRECT_IO}}
	copy(config.Info.File_name[:], loopName(instance, v))
	for range 100 {
		device, err := freeLoop(control)
		if err != nil {
			return "", err
		}
		err = configure(device, &config)
		if errors.Is(err, unix.EBUSY) {
			continue // another program took this device
		}
		return device, err
	}
	return "", errors.New("other programs take every free loop device")
}

func freeLoop(control int) (string, error) {
	free, err := unix.IoctlRetInt(control, unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return "", fmt.Errorf("asking for a free loop device: %w", err)
	}
	device := "/dev/loop" + strconv.Itoa(free)
	// A node with its own /dev does not see new devices.
	err = unix.Mknod(device, unix.S_IFBLK|0o600, int(unix.Mkdev(loopMajor, uint32(free))))
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return "", fmt.Errorf("making %s: %w", device, err)
	}
	return device, nil
}

func configure(device string, config *unix.LoopConfig) error {
	descriptor, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", device, err)
	}
	defer unix.Close(descriptor) //nolint:errcheck // nothing was written
	if err := unix.IoctlLoopConfigure(descriptor, config); err != nil {
		return fmt.Errorf("configuring %s: %w", device, err)
	}
	return nil
}

// onLoop sends an ioctl to a device.
func onLoop(device string, request uint) error {
	descriptor, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", device, err)
	}
	defer unix.Close(descriptor) //nolint:errcheck // nothing was written
	return unix.IoctlSetInt(descriptor, request, 0)
}

// detach releases a device. The kernel releases a device that is still open when it is closed.
func detach(device string) error {
	if err := onLoop(device, unix.LOOP_CLR_FD); err != nil && !errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("detaching %s: %w", device, err)
	}
	return nil
}

// grow adopts the current size of the device's file.
func grow(device string) error {
	if err := onLoop(device, unix.LOOP_SET_CAPACITY); err != nil {
		return fmt.Errorf("growing %s: %w", device, err)
	}
	return nil
}

// makeDisk creates the file of a raw block volume, or grows it to a size. It never shrinks the file.
func makeDisk(path string, bytes int64) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("making the disk: %w", err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	info, err := file.Stat()
	if err == nil && info.Size() < bytes {
		err = file.Truncate(bytes)
	}
	if err != nil {
		return fmt.Errorf("making the disk as large as %d bytes: %w", bytes, err)
	}
	return nil
}
