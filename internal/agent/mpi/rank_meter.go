package mpi

import (
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/process"
)

const (
	// rankLook is the shortest interval between readings of the ranks' counters. It limits the precision with which the
	// end of their I/O is measured.
	rankLook = 50 * time.Millisecond
	// rankLookEach, multiplied by the number of ranks, is the minimum interval between readings: 300 ms for 100 ranks.
	// It bounds the CPU use, because a reading takes 15 microseconds per rank.
	rankLookEach = 3 * time.Millisecond
	// rankSearch is the time during which every reading also searches for missing ranks. After that time, or once all
	// expected ranks are found, the search runs only once per second, because it reads the whole process table. More ranks
	// than expected are found if other clients have the same address.
	rankSearch = 15 * time.Second
)

// Before its tool starts the load, a rank reads and writes between rankStartLeast and rankStart; see the measurements
// at rankMeter. A rank that exceeds the higher threshold rankStartMost when it is first seen has already begun its
// load: the reading came late, or the load takes only a few milliseconds. In this case, only rankStartLeast is
// subtracted for the rank's start, so that none of its load is lost. The load has also begun if all ranks together
// transfer more than rankStartMost, plus twice rankStart per rank, between two readings.
var (
	rankStart      = process.IO{ReadBytes: 112 << 10, WriteBytes: 12 << 10, ReadCalls: 370, WriteCalls: 130}
	rankStartLeast = process.IO{ReadBytes: 102 << 10, WriteBytes: 2 << 10, ReadCalls: 340, WriteCalls: 60}
	rankStartMost  = process.IO{ReadBytes: 512 << 10, WriteBytes: 256 << 10}
	// daemonStartLeast is the minimum that mpirun or a daemon reads and writes before its ranks start.
	daemonStartLeast = process.IO{ReadBytes: 142 << 10, ReadCalls: 440}
)

// rankMeter measures the reads and writes of the ranks below one MPI process (mpirun or a daemon).
//
// The final counters of a rank that exits between two readings are never read from the rank itself. But the kernel adds
// the counters of a child to those of the parent that waits for it, and the daemon's counters can be read until we reap
// the daemon. So the load is the sum over the daemon and all living ranks, and no I/O is lost.
//
// I/O before the tool opens its first file does not count: loading libraries, reading the hardware description, and
// exchanging MPI's first messages. Measured with Open MPI 4.1.4 and IOR 4.0.0, 2 ranks on each of 3 hosts: before that
// point, a rank reads 105 to 110 kB in 370 calls and writes 2 to 12 kB in 60 to 130 calls, and its daemon reads 146 to
// 161 kB. Counting begins at the last reading before that point, so some of this I/O is wrongly counted as load: 1 to
// 25 kB written and up to 60 kB read in 50 to 180 calls, over all ranks of a client. Each barrier contributes 100
// bytes.
type rankMeter struct {
	system    System
	daemon    int
	program   string
	directory string
	expected  int

	mu sync.Mutex
	// ranks maps the PID of each rank to true while the rank runs, and to false once it has exited.
	ranks map[int]bool
	// live lists the PIDs of the ranks that the latest reading found. total is all I/O of the daemon and its ranks. It
	// includes base, the I/O during their start. base does not count as load.
	live        []int
	base, total process.IO
	armed       bool
	begun       time.Duration
	searched    time.Duration
	// sleeping is true if the latest search found a rank in uninterruptible sleep.
	sleeping bool
}

func newRankMeter(system System, daemon int, program, directory string, expected int) *rankMeter {
	// Resolve symbolic links, because the kernel lists open files by their real paths.
	if path, err := filepath.EvalSymlinks(directory); err == nil {
		directory = path
	}
	return &rankMeter{system: system, daemon: daemon, program: program, directory: directory, expected: expected,
		ranks: map[int]bool{}}
}

// interval returns the time between two readings.
func (m *rankMeter) interval() time.Duration {
	return max(rankLook, time.Duration(m.expected)*rankLookEach)
}

// look returns the cumulative load so far. The result never decreases.
func (m *rankMeter) look(now time.Duration) process.IO {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun == 0 {
		m.begun = now
	}
	// Read the daemon first. The I/O of a rank that the daemon reaps between two of these reads is then missing until the
	// next call of look, but is never counted twice.
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

// arm starts counting once a rank has a file open in its working directory, or the ranks have transferred more than
// during their start.
func (m *rankMeter) arm(before process.IO) {
	grown, ranks := m.total.Since(before), uint64(max(m.expected, len(m.ranks)))
	m.armed = grown.ReadBytes > rankStartMost.ReadBytes+2*ranks*rankStart.ReadBytes ||
		grown.WriteBytes > rankStartMost.WriteBytes+2*ranks*rankStart.WriteBytes
	for _, pid := range m.live {
		m.armed = m.armed || m.system.HasOpenBelow(pid, m.directory)
	}
	if m.armed {
		// Count from the previous reading, because the first I/O may have happened since then. Without a previous reading,
		// the whole load may be over, so count from the start of the processes.
		m.base = before
		if before == (process.IO{}) {
			m.base = daemonStartLeast
			for range ranks {
				m.base = m.base.Add(rankStartLeast)
			}
		}
		return
	}
	m.base = m.total
}

// search finds processes that have become ranks since the previous search, and checks whether a rank is in
// uninterruptible sleep.
func (m *rankMeter) search(now time.Duration, sum process.IO) process.IO {
	if (len(m.ranks) >= m.expected || now-m.begun > rankSearch) && now-m.searched < time.Second {
		return sum
	}
	m.searched = now
	below, err := m.system.Descendants(m.daemon)
	if err != nil {
		return sum
	}
	m.sleeping = false
	for _, found := range below {
		_, known := m.ranks[found.PID]
		m.sleeping = m.sleeping || known && found.State == 'D'
		if known || found.Command != m.program {
			continue
		}
		m.ranks[found.PID] = true
		// The rank's I/O up to now belongs to the start of the rank and not to the load.
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

// stuck reports whether a rank was in uninterruptible sleep (state D) at the latest search, for example because it was
// blocked on an I/O.
func (m *rankMeter) stuck() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sleeping
}

// pids returns the PIDs of all ranks seen so far, including exited ones.
func (m *rankMeter) pids() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.ranks))
}

// alive returns the number of ranks found by the latest reading.
func (m *rankMeter) alive() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.live)
}

// seen returns the number of ranks seen so far.
func (m *rankMeter) seen() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ranks)
}
