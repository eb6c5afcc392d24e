// Command enter boots a virtual machine of the lab and opens a shell in it:
//
//	go run ./test/lab/cmd/enter [-disk BUS]... [PROGRAM]...
//
// The given programs of this computer, which must be linked statically, are in /lab of the machine; disks are
// /dev/lab/disk0 and so on. The host is 10.0.2.2. Exit the shell, or press Ctrl-A X, to end the machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/storagebench/storagebench/test/lab"
)

func main() {
	machine := lab.Machine{Programs: map[string]string{}}
	flag.Func("disk", "a disk of 4 GiB on a `bus`: virtio, scsi or nvme", func(bus string) error {
		switch lab.Bus(bus) {
		case lab.Virtio, lab.SCSI, lab.NVMe:
			machine.Disks = append(machine.Disks, lab.Disk{Bytes: 4 << 30, Bus: lab.Bus(bus)})
			return nil
		}
		return fmt.Errorf("want virtio, scsi or nvme")
	})
	flag.Parse()
	for _, program := range flag.Args() {
		machine.Programs[filepath.Base(program)] = program
	}
	if err := machine.Enter(context.Background()); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
