package command

import (
	"fmt"
	"slices"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/process"
)

// treeMeter counts the bytes that a program and all its descendants read and write. The root of the process tree is
// `agent supervise`, which becomes the parent of all orphans among them and waits for them. When a parent waits for a
// child, the kernel adds the child's counters to the parent's, and the root reports its own counters when it exits. So
// the sum over the root and all living descendants is the total.
//
// Tested on Linux 6.18 with children that live for milliseconds, grandchildren, orphans whose parent has ended, and
// threads. The final counters of a child whose parent ignores SIGCHLD are lost: no process waits for the child, and the
// kernel discards its counters. treeMeter still counts the bytes that these counters showed while the child was alive;
// blind returns their number.
type treeMeter struct {
	system      tool.Processes
	root        int
	base, total process.IO
	// ended holds the final counters of `agent supervise`; over is true once they are known.
	ended process.IO
	over  bool
}

// begin records the current counters of `agent supervise`. Earlier I/O does not count as the program's.
func (m *treeMeter) begin() error {
	base, err := m.system.ReadIO(m.root)
	if err != nil {
		return fmt.Errorf("read the program's I/O counters: %w", err)
	}
	m.base, m.total = base, base
	return nil
}

// look returns the bytes read and written since begin. The result never decreases.
func (m *treeMeter) look() process.IO {
	// Read `agent supervise` first, and parents before their children. The I/O of a process that is reaped between two of
	// these reads is then missing until the next call of look, but is never counted twice.
	sum, err := m.system.ReadIO(m.root)
	if err != nil {
		return m.total.Since(m.base)
	}
	below, err := m.system.Descendants(m.root)
	if err != nil {
		return m.total.Since(m.base)
	}
	for _, one := range below {
		if counters, err := m.system.ReadIO(one.PID); err == nil {
			sum = sum.Add(counters)
		}
	}
	m.total = m.total.Max(sum)
	return m.total.Since(m.base)
}

// end records the final counters of `agent supervise`. It uses the counters that the process reported. Without a
// report, it reads them from /proc, which works until the exited process is reaped. These counters are complete except
// for children that no process waited for. If the process was killed before it could report, and the kernel lets only
// root read an exited process's counters, end returns an error and leaves out the I/O since the last reading.
func (m *treeMeter) end(reported *process.IO) (process.IO, error) {
	if reported == nil {
		ended, err := m.system.ReadIO(m.root)
		if err != nil {
			return m.total.Since(m.base), fmt.Errorf("the program's I/O since the last reading of its counters, "+
				"up to a second before it ended, is unknown: %w", err)
		}
		reported = &ended
	}
	m.ended, m.over = *reported, true
	m.total = m.total.Max(*reported)
	return m.total.Since(m.base), nil
}

// blindShare is the largest share of missing bytes in all observed bytes for which blind returns 0. Small differences
// are normal: a reading may include I/O that is cancelled later, or miss some I/O.
const blindShare = 0.01

// blind returns a lower bound on the bytes moved by processes that no parent waited for, or 0 if they are at most
// blindShare of all bytes.
func (m *treeMeter) blind() uint64 {
	if !m.over {
		return 0
	}
	missing := m.total.Since(m.ended)
	bytes := missing.ReadBytes + missing.WriteBytes
	if float64(bytes) <= blindShare*float64(m.total.ReadBytes+m.total.WriteBytes) {
		return 0
	}
	return bytes
}

// stuck reports whether one of the processes is in uninterruptible sleep (state D), for example because it is blocked
// on I/O.
func (m *treeMeter) stuck() bool {
	below, err := m.system.Descendants(m.root)
	return err == nil && slices.ContainsFunc(below, func(one process.Process) bool { return one.State == 'D' })
}
