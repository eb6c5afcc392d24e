package dataset

import (
	"fmt"
	"io"
	"math/rand/v2"
)

const (
	// headBytes at the start and tailBytes at the end of a device are read completely, because file systems, partition
	// tables and databases keep their identifying structures there.
	headBytes = 4 << 20
	tailBytes = 1 << 20
	// places is the number of equal parts into which the space between the head and the tail is divided. In each part,
	// one block of placeBytes is read at a random offset.
	places     = 64
	placeBytes = 64 << 10
)

// firstData searches a device for data, starting at the offset `from`. It returns the offset of the first nonzero byte,
// or -1 if it reads only zeros. It reads the head and the tail of the device completely, and samples the space between
// them if it is large.
func firstData(device io.ReaderAt, from, size int64) (int64, error) {
	look := func(at, length int64) (int64, error) { return firstNonzero(device, at, length) }
	head := min(max(headBytes, from), size)
	if found, err := look(from, head-from); found >= 0 || err != nil {
		return found, err
	}
	tail := max(head, size-tailBytes)
	if share := (tail - head) / places; share > placeBytes {
		for i := range int64(places) {
			at := head + i*share + rand.Int64N(share-placeBytes) //nolint:gosec // The offsets need not be secret.
			if found, err := look(at/4096*4096, placeBytes); found >= 0 || err != nil {
				return found, err
			}
		}
	} else if found, err := look(head, tail-head); found >= 0 || err != nil {
		return found, err
	}
	return look(tail, size-tail)
}

// firstNonzero reads a whole region and returns the offset of its first nonzero byte, or -1 if all bytes are zero.
func firstNonzero(device io.ReaderAt, at, length int64) (int64, error) {
	buffer := make([]byte, min(length, 1<<20))
	for end := at + length; at < end; at += int64(len(buffer)) {
		part := buffer[:min(int64(len(buffer)), end-at)]
		if _, err := device.ReadAt(part, at); err != nil {
			return 0, fmt.Errorf("read %d bytes at offset %d: %w", len(part), at, err)
		}
		for i, one := range part {
			if one != 0 {
				return at + int64(i), nil
			}
		}
	}
	return -1, nil
}
