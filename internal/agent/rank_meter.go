package agent

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/process"
)

const (
	// rankLook is how often ranks are read: the end of their I/O is known as well as that.
	rankLook = 50 * time.Millisecond
	// rankLookEach is the most of it for each rank: reading one takes 15 microseconds.
	rankLookEach = 3 * time.Millisecond
	// rankSearch is how long ranks that have not come yet are looked for at each look, and not once a second: it
	// takes the whole table of processes. There may be more than expected: of other clients with the same address.
	rankSearch = 15 * time.Second
)

// rankStart is what a rank reads and writes at most, before its tool does, and rankStartLeast at least; one that is seen
// to have done much more, on a machine that let us look too late or with a load of a few milliseconds, has begun, and the
// least is taken for its start, so that nothing of its load is lost. rankStartMost is more than all ranks together
// begin with between two looks, but for as much as rankStart for each.
var (
	rankStart      = process.IO{ReadBytes: 112 << 10, WriteBytes: 12 << 10, ReadCalls: 370, WriteCalls: 130}
	rankStartLeast = process.IO{ReadBytes: 102 << 10, WriteBytes: 2 << 10, ReadCalls: 340, WriteCalls: 60}
	rankStartMost  = process.IO{ReadBytes: 512 << 10, WriteBytes: 256 << 10}
)

// rankMeter reads what the ranks below one process of MPI, mpirun or a daemon, have read and written.
//
// A rank that ends between two looks takes its last bytes with it. But the kernel adds the counters of
// a child to those of the parent that waits for it, and those of the daemon can be read until we wait for it
// ourselves. So the load is the sum over the daemon and all ranks that live, and nothing of it is ever lost.
//
// What a rank reads and writes before its tool opens its first file counts for nothing: libraries, the description of
// the hardware, MPI's first words. Measured with Open MPI 4.1.4 and IOR 4.0.0, 2 ranks on each of 3 hosts: 105 to 110 kB in 370 calls
// are read and 2 to 12 kB in 60 to 130 calls written by a rank before, and 146 to 161 kB read by its daemon. What is counted for a load although
// it is none, between the last look before the first file and the end of the job: 1 to 25 kB written and up to 60 kB read
// in 50 to 180 calls, over all ranks of a client; of it 100 bytes at each barrier.
type rankMeter struct {
	daemon    int
	program   string
	directory string
	expected  int

	mu    sync.Mutex
	ranks map[int]bool // false: gone
	// live are the ranks of the newest look, base what counts for nothing.
	live        []int
	base, total process.IO
	armed       bool
	begun       time.Duration
	searched    time.Duration
}

func newRankMeter(daemon int, program, directory string, expected int) *rankMeter {
	return &rankMeter{daemon: daemon, program: program, directory: directory, expected: expected, ranks: map[int]bool{}}
}

// interval is how often to look.
func (m *rankMeter) interval() time.Duration {
	return max(rankLook, time.Duration(m.expected)*rankLookEach)
}

// look reads the load at an instant. It never falls.
func (m *rankMeter) look(now time.Duration) process.IO {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun == 0 {
		m.begun = now
	}
	// The daemon first: a rank that it waits for meanwhile is missing then, until the next look, and never there twice.
	sum, err := process.ReadIO(m.daemon)
	if err != nil {
		return m.total.Since(m.base)
	}
	sum = m.search(now, sum)
	m.live = m.live[:0]
	for pid, alive := range m.ranks {
		if !alive {
			continue
		}
		counters, err := process.ReadIO(pid)
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

// arm begins to count when a rank has a file open where it works, or has moved more than it takes to start.
func (m *rankMeter) arm(before process.IO) {
	grown, ranks := m.total.Since(before), uint64(max(m.expected, len(m.ranks)))
	m.armed = before != (process.IO{}) && (grown.ReadBytes > rankStartMost.ReadBytes+2*ranks*rankStart.ReadBytes ||
		grown.WriteBytes > rankStartMost.WriteBytes+2*ranks*rankStart.WriteBytes)
	for _, pid := range m.live {
		m.armed = m.armed || process.HasOpenBelow(pid, m.directory)
	}
	if m.armed {
		// Between the last look and this one the first I/O may have been done already.
		m.base = before
		return
	}
	m.base = m.total
}

// search finds ranks that have become their program since the last look.
func (m *rankMeter) search(now time.Duration, sum process.IO) process.IO {
	if (len(m.ranks) >= m.expected || now-m.begun > rankSearch) && now-m.searched < time.Second {
		return sum
	}
	m.searched = now
	below, err := process.Descendants(m.daemon)
	if err != nil {
		return sum
	}
	for _, found := range below {
		if _, known := m.ranks[found.PID]; known || found.Command != m.program {
			continue
		}
		m.ranks[found.PID] = true
		// What it did until now is its start, not a load that has grown.
		begun, err := process.ReadIO(found.PID)
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

// stuck reports whether a rank is inside of a call to the kernel that does not come back: of I/O.
func (m *rankMeter) stuck() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pid := range m.live {
		if found, err := process.State(pid); err == nil && found.State == 'D' {
			return true
		}
	}
	return false
}

// pids are those of all ranks that there have been.
func (m *rankMeter) pids() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.ranks))
}

// alive is how many ranks lived at the newest look.
func (m *rankMeter) alive() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.live)
}

// seen is how many ranks there have been.
func (m *rankMeter) seen() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ranks)
}
