package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// DeviceIO is the I/O of a control group on a block device.
type DeviceIO struct {
	ReadBytes, WriteBytes           uint64
	ReadOperations, WriteOperations uint64
}

// Since returns the increase since an earlier reading, or 0 for a counter that has decreased.
func (d DeviceIO) Since(before DeviceIO) DeviceIO {
	less := func(a, b uint64) uint64 { return max(a, b) - b }
	return DeviceIO{
		ReadBytes: less(d.ReadBytes, before.ReadBytes), WriteBytes: less(d.WriteBytes, before.WriteBytes),
		ReadOperations: less(d.ReadOperations, before.ReadOperations), WriteOperations: less(d.WriteOperations, before.WriteOperations),
	}
}

// ErrNoDeviceIO means that the control group of this process does not count its I/O on a device.
var ErrNoDeviceIO = errors.New("the control group has no I/O statistics for the device")

// CgroupDeviceIO returns the I/O of this process's control group on a file system's device. It returns ErrNoDeviceIO if
// the group contains other processes, if the file system has no device, or if the group is in cgroup v1, which does not
// charge writeback to any group.
func CgroupDeviceIO(device uint64) (DeviceIO, error) {
	group, err := ownCgroup()
	if err != nil {
		return DeviceIO{}, err
	}
	if !group.unified || unix.Major(device) == 0 || !group.isOurs() {
		return DeviceIO{}, ErrNoDeviceIO
	}
	text, err := os.ReadFile(filepath.Join(group.directory, "io.stat"))
	if err != nil {
		return DeviceIO{}, fmt.Errorf("read the I/O statistics of the control group: %w", err)
	}
	for _, name := range deviceNames(device) {
		if found, known, err := parseDeviceIO(string(text), name); known || err != nil {
			return found, err
		}
	}
	// Return zeros, because io.stat does not list a device on which the group has done no I/O.
	return DeviceIO{}, nil
}

// isOurs reports whether the group contains only this process and its descendants.
func (g cgroup) isOurs() bool {
	text, err := os.ReadFile(filepath.Join(g.directory, "cgroup.procs"))
	if err != nil {
		return false
	}
	descendantsOf, err := Descendants(os.Getpid())
	if err != nil {
		return false
	}
	ours := map[string]bool{strconv.Itoa(os.Getpid()): true}
	for _, p := range descendantsOf {
		ours[strconv.Itoa(p.PID)] = true
	}
	return !slices.ContainsFunc(strings.Fields(string(text)), func(pid string) bool { return !ours[pid] })
}

// deviceNames returns the number (major:minor) of a device. For a partition, it also returns the number of the disk,
// because the kernel charges the I/O to the disk.
func deviceNames(device uint64) []string {
	name := fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device))
	names := []string{name}
	folder, err := filepath.EvalSymlinks("/sys/dev/block/" + name)
	if err != nil {
		return names
	}
	if _, err := os.Stat(filepath.Join(folder, "partition")); err != nil {
		return names
	}
	if disk, err := os.ReadFile(filepath.Join(filepath.Dir(folder), "dev")); err == nil {
		names = append(names, strings.TrimSpace(string(disk)))
	}
	return names
}

// parseDeviceIO finds a device's line, such as "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0".
func parseDeviceIO(text, device string) (found DeviceIO, known bool, err error) {
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != device {
			continue
		}
		fields := map[string]*uint64{
			"rbytes": &found.ReadBytes, "wbytes": &found.WriteBytes, "rios": &found.ReadOperations, "wios": &found.WriteOperations,
		}
		for _, pair := range strings.Fields(rest) {
			key, value, _ := strings.Cut(pair, "=")
			field := fields[key]
			if field == nil {
				continue
			}
			if *field, err = strconv.ParseUint(value, 10, 64); err != nil {
				return DeviceIO{}, false, fmt.Errorf("read the I/O statistics of device %s: %s: %w", device, key, err)
			}
		}
		return found, true, nil
	}
	return DeviceIO{}, false, nil
}
