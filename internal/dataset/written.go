package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Source is the method by which Coverage was determined.
type Source string

const (
	// SourceExtents is the file system's own list of data and holes (SEEK_DATA, SEEK_HOLE).
	SourceExtents Source = "Extents"
	// SourceBlocks is the allocated space of the file. It includes reserved space that was never written, and is
	// smaller than the written data if the file system compresses.
	SourceBlocks Source = "Blocks"
	// SourceBelieved means that the whole file is assumed to be written. The file system can report holes but reported
	// none here, and it may allocate less space than was written because it compresses.
	SourceBelieved Source = "Believed"
)

// Coverage describes how much of a file has been written. Reads of unwritten ranges never reach the storage and
// measure nothing.
type Coverage struct {
	ApparentBytes uint64
	WrittenBytes  uint64
	// BlockBytes is the space allocated to the file (st_blocks).
	BlockBytes uint64
	Source     Source
	// Doubtful is true if the file may be complete although WrittenBytes is less than ApparentBytes. This is the case
	// if only st_blocks is known and a server or a FUSE program reports it. Attribute caches can return stale values: an
	// SMB client that holds a lease reports zero blocks for about a second. A server that compresses data reports fewer
	// blocks than were written.
	Doubtful bool
}

// Complete reports whether every byte was written.
func (c Coverage) Complete() bool { return c.WrittenBytes >= c.ApparentBytes }

// Written measures the coverage of a file, given by its path relative to the directory. The error wraps fs.ErrNotExist
// if the file is missing.
func (d *Dataset) Written(name string) (Coverage, error) {
	file, err := d.open(name)
	if err != nil {
		return Coverage{}, err
	}
	defer func() { _ = file.Close() }()
	return d.coverage(name, file)
}

func (d *Dataset) coverage(name string, file *os.File) (Coverage, error) {
	coverage, err := d.measureCoverage(file)
	if err != nil {
		return Coverage{}, fmt.Errorf("count the written bytes of %s: %w", filepath.Join(d.client.path, name), err)
	}
	return coverage, nil
}

func (d *Dataset) open(name string) (*os.File, error) {
	holder, base, err := d.walk(name)
	if err != nil {
		return nil, err
	}
	defer d.release(holder)
	return holder.file(base, os.O_RDONLY)
}

func (d *Dataset) measureCoverage(file *os.File) (Coverage, error) {
	var stat unix.Statx_t
	err := unix.Statx(int(file.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_SIZE|unix.STATX_BLOCKS, &stat)
	if err != nil {
		return Coverage{}, fmt.Errorf("stat: %w", err)
	}
	magic, err := magicOf(file)
	if err != nil {
		return Coverage{}, err
	}
	apparent, blocks := stat.Size, stat.Blocks*512                                   // st_blocks is in 512-byte units
	data, err := dataBytes(context.Background(), file, int64(min(stat.Size, 1<<62))) // #nosec G115 -- bounded by min
	seeks := !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EOPNOTSUPP)
	if err != nil && seeks {
		return Coverage{}, err
	}
	believed := d.mount.reportsHoles(magic)
	if !believed && seeks && !listsHoles(magic) && data >= apparent && blocks < apparent {
		believed = d.probeHoles()
	}
	coverage := coverageOf(magic, seeks, believed, apparent, blocks, data)
	coverage.Doubtful = coverage.Source == SourceBlocks && !coverage.Complete() && !d.mount.OnThisMachine()
	return coverage, nil
}

// coverageOf computes the coverage of a file from its size, its allocated space and its data. If seeks is true, the
// file system was asked for holes, and data is the number of bytes outside them. If believed is true, a file without
// reported holes counts as completely written even if its allocated space is smaller than its size.
func coverageOf(magic uint32, seeks, believed bool, apparent, blocks, data uint64) Coverage {
	coverage := Coverage{ApparentBytes: apparent, BlockBytes: blocks}
	switch {
	case seeks && (listsHoles(magic) || data < apparent):
		coverage.WrittenBytes, coverage.Source = data, SourceExtents
	case believed && blocks > 0:
		coverage.WrittenBytes, coverage.Source = apparent, SourceBelieved
	default:
		// Use the allocated space: if the file system does not track holes, the kernel reports the whole file as data.
		coverage.WrittenBytes, coverage.Source = min(apparent, blocks), SourceBlocks
	}
	return coverage
}

// dataBytes returns the total length of the data extents below size. There can be millions of extents.
func dataBytes(ctx context.Context, file *os.File, size int64) (uint64, error) {
	fd := int(file.Fd())
	var sum uint64
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		start, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // ENXIO means that the file has no data after this offset
			return sum, nil
		}
		if err != nil {
			return 0, fmt.Errorf("find the next data extent: %w", err)
		}
		end, err := unix.Seek(fd, start, unix.SEEK_HOLE)
		if err != nil {
			return 0, fmt.Errorf("find the next hole: %w", err)
		}
		if end <= start || start < at {
			return 0, fmt.Errorf("the file system reports an invalid data range, from offset %d to %d", start, end)
		}
		sum += uint64(max(0, min(end, size)-min(start, size)))
		at = end
	}
	return sum, nil
}

// Magic numbers of file systems that x/sys does not define.
const (
	zfsMagic    = 0x2fc12fc1
	lustreMagic = 0x0bd00bd0
)

// magicOf returns the magic number of a file's file system.
func magicOf(file *os.File) (uint32, error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &fs); err != nil {
		return 0, fmt.Errorf("statfs: %w", err)
	}
	return uint32(fs.Type), nil //nolint:gosec // magic numbers are 32 bits; the field is wider on some machines
}

// reportsHoles returns true for file systems that usually report holes but whose allocated space may be smaller than
// the written data, because they compress data or update the allocated space late: Lustre since 2.14 and NFS 4.2.
func (m Mount) reportsHoles(magic uint32) bool {
	return magic == lustreMagic || magic == unix.NFS_SUPER_MAGIC && slices.Contains(m.Options, "vers=4.2")
}

// listsHoles reports whether a file system is known to distinguish data from holes, so that a file without reported
// holes is completely written. NFS, FUSE and others may report all of a file as data even if it has holes.
func listsHoles(magic uint32) bool {
	switch magic {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, zfsMagic:
		return true
	}
	return false
}
