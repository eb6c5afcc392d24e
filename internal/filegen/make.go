package filegen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Options configures Make.
type Options struct {
	// Directory is the directory of the files, relative to the working directory.
	Directory string `json:"directory"`
	// Count is the number of files, and TotalBytes their total size.
	Count      int   `json:"count"`
	TotalBytes int64 `json:"totalBytes"`
	// CompressPercent is the percentage of each block that is highly compressible.
	CompressPercent int    `json:"compressPercent"`
	Seed            uint64 `json:"seed"`
	// Extensions are the extensions of the file names, used in turn.
	Extensions []string `json:"extensions"`
	// Parallel is the number of files written concurrently; it does not affect the contents.
	Parallel int `json:"-"`
}

// Limits on the options.
const (
	maxCount    = 10_000_000
	maxTotal    = 1 << 50
	maxParallel = 256
)

// note records the options with which files were created, and whether all files are complete.
type note struct {
	// Format is the version of the contents; a different version produces different bytes.
	Format   int  `json:"format"`
	Complete bool `json:"complete"`
	Options
}

const format = 1

// Check returns an error for the first invalid option.
func (o Options) Check() error {
	switch {
	case o.Directory == "" || !filepath.IsLocal(o.Directory) || filepath.Clean(o.Directory) == ".":
		return fmt.Errorf("--directory %q: must be a path below the working directory, such as photos", o.Directory)
	case o.Count < 1 || o.Count > maxCount:
		return fmt.Errorf("--count %d: must be from 1 to %d", o.Count, maxCount)
	case o.TotalBytes < 0 || o.TotalBytes > maxTotal:
		return fmt.Errorf("--total-bytes %d: must be from 0 to %d", o.TotalBytes, int64(maxTotal))
	case o.CompressPercent < 0 || o.CompressPercent > 100:
		return fmt.Errorf("--compress-percent %d: must be from 0 to 100", o.CompressPercent)
	case o.Parallel < 1 || o.Parallel > maxParallel:
		return fmt.Errorf("--parallel %d: must be from 1 to %d", o.Parallel, maxParallel)
	case len(o.Extensions) == 0 || len(o.Extensions) > 64:
		return errors.New("--extensions: specify 1 to 64 extensions, such as jpg,txt")
	}
	for _, extension := range o.Extensions {
		if extension == "" || !filepath.IsLocal("x."+extension) || path.Base("x."+extension) != "x."+extension || len(extension) > 16 {
			return fmt.Errorf("--extensions: %q: must be a file name extension of at most 16 characters, such as jpg", extension)
		}
	}
	return nil
}

// Make creates the files and syncs them to storage. kept is true if they already existed. It returns an error if the
// directory contains files that an earlier call did not create.
func Make(ctx context.Context, o Options) (kept bool, err error) {
	if err := o.Check(); err != nil {
		return false, err
	}
	root, err := os.OpenRoot(".")
	if err != nil {
		return false, fmt.Errorf("open the working directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	m := maker{root: root, options: o, sizes: sizes(o.Count, o.TotalBytes, o.Seed)}
	known, err := m.readNote()
	if err != nil {
		return false, err
	}
	switch {
	case known == nil:
		if err := m.isNew(); err != nil {
			return false, err
		}
	case known.equals(o) && known.Complete && m.complete():
		return true, nil
	case !known.equals(o):
		// An earlier call created files with other arguments, so remove them first.
		if err := m.remove(known); err != nil {
			return false, err
		}
	}
	if err := m.checkRoom(); err != nil {
		return false, err
	}
	if err := m.writeNote(note{Format: format, Options: o}); err != nil {
		return false, err
	}
	if err := m.writeAll(ctx); err != nil {
		return false, err
	}
	return false, m.writeNote(note{Format: format, Complete: true, Options: o})
}

type maker struct {
	root    *os.Root
	options Options
	sizes   []int64
}

func (n *note) equals(o Options) bool {
	return n.Format == format && n.Directory == o.Directory && n.Count == o.Count && n.TotalBytes == o.TotalBytes &&
		n.CompressPercent == o.CompressPercent && n.Seed == o.Seed && slices.Equal(n.Extensions, o.Extensions)
}

func (m *maker) noteName() string { return filepath.Clean(m.options.Directory) + ".files.json" }

// readNote reads the note that an earlier call wrote beside the directory. It returns nil if there is no note.
func (m *maker) readNote() (*note, error) {
	text, err := m.root.ReadFile(m.noteName())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // There is no note.
	}
	var known note
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of existing files: %w; remove the record and the directory %s", err, m.options.Directory)
	}
	return &known, nil
}

