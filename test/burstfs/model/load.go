package model

import "time"

// Load is a client that always has Depth outstanding requests of the same size and accesses a file sequentially, like
// fio with iodepth.
type Load struct {
	Kind      Kind
	Bytes     int64
	Depth     int
	FileBytes int64 // size of the file, after which the load starts again; 0: no limit
}

// Run applies a load to the store from one time to another and returns the answers. Requests that are outstanding at
// the end are not withdrawn: later calls to the model return their answers.
func (l Load) Run(m *Model, from, to time.Duration) []Answer {
	offset := int64(0)
	submit := func(now time.Duration) {
		m.Submit(now, Request{Kind: l.Kind, File: 1, Offset: offset, Bytes: l.Bytes})
		offset += l.Bytes
		if l.FileBytes > 0 && offset+l.Bytes > l.FileBytes {
			offset = 0
		}
	}
	m.Advance(from)
	for range l.Depth {
		submit(from)
	}
	var all []Answer
	for {
		next := m.Next()
		if next > to {
			return append(all, m.Advance(to)...)
		}
		for _, answer := range m.Advance(next) {
			all = append(all, answer)
			submit(next)
		}
	}
}
