package agent

import (
	"context"
	"encoding/binary"
	"fmt"
	"sort"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// chunkBytes is the size at which a chunk of the log is full and the next one begins. A new cursor that starts in the
// middle of a chunk decodes the chunk from its beginning, so chunkBytes also limits how many bytes the cursor decodes
// and discards.
const chunkBytes = 4 << 10

// Log keeps every record of the run until the agent exits, so that a conductor that reconnects after a crash can resume
// from any sequence number.
//
// Most records are samples, one per second. They are packed into a few bytes, with times as differences and counts as
// varints: at most 16 bytes per kind of operation. Other records are kept as protobuf. Twenty-four hours of samples
// with reads and writes stay under 8 MiB (TestLogBudget).
type Log struct {
	mu      sync.Mutex
	chunks  []chunk
	steps   []*agentapi.StepKey
	last    uint64
	changed chan struct{}
}

// chunk is a sequence of records. It stores sample times as differences, the first one from time zero, so that each
// chunk can be decoded alone.
type chunk struct {
	first uint64
	data  []byte
	clock int64
}

const (
	entrySample  = 's'
	entryMessage = 'm'
)

// Append assigns the next sequence number to the record, stores it and wakes the readers.
func (l *Log) Append(record *agentapi.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	step := l.stepIndex(record.GetStep())
	if n := len(l.chunks); n == 0 || len(l.chunks[n-1].data) >= chunkBytes {
		l.chunks = append(l.chunks, chunk{first: l.last + 1, data: make([]byte, 0, chunkBytes+512)})
	}
	current := &l.chunks[len(l.chunks)-1]
	if sample := record.GetSample(); sample != nil {
		current.appendSample(step, sample)
	} else if err := current.appendMessage(step, record); err != nil {
		return err
	}
	l.last++
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return nil
}

// Last returns the sequence number of the newest record, or 0 if there is none.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// SizeBytes returns the memory used by the records.
func (l *Log) SizeBytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := 0
	for _, c := range l.chunks {
		size += cap(c.data)
	}
	return size
}

// Cursor reads a log in order. It remembers its position in a chunk, so that it decodes each record only once.
type Cursor struct {
	log *Log
	// after is the sequence number after which the cursor starts; sequence is the number of the last decoded record.
	after, sequence uint64
	// chunk and offset are the position of the next record; clock is the end time of the preceding sample.
	chunk, offset int
	clock         int64
}

// After returns a cursor positioned after the record with the given sequence number.
func (l *Log) After(sequence uint64) *Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	later := sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i].first > sequence+1 })
	c := &Cursor{log: l, after: sequence, chunk: max(0, later-1)}
	if len(l.chunks) > 0 {
		c.sequence = l.chunks[c.chunk].first - 1
	}
	return c
}

// Next returns records after the cursor, and moves the cursor past them. It returns the records of one chunk at most,
// and none if the log has no records after the cursor.
func (c *Cursor) Next() ([]*agentapi.Record, error) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	var records []*agentapi.Record
	for c.chunk < len(c.log.chunks) {
		data := c.log.chunks[c.chunk].data
		reader := chunkReader{data: data[c.offset:], clock: c.clock}
		for len(reader.data) > 0 {
			record, err := reader.next()
			if err != nil {
				return nil, fmt.Errorf("read record %d of the log: %w", c.sequence+1, err)
			}
			if c.sequence++; c.sequence > c.after {
				record.Sequence = c.sequence
				record.Step = c.log.steps[reader.step]
				records = append(records, record)
			}
		}
		c.offset, c.clock = len(data), reader.clock
		if len(records) > 0 || c.chunk == len(c.log.chunks)-1 {
			break
		}
		c.chunk, c.offset, c.clock = c.chunk+1, 0, 0
	}
	return records, nil
}

// Wait returns when there is a record after the cursor, or when ctx is done.
func (c *Cursor) Wait(ctx context.Context) error { return c.log.Wait(ctx, max(c.after, c.sequence)) }

