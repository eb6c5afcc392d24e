package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// These limits keep a sample of the user's own data small.
const (
	// SampleRecordBytes is the length of one record: the largest unit that file systems usually compress at once.
	SampleRecordBytes = 128 << 10
	// sampleRecords limits the records read, to 16 MiB in total. Reading spends credits, and a slow share reads only 30
	// MB/s.
	sampleRecords = 128
	// maxSampleEntries limits the directory entries examined.
	maxSampleEntries = 20_000
)

// Sample reads records of one of the user's files, or of all files of a directory, to measure how such data compresses.
// It spreads the records evenly over the files, which it sorts by name, and evenly within each file, so that samples of
// unchanged files are equal. It opens files for reading only, follows no symbolic link, stays below root, and skips the
// files of runs and everything except regular files. It calls visit with each record; visit must not use the record
// after it returns. Sample returns the number of files that it read.
//
// The error wraps ErrMissing if the name does not exist. A directory without data is an error too.
func Sample(ctx context.Context, root, name string, visit func(record []byte)) (files int, err error) {
	top, err := os.OpenRoot(root)
	if err != nil {
		return 0, fmt.Errorf("sample %s: %w", name, err)
	}
	defer func() { _ = top.Close() }()
	name = path.Clean(name)
	if err := noLinks(top, name); err != nil {
		return 0, err
	}
	found, err := regularFiles(ctx, top, name)
	if err != nil {
		return 0, fmt.Errorf("sample %s: %w", name, err)
	}
	if len(found) == 0 {
		return 0, fmt.Errorf("sample %s: no files with data found: use a path that contains data", name)
	}
	chosen := spread(found, min(len(found), sampleRecords))
	each := max(sampleRecords/len(chosen), 1)
	buffer := make([]byte, SampleRecordBytes)
	for _, one := range chosen {
		read, err := sampleFile(ctx, top, one, each, buffer, visit)
		if err != nil {
			return 0, fmt.Errorf("sample %s: %w", one.name, err)
		}
		if read {
			files++
		}
	}
	return files, nil
}

// noLinks returns an error if the path does not exist or if one of its components is a symbolic link.
func noLinks(top *os.Root, name string) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("sample %q: use a path relative to the target's path", name)
	}
	at := ""
	for part := range strings.SplitSeq(name, "/") {
		at = path.Join(at, part)
		info, err := top.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("sample %s: %w", name, ErrMissing)
		case err != nil:
			return fmt.Errorf("sample %s: %w", name, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("sample %s: %s is a symbolic link: use the path that it points to", name, at)
		}
	}
	return nil
}

// sampled is a nonempty file to sample.
type sampled struct {
	name  string
	bytes int64
}

// regularFiles lists the nonempty regular files of a directory, sorted by name. If name is the name of a file, the list
// contains only that file.
func regularFiles(ctx context.Context, top *os.Root, name string) ([]sampled, error) {
	var found []sampled
	entries := 0
	err := fs.WalkDir(top.FS(), name, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			if at == name {
				return err
			}
			return nil // skip entries that cannot be listed
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if entries++; entries > maxSampleEntries {
			return fs.SkipAll
		}
		if entry.IsDir() && path.Base(at) == ".storagebench" {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		if info, err := entry.Info(); err == nil && info.Size() > 0 {
			found = append(found, sampled{at, info.Size()})
		}
		return nil
	})
	return found, err
}

// spread selects the given number of evenly spaced files.
func spread(all []sampled, count int) []sampled {
	if len(all) <= count {
		return slices.Clone(all)
	}
	chosen := make([]sampled, count)
	for i := range chosen {
		chosen[i] = all[i*len(all)/count]
	}
	return chosen
}

// sampleFile reads evenly spaced records of a file, or all of a small file.
func sampleFile(ctx context.Context, top *os.Root, of sampled, records int, buffer []byte, visit func([]byte)) (bool, error) {
	file, err := top.OpenFile(of.name, os.O_RDONLY|sampleFlags, 0)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return false, err // skip a file that was replaced after it was listed
	}
	whole := (of.bytes + SampleRecordBytes - 1) / SampleRecordBytes
	count := min(int64(records), whole)
	some := false
	for i := range count {
		if err := ctx.Err(); err != nil {
			return some, err
		}
		read, err := file.ReadAt(buffer, i*whole/count*SampleRecordBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return some, err
		}
		if read > 0 {
			visit(buffer[:read])
			some = true
		}
	}
	return some, nil
}
