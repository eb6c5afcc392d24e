package dataset

import (
	"fmt"
	"io"
	"math/rand/v2"
)

const (
	// headBytes and tailBytes of a device are read whole: there is where file systems, partitions and databases put what
	// they are known by.
	headBytes = 4 << 20
	tailBytes = 1 << 20
	// places of placeBytes each are read between them, in equal parts of the device and at random within each.
	places     = 64
	placeBytes = 64 << 10
)

// firstData gives the first byte that is not zero of what is looked at; -1 where all is.
func firstData(device io.ReaderAt, from, size int64) (int64, error) {
	look := func(at, length int64) (int64, error) {
		buffer := make([]byte, min(length, 1<<20))
		for end := at + length; at < end; at += int64(len(buffer)) {
			part := buffer[:min(int64(len(buffer)), end-at)]
			if _, err := device.ReadAt(part, at); err != nil {
				return 0, fmt.Errorf("read %d bytes at %d: %w", len(part), at, err)
			}
			for i, one := range part {
				if one != 0 {
					return at + int64(i), nil
				}
			}
		}
		return -1, nil
	}
	head := min(max(headBytes, from), size)
	if found, err := look(from, head-from); found >= 0 || err != nil {
		return found, err
	}
	tail := max(head, size-tailBytes)
	if share := (tail - head) / places; share > placeBytes {
		for i := range int64(places) {
			at := head + i*share + rand.Int64N(share-placeBytes) //nolint:gosec // Nobody guesses where it looks.
			if found, err := look(at/4096*4096, placeBytes); found >= 0 || err != nil {
				return found, err
			}
		}
	} else if found, err := look(head, tail-head); found >= 0 || err != nil {
		return found, err
	}
	return look(tail, size-tail)
}
