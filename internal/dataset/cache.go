package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DropCache writes a file's dirty pages to storage and asks this machine's kernel to drop the file's cached pages. The
// caches of other machines and of the server are unaffected.
func (d *Dataset) DropCache(name string) error {
	file, err := d.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	path := filepath.Join(d.client.path, name)
	// Write the dirty pages first, because the kernel does not drop them.
	if err := unix.Fdatasync(int(file.Fd())); err != nil {
		return classify(path, "write out", err)
	}
	if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return classify(path, "drop the cache of", err)
	}
	return nil
}

// CachedBytes returns how many bytes of a file are in this machine's page cache. It returns an error if the kernel
// hides that from this user.
func (d *Dataset) CachedBytes(name string) (uint64, error) {
	file, err := d.open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	cached, err := residentBytes(file)
	if err != nil {
		return 0, fmt.Errorf("count the cached pages of %s: %w", filepath.Join(d.client.path, name), err)
	}
	return cached, nil
}

// window is the number of bytes of a file that one mincore call covers. It limits the mapped address space and the size
// of the result.
const window = 1 << 30

func residentBytes(file *os.File) (uint64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	size, page := info.Size(), int64(os.Getpagesize())
	// If the user neither owns the file nor may write to it, the kernel reports all pages as cached, even pages far beyond
	// the end of the file.
	beyond, err := residentPages(file, (size+window)/page*page, page)
	if err == nil && beyond > 0 {
		err = errors.New("the kernel does not show this user which pages are cached")
	}
	if err != nil {
		return 0, err
	}
	var pages int64
	for at := int64(0); at < size; at += window {
		found, err := residentPages(file, at, min(window, size-at))
		if err != nil {
			return 0, err
		}
		pages += found
	}
	return uint64(max(0, min(pages*page, size))), nil
}

// residentPages returns how many pages of a part of a file are in the page cache. The offset is a multiple of the page
// size.
func residentPages(file *os.File, offset, length int64) (pages int64, err error) {
	mapped, err := unix.Mmap(int(file.Fd()), offset, int(length), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, fmt.Errorf("mmap: %w", err)
	}
	page := int64(os.Getpagesize())
	vector := make([]byte, (length+page-1)/page)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, //nolint:gosec // there is no wrapper; both slices live across the call
		uintptr(unsafe.Pointer(&mapped[0])), uintptr(length), uintptr(unsafe.Pointer(&vector[0])))
	if err := unix.Munmap(mapped); err != nil {
		return 0, fmt.Errorf("munmap: %w", err)
	}
	if errno != 0 {
		return 0, fmt.Errorf("mincore: %w", errno)
	}
	for _, flags := range vector {
		pages += int64(flags & 1)
	}
	return pages, nil
}
