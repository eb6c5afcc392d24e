package command

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/process"
)

// Names of the byte sources, as in the API.
const (
	sourceMount        = "Mount"
	sourceControlGroup = "ControlGroup"
	sourceStorage      = "Storage"
	sourceCalls        = "Calls"
)

// byteSources holds the counters of the mount and of the control group. They can be closer to the I/O that reaches the
// storage than the counts of the program's system calls.
type byteSources struct {
	system System
	mount  dataset.Mount
	// device and stats hold the counters of the control group and of the mount, read before the program starts. Each is
	// nil if its counters are unavailable.
	device *process.DeviceIO
	stats  *mountCount
}

// begin reads the counters before the program starts.
func (b *byteSources) begin(system System, mount dataset.Mount) {
	b.system, b.mount = system, mount
	if found, err := b.system.DeviceIO(mount.Device); err == nil {
		b.device = &found
	}
	if found, known := readMountStats(mount); known {
		b.stats = &found
	}
}

// end returns the bytes that each source counted since begin. For sources without counters of their own, end computes
// the bytes from done, the I/O counters of the program and its descendants.
func (b *byteSources) end(done process.IO) []*agentapi.ByteSource {
	var all []*agentapi.ByteSource
	if b.stats != nil {
		if now, known := readMountStats(b.mount); known {
			moved := now.since(*b.stats)
			all = append(all, &agentapi.ByteSource{Source: sourceMount, ReadBytes: moved.readBytes,
				WriteBytes:    moved.writeBytes,
				HasOperations: moved.hasOperations, ReadOperations: moved.readOperations, WriteOperations: moved.writeOperations})
		}
	}
	if b.device != nil {
		if now, err := b.system.DeviceIO(b.mount.Device); err == nil {
			moved := now.Since(*b.device)
			all = append(all, &agentapi.ByteSource{Source: sourceControlGroup, ReadBytes: moved.ReadBytes,
				WriteBytes:    moved.WriteBytes,
				HasOperations: true, ReadOperations: moved.ReadOperations, WriteOperations: moved.WriteOperations})
		}
	}
	if countsStorage(b.mount) {
		all = append(all, &agentapi.ByteSource{Source: sourceStorage, ReadBytes: done.StorageReadBytes,
			WriteBytes: max(done.StorageWriteBytes, done.CancelledBytes) - done.CancelledBytes})
	}
	return append(all, &agentapi.ByteSource{Source: sourceCalls, ReadBytes: done.ReadBytes, WriteBytes: done.WriteBytes,
		HasOperations: true, ReadOperations: done.ReadCalls, WriteOperations: done.WriteCalls})
}

// networkAccounted lists the file systems without a block device for which the kernel still counts the bytes that a
// process fetches from storage, and the bytes of the pages that it dirties.
var networkAccounted = []string{"nfs", "nfs4", "cifs", "smb3", "ceph", "btrfs"}

// countsStorage reports whether a process's read_bytes and write_bytes cover the mount's file system. They cover
// neither FUSE nor file systems in memory.
func countsStorage(mount dataset.Mount) bool {
	return unix.Major(mount.Device) != 0 || slices.Contains(networkAccounted, mount.FilesystemType)
}
