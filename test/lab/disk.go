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

// Bus is how a machine reaches a disk.
type Bus string

// Buses.
const (
	Virtio Bus = "virtio"
	SCSI   Bus = "scsi"
	NVMe   Bus = "nvme"
)

// Disk is one on an empty, sparse file of this computer. Its writes end in the page cache, so that nothing but the throttle
// is slow.
type Disk struct {
	Bytes int64
	// Bus is Virtio unless it is set.
	Bus Bus
	// SectorBytes are 512 unless they are set; 4096 is a disk that is called 4Kn.
	SectorBytes int
	// Throttling are options of QEMU's own, such as {"bps-write": 8e6, "bps-write-max": 60e6, "bps-write-max-length": 15}: a
	// bucket of max x length that leaks at the first rate. docs/throttle.txt of QEMU describes them.
	Throttling map[string]int64
	// Group is a name that disks have which share their throttling.
	Group string
}

// options make the disk's file and describe the disk to QEMU.
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
	if d.SectorBytes != 0 {
		device += fmt.Sprintf(",logical_block_size=%d,physical_block_size=%d", d.SectorBytes, d.SectorBytes)
	}
	return []string{"-drive", drive, "-device", device}, nil
}

// Names of the disks' devices in the machine, such as vda, in the order of Disks.
func (m Machine) Names() []string {
	counts := map[Bus]int{}
	var names []string
	for _, disk := range m.Disks {
		n := counts[disk.Bus]
		switch disk.Bus {
		case SCSI:
			names = append(names, "sd"+string(rune('a'+n)))
		case NVMe:
			names = append(names, fmt.Sprintf("nvme%dn1", n))
		default:
			n = counts[Virtio] + counts[""]
			names = append(names, "vd"+string(rune('a'+n)))
		}
		counts[disk.Bus]++
	}
	return names
}

// Counters are what was counted of a disk.
type Counters struct {
	ReadBytes, WriteBytes           int64
	ReadOperations, WriteOperations int64
}

// diskstats reads the lines of /proc/diskstats of the machine's disks (Documentation/admin-guide/iostats.rst of Linux). Its
// sectors have 512 bytes on every disk.
func (m Machine) diskstats(text string) ([]Counters, error) {
	found := make([]Counters, len(m.Disks))
	seen := 0
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 10 {
			continue
		}
		i := slices.Index(m.Names(), fields[2])
		if i < 0 {
			continue
		}
		var numbers [7]int64
		for k := range numbers {
			var err error
			if numbers[k], err = strconv.ParseInt(fields[3+k], 10, 64); err != nil {
				return nil, fmt.Errorf("read /proc/diskstats: %w", err)
			}
		}
		found[i] = Counters{ReadOperations: numbers[0], ReadBytes: 512 * numbers[2], WriteOperations: numbers[4], WriteBytes: 512 * numbers[6]}
		seen++
	}
	if seen != len(m.Disks) {
		return nil, fmt.Errorf("the machine has %d of %d disks:\n%s", seen, len(m.Disks), text)
	}
	return found, nil
}
