package burstfs

import (
	"bytes"
	"fmt"
	"os"
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/pierrec/lz4/v4"
	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

// sectorBytes is what a record's compressed data is rounded up to.
const sectorBytes = 512

// records knows what the records of files take after compression. The files behind are not compressed: what is known
// here is what is told of them, and what is counted. A record that was written in parts is not known until somebody
// asks; then it is read from the file behind. A nil one compresses nothing.
type records struct {
	length int64
	encode func(data []byte) int64

	mu    sync.Mutex
	files map[uint64]map[int64]int64 // by file and number of the record: bytes
}

// newRecords is nil where there is no compression.
func newRecords(config *model.Compression) *records {
	if config == nil {
		return nil
	}
	r := &records{length: config.RecordBytes, encode: lz4Bytes, files: map[uint64]map[int64]int64{}}
	if r.length == 0 {
		r.length = model.DefaultRecordBytes
	}
	return r
}

// lz4Bytes is what data takes: in whole sectors, and never more than without compression. Zeros take nothing, as
// on ZFS.
func lz4Bytes(data []byte) int64 {
	if len(bytes.TrimLeft(data, "\x00")) == 0 {
		return 0
	}
	var compressor lz4.Compressor
	room := make([]byte, lz4.CompressBlockBound(len(data)))
	n, err := compressor.CompressBlock(data, room)
	if err != nil {
		panic(fmt.Sprintf("lz4 of %d bytes: %v", len(data), err)) // there is room for all of it
	}
	raw := roundUp(int64(len(data)))
	if n == 0 { // it does not become less
		return raw
	}
	return min(raw, roundUp(int64(n)))
}

func roundUp(n int64) int64 { return (n + sectorBytes - 1) / sectorBytes * sectorBytes }

// compressed is what a write takes.
type compressed struct {
	bytes int64
	// whole records by their number, and those of which only a part was written.
	whole map[int64]int64
	parts []int64
}

// compress compresses what is to be written, record by record.
func (r *records) compress(data []byte, offset int64) compressed {
	if r == nil {
		return compressed{bytes: int64(len(data))}
	}
	c := compressed{whole: map[int64]int64{}}
	for len(data) > 0 {
		record := offset / r.length
		n := min(int64(len(data)), (record+1)*r.length-offset)
		size := r.encode(data[:n])
		c.bytes += size
		if n == r.length {
			c.whole[record] = size
		} else {
			c.parts = append(c.parts, record)
		}
		data, offset = data[n:], offset+n
	}
	return c
}

// wrote takes over what was written.
func (r *records) wrote(file uint64, c compressed) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.of(file)
	for record, size := range c.whole {
		known[record] = size
	}
	for _, record := range c.parts {
		delete(known, record)
	}
}

// of is what is known of a file; with the lock.
func (r *records) of(file uint64) map[int64]int64 {
	known := r.files[file]
	if known == nil {
		known = map[int64]int64{}
		r.files[file] = known
	}
	return known
}

// forget drops a file that was removed, or cut.
func (r *records) forget(file uint64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.files, file)
}

// stored is what a part of a file takes: of a record as much as the part has of it, and all of one that is not known.
func (r *records) stored(file uint64, offset, length int64) int64 {
	if r == nil {
		return length
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known, sum := r.files[file], int64(0)
	for end := offset + length; offset < end; {
		record := offset / r.length
		n := min(end, (record+1)*r.length) - offset
		if size, ok := known[record]; ok {
			sum += size * n / r.length
		} else {
			sum += n
		}
		offset += n
	}
	return sum
}

// show puts the space that a file takes into its attributes. name is that of the file behind, which is read where
// something is not known; one that has no name any more keeps its own figure.
func (r *records) show(file uint64, name string, attributes *fuse.Attr) {
	if r == nil || attributes.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known, sum := r.of(file), int64(0)
	var opened *os.File
	for record := range (int64(attributes.Size) + r.length - 1) / r.length {
		size, ok := known[record]
		if !ok {
			var err error
			if opened == nil {
				if opened, err = os.Open(name); err != nil {
					return
				}
				defer opened.Close() //nolint:errcheck // it was only read
			}
			data := make([]byte, min(r.length, int64(attributes.Size)-record*r.length))
			if _, err := opened.ReadAt(data, record*r.length); err != nil {
				return // it was cut meanwhile; the next look tells
			}
			size = r.encode(data)
			known[record] = size
		}
		sum += size
	}
	attributes.Blocks = uint64(sum / sectorBytes)
}
