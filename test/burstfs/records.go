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

// sectorBytes is the unit to which the compressed size of a record is rounded up.
const sectorBytes = 512

// records holds the compressed sizes of the records of files. The backing files are not compressed: these sizes are
// only reported and counted. The size of a record that was written in parts is unknown until show needs it and reads
// the record from the backing file. A nil *records means no compression.
type records struct {
	length int64
	encode func(data []byte) int64

	mu    sync.Mutex
	files map[uint64]map[int64]int64 // compressed bytes by file and record number
}

// newRecords returns nil if there is no compression.
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

// lz4Bytes returns the compressed size of data: a multiple of a sector, and never more than without compression. Zeros
// take no space, as on ZFS.
func lz4Bytes(data []byte) int64 {
	if len(bytes.TrimLeft(data, "\x00")) == 0 {
		return 0
	}
	var compressor lz4.Compressor
	room := make([]byte, lz4.CompressBlockBound(len(data)))
	n, err := compressor.CompressBlock(data, room)
	if err != nil {
		panic(fmt.Sprintf("lz4 of %d bytes: %v", len(data), err)) // the buffer is large enough for any input
	}
	raw := roundUp(int64(len(data)))
	if n == 0 { // the data is incompressible
		return raw
	}
	return min(raw, roundUp(int64(n)))
}

func roundUp(n int64) int64 { return (n + sectorBytes - 1) / sectorBytes * sectorBytes }

// compressed is the compressed size of a write.
type compressed struct {
	bytes int64
	// whole holds the sizes of completely written records by number. parts lists the partly written records.
	whole map[int64]int64
	parts []int64
}

// compress compresses the data of a write, record by record.
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

// wrote updates the sizes after a write.
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

// of returns the known sizes of a file's records. The caller must hold the lock.
func (r *records) of(file uint64) map[int64]int64 {
	known := r.files[file]
	if known == nil {
		known = map[int64]int64{}
		r.files[file] = known
	}
	return known
}

// forget removes the sizes of a file that was removed or truncated.
func (r *records) forget(file uint64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.files, file)
}

// stored returns the compressed size of a part of a file. A partly covered record counts in proportion. A record of
// unknown size counts as uncompressed.
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

// show sets the space in a file's attributes to the compressed size. name is the path of the backing file, from which
// records of unknown size are read. If the backing file has no name any more, its own size in attributes is kept.
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
				return // the file was truncated meanwhile; the next call corrects the size
			}
			size = r.encode(data)
			known[record] = size
		}
		sum += size
	}
	attributes.Blocks = uint64(sum / sectorBytes)
}
