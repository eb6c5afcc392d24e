package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Space is the disk usage of a set of files. Only regular files count, and hard-linked files count once.
type Space struct {
	Files uint64
	// ApparentBytes is the sum of the file sizes.
	ApparentBytes uint64
	// AllocatedBytes is the allocated space that the file system reports (st_blocks). Its meaning depends on the file
	// system: see Compression.
	AllocatedBytes uint64
	// DataBytes is the apparent size without holes, if the file system reports them.
	DataBytes uint64
}

func (s *Space) add(other Space) {
	s.Files += other.Files
	s.ApparentBytes += other.ApparentBytes
	s.AllocatedBytes += other.AllocatedBytes
	s.DataBytes += other.DataBytes
}

// TypeSpace is the disk usage of the files with one extension.
type TypeSpace struct {
	// Extension is in lower case and without its dot. It is "" for files without an extension, and OtherTypes for the
	// sum of the types beyond maxTypes.
	Extension string
	Space
}

// Usage is the disk usage of all files of a client's directory.
type Usage struct {
	Space
	// Types is sorted by allocated bytes, largest first.
	Types []TypeSpace
	// HolesKnown is true if the file system is known to distinguish holes from data.
	HolesKnown bool
	// Settled is true if the allocated space is expected to be final.
	Settled bool
}

const (
	// maxDepth limits the directory depth, because all directories of a path are open at once.
	maxDepth = 64
	// MaxUsageFiles limits the number of files and directories that are counted.
	MaxUsageFiles = 100_000
)

// ErrTooMuch means that there are too many files or levels of directories to count. No partial sum is returned, because
// it would be misleading.
var ErrTooMuch = errors.New("is too large to count")

// usage returns the current disk usage of the directory's files, even if the file system's figures are not final (see
// SettledUsage), and the names of the files that occupy less space than their data. It returns the context's error if
// ctx is done, and ErrTooMuch if there are more than maxFiles entries or the directories are nested too deeply. It
// writes nothing and follows no symbolic link.
func (d *Dataset) usage(ctx context.Context, maxFiles int) (found Usage, short []string, err error) {
	look := usageWalk{ctx: ctx, left: maxFiles, seen: map[uint64]bool{}, types: map[string]*Space{},
		compresses: d.mount.Compression() != CompressionNone}
	if err := look.directory(d.client, "", 0); err != nil {
		return Usage{}, nil, err
	}
	found = Usage{Types: sortedTypes(look.types), HolesKnown: look.listed || !look.unlisted,
		Settled: allocatesAtOnce(d.mount.FilesystemType) || len(look.short) == 0}
	for _, of := range found.Types {
		found.add(of.Space)
	}
	return found, look.short, nil
}

// usageWalk is the state of one directory walk.
type usageWalk struct {
	ctx  context.Context // a context in a struct is acceptable here: the struct exists only during one call
	left int
	// compresses is true if the file system may compress data. Holes must then be distinguished from compression.
	compresses bool
	// seen holds the inodes of the counted files that have several hard links, so that each file is counted only once.
	seen  map[uint64]bool
	types map[string]*Space
	// listed is true if a hole was found, or a file was on a file system that is known to report holes. unlisted is true
	// if no hole was reported in a file that may contain some. HolesKnown is derived from listed and unlisted.
	listed, unlisted bool
	// short lists the files whose allocated space is smaller than their data, possibly because the file system has not
	// updated its figures yet.
	short []string
}

func (l *usageWalk) directory(at *directory, name string, depth int) error {
	if depth > maxDepth {
		return &Problem{Reason: ErrTooMuch, Path: at.path, Detail: fmt.Sprintf("directories are nested more than %d levels deep", maxDepth), Remedy: "its disk usage is not reported"}
	}
	self, err := at.root.Open(".")
	if err != nil {
		return classify(at.path, "open", err)
	}
	defer func() { _ = self.Close() }()
	return at.each(func(entry fs.DirEntry) (bool, error) {
		if err := l.ctx.Err(); err != nil {
			return true, fmt.Errorf("count the disk usage of %s: %w", at.path, err)
		}
		if l.left--; l.left < 0 {
			return true, &Problem{Reason: ErrTooMuch, Path: at.path, Detail: "too many files", Remedy: "its disk usage is not reported"}
		}
		return false, ignoreMissing(l.entry(at, self, entry.Name(), filepath.Join(name, entry.Name()), depth))
	})
}

// entry adds a file to the disk usage, and descends into a directory. It makes a network file system query its server,
// because cached attributes may not include the latest space that the server has allocated.
func (l *usageWalk) entry(at *directory, self *os.File, base, name string, depth int) error {
	var stat unix.Statx_t
	err := unix.Statx(int(self.Fd()), base, unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_FORCE_SYNC,
		unix.STATX_TYPE|unix.STATX_NLINK|unix.STATX_INO|unix.STATX_SIZE|unix.STATX_BLOCKS, &stat)
	if err != nil {
		return classify(filepath.Join(at.path, base), "look at", err)
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		child, err := at.child(base)
		if err != nil {
			return err
		}
		defer child.close()
		return l.directory(child, name, depth+1)
	case unix.S_IFREG:
		if stat.Nlink > 1 && l.seen[stat.Ino] {
			return nil
		}
		if stat.Nlink > 1 {
			l.seen[stat.Ino] = true
		}
		return l.file(at, base, name, &stat)
	}
	return nil
}

func (l *usageWalk) file(at *directory, base, name string, stat *unix.Statx_t) error {
	// st_blocks is in units of 512 bytes, whatever the block size.
	space := Space{Files: 1, ApparentBytes: stat.Size, AllocatedBytes: stat.Blocks * 512, DataBytes: stat.Size}
	switch {
	case space.AllocatedBytes >= space.ApparentBytes:
	case !l.compresses:
		space.DataBytes = space.AllocatedBytes // without compression, only holes make the allocation smaller than the file
	default:
		data, err := l.data(at, base)
		if err != nil {
			return err
		}
		if space.DataBytes = min(data, space.ApparentBytes); space.AllocatedBytes < space.DataBytes {
			l.short = append(l.short, name)
		}
	}
	of := l.types[extension(base)]
	if of == nil {
		of = &Space{}
		l.types[extension(base)] = of
	}
	of.add(space)
	return nil
}

// data returns the number of bytes of a file that are outside holes.
func (l *usageWalk) data(at *directory, base string) (uint64, error) {
	file, err := at.file(base, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return 0, classify(filepath.Join(at.path, base), "look at", err)
	}
	magic, err := magicOf(file)
	if err != nil {
		return 0, fmt.Errorf("search for holes in %s: %w", filepath.Join(at.path, base), err)
	}
	lists := listsHoles(magic)
	data, err := dataBytes(l.ctx, file, info.Size())
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP):
		lists, data = false, uint64(max(info.Size(), 0))
	case err != nil:
		return 0, fmt.Errorf("search for holes in %s: %w", filepath.Join(at.path, base), err)
	}
	if lists || data < uint64(max(info.Size(), 0)) {
		l.listed = true
	} else {
		l.unlisted = true
	}
	return data, nil
}
