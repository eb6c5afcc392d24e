package lab

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Bus connects a disk to its machine.
type Bus string

// Buses.
const (
	Virtio Bus = "virtio"
	SCSI   Bus = "scsi"
	NVMe   Bus = "nvme"
)

// Disk is a disk of a machine, backed by an empty, sparse file on this computer. Writes go to the page cache, so only
// the throttle limits them.
type Disk struct {
	Bytes int64
	// Bus is Virtio by default.
	Bus Bus
	// SectorBytes is the sector size, by default 512. A disk with 4096 is called 4Kn.
	SectorBytes int
	// Throttling holds throttling options of QEMU, such as {"bps-write": 8e6, "bps-write-max": 60e6,
	// "bps-write-max-length": 15}: a bucket of max x length that leaks at the first rate. docs/throttle.txt of QEMU
	// describes them.
	Throttling map[string]int64
	// Group is the name of a throttle group: disks of the same group share their limits.
	Group string
}

// options creates the disk's file and returns the QEMU options for the disk.
func (d Disk) options(folder string, number int) ([]string, error) {
	id := "disk" + strconv.Itoa(number)
	path := filepath.Join(folder, id)
	file, err := os.Create(path) // #nosec G304 -- in the test's folder
	if err != nil {
		return nil, err
	}
	if err := errors.Join(file.Truncate(d.Bytes), file.Close()); err != nil {
		return nil, err
	}
	drive := "id=" + id + ",if=none,file=" + path + ",format=raw,cache=unsafe"
	for _, name := range slices.Sorted(maps.Keys(d.Throttling)) {
		drive += fmt.Sprintf(",throttling.%s=%d", name, d.Throttling[name])
	}
	if d.Group != "" {
		drive += ",throttling.group=" + d.Group
	}
	device := map[Bus]string{"": "virtio-blk-pci", Virtio: "virtio-blk-pci", SCSI: "scsi-hd,bus=scsi.0", NVMe: "nvme"}[d.Bus]
	device += ",drive=" + id + ",serial=" + id
	if d.Bus == NVMe {
		// Under this ID, Linux writes zeros as data. It otherwise uses Write Zeroes, for example in mkfs, and QEMU leaves
		// this command of its NVMe disks out of its statistics.
		device += ",use-intel-id=on"
	}
	if d.SectorBytes != 0 {
		device += fmt.Sprintf(",logical_block_size=%d,physical_block_size=%d", d.SectorBytes, d.SectorBytes)
	}
	return []string{"-drive", drive, "-device", device}, nil
}

// Path returns the path of a disk's device in the machine. disk is the index in Disks.
func Path(disk int) string { return "/dev/lab/disk" + strconv.Itoa(disk) }

// Counters holds the I/O counters of a disk.
type Counters struct {
	ReadBytes, WriteBytes           int64
	ReadOperations, WriteOperations int64
}

// diskstats parses the machine's output about its disks: a line for each disk with its name and the fields of its stat
// file (Documentation/block/stat.rst of Linux). In that file, a sector always has 512 bytes.
func (m Machine) diskstats(text string) ([]Counters, error) {
	found := make([]Counters, len(m.Disks))
	seen := 0
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, is := strings.CutPrefix(name, "disk")
		i, err := strconv.Atoi(number)
		if !is || err != nil || i >= len(found) {
			continue
		}
		var merged int64
		c := &found[i]
		if _, err := fmt.Sscan(rest, &c.ReadOperations, &merged, &c.ReadBytes, &merged, &c.WriteOperations, &merged, &c.WriteBytes); err != nil {
			return nil, fmt.Errorf("read the counters of %s: %w", name, err)
		}
		c.ReadBytes, c.WriteBytes = 512*c.ReadBytes, 512*c.WriteBytes
		seen++
	}
	if seen != len(m.Disks) {
		return nil, fmt.Errorf("the machine has %d of %d disks:\n%s", seen, len(m.Disks), text)
	}
	return found, nil
}
