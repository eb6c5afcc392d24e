package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// histogramFormat is the first byte of an encoded histogram. Change it whenever the encoding changes.
const histogramFormat = 1

// AppendBinary appends the sparse encoding. After the format byte, everything is an unsigned varint: the number of
// bins, and for each bin, in ascending order, the number of empty buckets before it and its count. The encoding is
// canonical: equal histograms have equal bytes. A bin usually takes 2 to 4 bytes. AppendBinary returns an error for
// a saturated histogram.
func (h *Histogram) AppendBinary(b []byte) ([]byte, error) {
	if h.saturated {
		return b, errors.New("encode histogram: a count overflows 64 bits")
	}
	var used uint64
	for range h.Bins() {
		used++
	}
	b = append(b, histogramFormat)
	b = binary.AppendUvarint(b, used)
	next := 0
	for key, n := range h.Bins() {
		index := bucketOf(key)
		b = binary.AppendUvarint(b, uint64(index-next)) // #nosec G115 -- not negative, because bins ascend
		b = binary.AppendUvarint(b, n)
		next = index + 1
	}
	return b, nil
}

// MarshalBinary returns the encoding of AppendBinary in a new slice.
func (h *Histogram) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// UnmarshalBinary decodes the output of AppendBinary. It returns an error, and leaves h unchanged, if the data is
// truncated, has trailing bytes, contains a bin outside the grid or is not canonical, or if the counts overflow.
// Whatever the input, decoding needs little memory, because the size of the grid is fixed.
func (h *Histogram) UnmarshalBinary(data []byte) error {
	decoded, rest, err := decodeHistogram(data)
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	if len(rest) != 0 {
		return fmt.Errorf("decode histogram: %d trailing bytes", len(rest))
	}
	*h = decoded
	return nil
}

func decodeHistogram(data []byte) (Histogram, []byte, error) {
	if len(data) == 0 || data[0] != histogramFormat {
		return Histogram{}, nil, fmt.Errorf("the first byte is not %d: not a histogram, or encoded by a different version", histogramFormat)
	}
	used, data, err := takeUvarint(data[1:])
	if err != nil {
		return Histogram{}, nil, fmt.Errorf("number of bins: %w", err)
	}
	if used > numBuckets {
		return Histogram{}, nil, fmt.Errorf("too many bins (%d): the maximum is %d", used, numBuckets)
	}
	var h Histogram
	next := 0
	for range used {
		var skipped, n uint64
		if skipped, data, err = takeUvarint(data); err != nil {
			return Histogram{}, nil, fmt.Errorf("bucket: %w", err)
		}
		if n, data, err = takeUvarint(data); err != nil {
			return Histogram{}, nil, fmt.Errorf("count: %w", err)
		}
		if skipped >= uint64(numBuckets-next) { // #nosec G115 -- next is at most numBuckets
			return Histogram{}, nil, fmt.Errorf("a bin lies outside the grid of %d buckets", numBuckets)
		}
		if n == 0 || n > math.MaxUint64-h.total {
			return Histogram{}, nil, fmt.Errorf("count %d is 0, or makes the sum overflow 64 bits", n)
		}
		index := next + int(skipped) // #nosec G115 -- less than numBuckets
		h.addFresh(index, n)
		next = index + 1
	}
	return h, data, nil
}

// takeUvarint reads one unsigned varint in its shortest form. It returns the value and the remaining data.
func takeUvarint(data []byte) (uint64, []byte, error) {
	value, length := binary.Uvarint(data)
	switch {
	case length == 0:
		return 0, nil, errors.New("unexpected end of data")
	case length < 0:
		return 0, nil, errors.New("a number overflows 64 bits")
	case length > 1 && data[length-1] == 0:
		return 0, nil, errors.New("a number is not encoded in its shortest form")
	}
	return value, data[length:], nil
}
