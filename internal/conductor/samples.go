package conductor

import (
	"encoding/binary"
	"iter"
	"slices"
	"sort"
	"unsafe"

	"github.com/storagebench/storagebench/internal/measure"
)

// samples holds the samples of an attempt, packed as in the agent's log. A sample with two operations takes about 25
// bytes instead of 136.
type samples struct {
	chunks []sampleChunk
	count  int
	// began is the start of the first sample.
	began int64
}

// sampleChunk is a sequence of samples. Each time is stored as the difference from the end of the previous sample; the
// first sample of a chunk stores absolute times, so that each chunk can be decoded independently.
type sampleChunk struct {
	// first is the index of the chunk's first sample in the attempt.
	first int
	data  []byte
	// clock is the end of the chunk's last sample.
	clock int64
}

const (
	// chunkBytes is the size, in bytes, at which a chunk is full.
	chunkBytes = 4 << 10
	// warmUpFlag marks a sample of the warm-up in the sample's first byte. The other bits of that byte hold the number
	// of operations.
	warmUpFlag = 1 << 7
)

// add appends a sample, and returns the growth of the memory use in bytes.
func (s *samples) add(sample *measure.Sample) (grown int) {
	if n := len(s.chunks); n == 0 || len(s.chunks[n-1].data) >= chunkBytes {
		room := cap(s.chunks)
		s.chunks = append(s.chunks, sampleChunk{first: s.count})
		grown += (cap(s.chunks) - room) * int(unsafe.Sizeof(sampleChunk{}))
	}
	if s.count == 0 {
		s.began = sample.StartNanoseconds
	}
	s.count++
	chunk := &s.chunks[len(s.chunks)-1]
	room := cap(chunk.data)
	chunk.add(sample)
	return grown + cap(chunk.data) - room
}

func (c *sampleChunk) add(sample *measure.Sample) {
	var flags byte
	for _, counter := range sample.Counters {
		if counter != (measure.Counter{}) {
			flags++
		}
	}
	if sample.WarmUp {
		flags |= warmUpFlag
	}
	c.data = append(c.data, flags)
	c.data = binary.AppendVarint(c.data, sample.StartNanoseconds-c.clock)
	// #nosec G115 -- sampleOf has checked that the sample does not end before its start.
	c.data = binary.AppendUvarint(c.data, uint64(sample.EndNanoseconds-sample.StartNanoseconds))
	c.clock = sample.EndNanoseconds
	for operation, counter := range sample.Counters {
		if counter != (measure.Counter{}) {
			c.data = append(c.data, byte(operation)) // #nosec G115 -- There are seven operations.
			c.data = binary.AppendUvarint(c.data, counter.Bytes)
			c.data = binary.AppendUvarint(c.data, counter.Operations)
		}
	}
}

// snapshot yields the current samples. More samples may be added while the caller iterates.
func (s *samples) snapshot() iter.Seq[measure.Sample] {
	kept := samples{chunks: slices.Clone(s.chunks), count: s.count}
	return kept.from(0)
}

// from yields the samples, starting at the given index.
func (s *samples) from(index int) iter.Seq[measure.Sample] {
	return func(yield func(measure.Sample) bool) {
		if index >= s.count {
			return
		}
		// Start with the last chunk that begins at or before the index.
		at := max(0, sort.Search(len(s.chunks), func(i int) bool { return s.chunks[i].first > index })-1)
		for ; at < len(s.chunks); at++ {
			reader := sampleReader{data: s.chunks[at].data}
			for number := s.chunks[at].first; len(reader.data) > 0; number++ {
				if sample := reader.next(); number >= index && !yield(sample) {
					return
				}
			}
		}
	}
}

// sampleReader decodes the samples of a chunk, one after the other.
type sampleReader struct {
	data  []byte
	clock int64
}

func (r *sampleReader) next() (sample measure.Sample) {
	flags := r.data[0]
	r.data = r.data[1:]
	difference, n := binary.Varint(r.data)
	r.data = r.data[n:]
	sample.StartNanoseconds = r.clock + difference
	sample.EndNanoseconds = sample.StartNanoseconds + int64(r.unsigned()) // #nosec G115 -- add encoded it from an int64.
	r.clock = sample.EndNanoseconds
	sample.WarmUp = flags&warmUpFlag != 0
	for range flags &^ warmUpFlag {
		counter := &sample.Counters[r.data[0]]
		r.data = r.data[1:]
		counter.Bytes = r.unsigned()
		counter.Operations = r.unsigned()
	}
	return sample
}

func (r *sampleReader) unsigned() uint64 {
	value, n := binary.Uvarint(r.data)
	r.data = r.data[n:]
	return value
}
