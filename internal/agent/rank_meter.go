package agent

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/process"
)

const (
	// rankLook is how often ranks are read, which is also how precisely the end of their I/O is known.
	rankLook = 50 * time.Millisecond
	// rankLookEach is the least interval per rank, which bounds the cost: reading one takes 15 microseconds.
	rankLookEach = 3 * time.Millisecond
	// rankSearch is how long missing ranks are searched at each look. After that, or once all are found, they are
	// searched once per second, because that reads the whole process table. There may be more ranks than expected, of
	// other clients with the same address.
	rankSearch = 15 * time.Second
)

// rankStart is the most that a rank reads and writes before its tool starts its load, and rankStartLeast the least. A
// rank that has done much more when it is first seen, because the machine let us look too late or because its load
// takes a few milliseconds, has begun already. Then rankStartLeast counts as its start, so that nothing of its load
// is lost. rankStartMost is more than all ranks together read and write between two looks while they start, in
// addition to rankStart for each.
var (
	rankStart      = process.IO{ReadBytes: 112 << 10, WriteBytes: 12 << 10, ReadCalls: 370, WriteCalls: 130}
	rankStartLeast = process.IO{ReadBytes: 102 << 10, WriteBytes: 2 << 10, ReadCalls: 340, WriteCalls: 60}
	rankStartMost  = process.IO{ReadBytes: 512 << 10, WriteBytes: 256 << 10}
)

// rankMeter reads what the ranks below one MPI process, mpirun or a daemon, have read and written.
//
// The last bytes of a rank that ends between two looks are never read from the rank itself. But the kernel adds the
// counters of a child to those of the parent that waits for it, and those of the daemon can be read until we wait for
// the daemon. So the load is the sum over the daemon and all living ranks, and nothing of it is lost.
//
// What a rank reads and writes before its tool opens its first file does not count: libraries, the description of the
// hardware, MPI's first messages. Measured with Open MPI 4.1.4 and IOR 4.0.0, 2 ranks on each of 3 hosts: before
// that, a rank reads 105 to 110 kB in 370 calls and writes 2 to 12 kB in 60 to 130 calls, and its daemon reads 146 to
// 161 kB. Some I/O counts as load although it is none, between the last look before the first file and the end of the
// job: 1 to 25 kB written and up to 60 kB read in 50 to 180 calls, over all ranks of a client. Each barrier accounts
// for 100 bytes of it.
type rankMeter struct {
	system    System
	daemon    int
	program   string
	directory string
	expected  int

	mu    sync.Mutex
	ranks map[int]bool // false: gone
	// live are the ranks of the newest look; base is what does not count.
	live        []int
	base, total process.IO
	armed       bool
	begun       time.Duration
	searched    time.Duration
}

func newRankMeter(system System, daemon int, program, directory string, expected int) *rankMeter {
	return &rankMeter{system: system, daemon: daemon, program: program, directory: directory, expected: expected, ranks: map[int]bool{}}
}

// interval returns the time between two looks.
func (m *rankMeter) interval() time.Duration {
	return max(rankLook, time.Duration(m.expected)*rankLookEach)
}

// look returns the load at an instant. It never decreases.
func (m *rankMeter) look(now time.Duration) process.IO {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun == 0 {
		m.begun = now
	}
	// Read the daemon first: a rank that it waits for in between is then missing until the next look, and never
	// counted twice.
	sum, err := m.system.ReadIO(m.daemon)
	if err != nil {
		return m.total.Since(m.base)
	}
	sum = m.search(now, sum)
	m.live = m.live[:0]
	for pid, alive := range m.ranks {
		if !alive {
			continue
		}
		counters, err := m.system.ReadIO(pid)
		if err != nil {
			m.ranks[pid] = false
			continue
		}
		m.live = append(m.live, pid)
		sum = sum.Add(counters)
	}
	before := m.total
	m.total = m.total.Max(sum)
	if !m.armed {
		m.arm(before)
	}
	return m.total.Since(m.base)
}

// arm begins to count when a rank has a file open in its working directory, or has moved more than a start takes.
func (m *rankMeter) arm(before process.IO) {
	grown, ranks := m.total.Since(before), uint64(max(m.expected, len(m.ranks)))
	m.armed = before != (process.IO{}) && (grown.ReadBytes > rankStartMost.ReadBytes+2*ranks*rankStart.ReadBytes ||
		grown.WriteBytes > rankStartMost.WriteBytes+2*ranks*rankStart.WriteBytes)
	for _, pid := range m.live {
		m.armed = m.armed || m.system.HasOpenBelow(pid, m.directory)
	}
	if m.armed {
		// The first I/O may have happened between the last look and this one.
		m.base = before
		return
	}
	m.base = m.total
}

// search finds processes that have become ranks since the last search.
func (m *rankMeter) search(now time.Duration, sum process.IO) process.IO {
	if (len(m.ranks) >= m.expected || now-m.begun > rankSearch) && now-m.searched < time.Second {
		return sum
	}
	m.searched = now
	below, err := m.system.Descendants(m.daemon)
	if err != nil {
		return sum
	}
	for _, found := range below {
		if _, known := m.ranks[found.PID]; known || found.Command != m.program {
			continue
		}
		m.ranks[found.PID] = true
		// What it has done until now is its start, not load.
		begun, err := m.system.ReadIO(found.PID)
		if err != nil || begun.ReadBytes > rankStartMost.ReadBytes || begun.WriteBytes > rankStartMost.WriteBytes {
			begun = rankStartLeast
		}
		m.total = m.total.Add(begun)
		if m.armed {
			m.base = m.base.Add(begun)
		}
	}
	return sum
}

// stuck reports whether a rank is in uninterruptible sleep (state D), such as in an I/O that does not return.
func (m *rankMeter) stuck() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pid := range m.live {
		if found, err := m.system.State(pid); err == nil && found.State == 'D' {
			return true
		}
	}
	return false
}

// pids returns the PIDs of all ranks so far, gone ones included.
func (m *rankMeter) pids() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.ranks))
}

// alive returns how many ranks lived at the newest look.
func (m *rankMeter) alive() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.live)
}

// seen returns how many ranks there have been.
func (m *rankMeter) seen() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ranks)
}