func (m *maker) writeNote(n note) error {
	if parent := filepath.Dir(m.noteName()); parent != "." {
		if err := m.root.MkdirAll(parent, 0o770); err != nil {
			return fmt.Errorf("create the directory: %w", err)
		}
	}
	text, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("write the record of the files: %w", err)
	}
	fresh := m.noteName() + ".new"
	err = m.write(fresh, func(file *os.File) error {
		_, err := file.Write(append(text, '\n'))
		return err
	})
	if err == nil {
		err = m.root.Rename(fresh, m.noteName())
	}
	if err != nil {
		return fmt.Errorf("write the record of the files: %w", err)
	}
	return nil
}

// isNew returns an error if the directory is not empty. It is called if the directory has no note, so any files in it
// are not from this command.
func (m *maker) isNew() error {
	directory, err := m.root.Open(m.options.Directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("inspect %s: %w", m.options.Directory, err)
	}
	defer func() { _ = directory.Close() }()
	if names, _ := directory.Readdirnames(1); len(names) > 0 {
		return fmt.Errorf("%s is not empty, and was not created by this command: use another --directory", m.options.Directory)
	}
	return nil
}

// remove removes the files that an earlier call created, and their subdirectories. It returns an error if the directory
// contains anything else.
func (m *maker) remove(earlier *note) error {
	const what = "remove the files created with other arguments: %w"
	for index := range min(earlier.Count, maxCount) {
		if len(earlier.Extensions) == 0 {
			break
		}
		name := filepath.Join(m.options.Directory, nameOf(index, earlier.Extensions))
		if err := m.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf(what, err)
		}
		if (index+1)%perFolder == 0 || index+1 == earlier.Count {
			// Ignore the error: if the subdirectory contains anything else, the removal of its parent directory below fails too,
			// and that error is returned.
			_ = m.root.Remove(filepath.Dir(name))
		}
	}
	err := m.root.Remove(m.options.Directory)
	switch {
	case errors.Is(err, unix.ENOTEMPTY):
		return fmt.Errorf("%s holds files that this command did not create: use another --directory, or move them", m.options.Directory)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf(what, err)
	}
	return nil
}

// complete reports whether all files exist with their expected sizes.
func (m *maker) complete() bool {
	for i, size := range m.sizes {
		info, err := m.root.Lstat(m.name(i))
		if err != nil || !info.Mode().IsRegular() || info.Size() != size {
			return false
		}
	}
	return true
}

func (m *maker) name(index int) string {
	return filepath.Join(m.options.Directory, nameOf(index, m.options.Extensions))
}

func (m *maker) writeAll(ctx context.Context) error {
	for i := 0; i < len(m.sizes); i += perFolder {
		if err := m.root.MkdirAll(filepath.Dir(m.name(i)), 0o770); err != nil {
			return fmt.Errorf("create the directory: %w", err)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range m.options.Parallel {
		workers.Go(func() {
			for index := range next {
				if err := m.writeFile(index); err != nil {
					cancel(err)
				}
			}
		})
	}
	for index := range m.sizes {
		select {
		case next <- index:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return m.syncFolders()
}

// syncFolders syncs the directories, so that the file names are on the storage too.
func (m *maker) syncFolders() error {
	folders := []string{m.options.Directory}
	for i := 0; i < len(m.sizes); i += perFolder {
		folders = append(folders, filepath.Dir(m.name(i)))
	}
	for _, name := range folders {
		folder, err := m.root.Open(name)
		if err != nil {
			return fmt.Errorf("sync %s: %w", name, err)
		}
		// Ignore the error of a file system that cannot sync directories.
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}

func (m *maker) writeFile(index int) error {
	made := newContent(m.options.Seed, index, m.options.CompressPercent)
	return m.write(m.name(index), func(file *os.File) error { return made.writeTo(file, m.sizes[index]) })
}

// write creates or overwrites a file and syncs it.
func (m *maker) write(name string, fill func(*os.File) error) error {
	file, err := m.root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o660)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	err = fill(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	return nil
}
