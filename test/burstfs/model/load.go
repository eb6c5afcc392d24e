package model

import "time"

// Load is a client that always has Depth requests of the same size under way, one after the other through a
// file: what fio does with iodepth.
type Load struct {
	Kind      Kind
	Bytes     int64
	Depth     int
	FileBytes int64 // after so many it starts again; 0: never
}

// Run lets a load work on the store from one time to another and gives the answers. Nothing of it is taken
// back at the end: what is under way then is answered in later calls.
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
