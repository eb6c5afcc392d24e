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

// Space is what files take. Directories, links and whatever is no regular file count for nothing, a file with
// several names counts once.
type Space struct {
	Files uint64
	// ApparentBytes are up to where the files reach.
	ApparentBytes uint64
	// AllocatedBytes is what the file system says that they take on it (st_blocks). What that means depends on
	// the file system: see Compression.
	AllocatedBytes uint64
	// DataBytes are the apparent ones without holes, as far as the file system tells them.
	DataBytes uint64
}

func (s *Space) add(other Space) {
	s.Files += other.Files
	s.ApparentBytes += other.ApparentBytes
	s.AllocatedBytes += other.AllocatedBytes
	s.DataBytes += other.DataBytes
}

// TypeSpace is what the files with one extension take.
type TypeSpace struct {
	// Extension without its dot and in lower case; "" for none, OtherTypes for all that are too many to tell.
	Extension string
	Space
}

// Usage is the space that all files of a client's directory take.
type Usage struct {
	Space
	// Types, those that take most first.
	Types []TypeSpace
	// HolesKnown says that the file system is known to tell holes from data.
	HolesKnown bool
	// Settled says that what is allocated had come to rest, as far as can be known.
	Settled bool
}

const (
	// maxDepth of directories, which are all open at once.
	maxDepth = 64
	// MaxUsageFiles is how many files and directories a look at the usage takes in.
	MaxUsageFiles = 100_000
)

// ErrTooMuch is a usage that was not counted to its end: a part of a sum is no figure.
var ErrTooMuch = errors.New("has more in it than is counted")

// Usage counts what the directory's files take, once. It stops with the context's error at its end, and with
// ErrTooMuch where there is more than maxFiles. It writes nothing and follows no link.
func (d *Dataset) Usage(ctx context.Context, maxFiles int) (Usage, error) {
	found, _, err := d.usage(ctx, maxFiles)
	return found, err
}

// usage also names the files that take less than is in them.
func (d *Dataset) usage(ctx context.Context, maxFiles int) (found Usage, short []string, err error) {
	look := usageLook{ctx: ctx, left: maxFiles, seen: map[uint64]bool{}, types: map[string]*Space{},
		compresses: d.mount.Compression() != CompressionNone}
	if err := look.directory(d.client, "", 0); err != nil {
		return Usage{}, nil, err
	}
	found = Usage{Types: tell(look.types), HolesKnown: look.listed || !look.unlisted,
		Settled: allocatesAtOnce(d.mount.FilesystemType) || len(look.short) == 0}
	for _, of := range found.Types {
		found.add(of.Space)
	}
	return found, look.short, nil
}

// usageLook is one walk.
type usageLook struct {
	ctx  context.Context // It lives as long as one call.
	left int
	// compresses: the file system may, so that holes have to be told from what compression saves.
	compresses bool
	// seen are the inodes of files with several names.
	seen  map[uint64]bool
	types map[string]*Space
	// listed: the file system has told of a hole, or is known to. unlisted: it has told of none where there may
	// be some.
	listed, unlisted bool
	// short are the files that take less than is in them, where that may be for lateness.
	short []string
}

func (l *usageLook) directory(at *directory, name string, depth int) error {
	if depth > maxDepth {
		return &Problem{Reason: ErrTooMuch, Path: at.path, Detail: fmt.Sprintf("over %d levels", maxDepth), Remedy: "its space is not told"}
	}
	self, err := at.root.Open(".")
	if err != nil {
		return classify(at.path, "open", err)
	}
	defer func() { _ = self.Close() }()
	return at.each(func(entry fs.DirEntry) (bool, error) {
		if err := l.ctx.Err(); err != nil {
			return true, fmt.Errorf("count what the files in %s take: %w", at.path, err)
		}
		if l.left--; l.left < 0 {
			return true, &Problem{Reason: ErrTooMuch, Path: at.path, Detail: "too many files", Remedy: "its space is not told"}
		}
		return false, ignoreMissing(l.entry(at, self, entry.Name(), filepath.Join(name, entry.Name()), depth))
	})
}

// entry looks at one name of a directory. A network file system is asked anew: what it told when the file was
// written may be older than what the server has allocated since.
func (l *usageLook) entry(at *directory, self *os.File, base, name string, depth int) error {
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

func (l *usageLook) file(at *directory, base, name string, stat *unix.Statx_t) error {
	// st_blocks counts 512 bytes whatever the block size.
	space := Space{Files: 1, ApparentBytes: stat.Size, AllocatedBytes: stat.Blocks * 512, DataBytes: stat.Size}
	switch {
	case space.AllocatedBytes >= space.ApparentBytes:
	case !l.compresses:
		space.DataBytes = space.AllocatedBytes // The rest is holes.
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

// data is what of a file is no hole.
func (l *usageLook) data(at *directory, base string) (uint64, error) {
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
		return 0, fmt.Errorf("look for holes in %s: %w", filepath.Join(at.path, base), err)
	}
	lists := listsHoles(magic)
	data, err := dataBytes(l.ctx, file, info.Size())
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP):
		lists, data = false, uint64(max(info.Size(), 0))
	case err != nil:
		return 0, fmt.Errorf("look for holes in %s: %w", filepath.Join(at.path, base), err)
	}
	if lists || data < uint64(max(info.Size(), 0)) {
		l.listed = true
	} else {
		l.unlisted = true
	}
	return data, nil
}