// Wait returns when there is a record with a higher sequence number than the given one, or when ctx is done.
func (l *Log) Wait(ctx context.Context, sequence uint64) error {
	for {
		l.mu.Lock()
		if l.last > sequence {
			l.mu.Unlock()
			return nil
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stepIndex returns the index of a step in the log's list of steps, and adds the step if it is new.
func (l *Log) stepIndex(key *agentapi.StepKey) uint64 {
	for i := len(l.steps) - 1; i >= 0; i-- {
		if l.steps[i].GetId() == key.GetId() && l.steps[i].GetAttempt() == key.GetAttempt() {
			return uint64(i)
		}
	}
	l.steps = append(l.steps, &agentapi.StepKey{Id: key.GetId(), Attempt: key.GetAttempt()})
	return uint64(len(l.steps) - 1) //nolint:gosec // the list has at least one element
}

func (c *chunk) appendSample(step uint64, sample *agentapi.Sample) {
	c.data = append(c.data, entrySample)
	c.data = binary.AppendUvarint(c.data, step)
	c.data = binary.AppendVarint(c.data, sample.GetStartNanoseconds()-c.clock)
	c.data = binary.AppendVarint(c.data, sample.GetEndNanoseconds()-sample.GetStartNanoseconds())
	c.clock = sample.GetEndNanoseconds()
	flags := uint64(len(sample.GetCounts())) << 1
	if sample.GetWarmUp() {
		flags |= 1
	}
	c.data = binary.AppendUvarint(c.data, flags)
	for _, count := range sample.GetCounts() {
		c.data = append(c.data, byte(count.GetOperation())) //nolint:gosec // one of four kinds
		c.data = binary.AppendUvarint(c.data, count.GetBytes())
		c.data = binary.AppendUvarint(c.data, count.GetOperations())
		c.data = binary.AppendUvarint(c.data, count.GetMeanLatencyMicroseconds())
	}
}

func (c *chunk) appendMessage(step uint64, record *agentapi.Record) error {
	bare := &agentapi.Record{Entry: record.GetEntry()}
	message, err := proto.Marshal(bare)
	if err != nil {
		return fmt.Errorf("store a record of step %s: %w", record.GetStep().GetId(), err)
	}
	c.data = append(c.data, entryMessage)
	c.data = binary.AppendUvarint(c.data, step)
	c.data = binary.AppendUvarint(c.data, uint64(len(message)))
	c.data = append(c.data, message...)
	return nil
}

// chunkReader reads the records of a chunk in order.
type chunkReader struct {
	data  []byte
	clock int64
	step  uint64
}

func (r *chunkReader) next() (*agentapi.Record, error) {
	kind := r.data[0]
	r.data = r.data[1:]
	r.step = r.unsigned()
	if kind == entryMessage {
		length := r.unsigned()
		record := &agentapi.Record{}
		err := proto.Unmarshal(r.data[:length], record)
		r.data = r.data[length:]
		return record, err
	}
	start := r.clock + r.signed()
	r.clock = start + r.signed()
	flags := r.unsigned()
	sample := &agentapi.Sample{StartNanoseconds: start, EndNanoseconds: r.clock, WarmUp: flags&1 == 1}
	for range flags >> 1 {
		count := &agentapi.OperationCount{Operation: uint32(r.data[0])}
		r.data = r.data[1:]
		count.Bytes = r.unsigned()
		count.Operations = r.unsigned()
		count.MeanLatencyMicroseconds = r.unsigned()
		sample.Counts = append(sample.Counts, count)
	}
	return &agentapi.Record{Entry: &agentapi.Record_Sample{Sample: sample}}, nil
}

func (r *chunkReader) unsigned() uint64 {
	value, n := binary.Uvarint(r.data)
	r.data = r.data[n:]
	return value
}

func (r *chunkReader) signed() int64 {
	value, n := binary.Varint(r.data)
	r.data = r.data[n:]
	return value
}
