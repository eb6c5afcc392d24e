package agent

import (
	"fmt"

	"github.com/storagebench/storagebench/internal/process"
)

// treeMeter counts what a program and all its descendants have read and written. Its root is `agent tend`, which
// becomes the parent of all orphans among them and waits for those. The kernel adds a child's counters to those of
// the parent that waits for it, and the root reports its own counters at its end. So the sum over the root and all
// living descendants is all that was ever read and written.
//
// Tested on Linux 6.18 with children that live for milliseconds, grandchildren, orphans whose parent has ended, and
// threads. The counters of a child whose parent ignores SIGCHLD are lost: no process waits for it, and the kernel
// discards them. What was seen of such a child while it lived still counts, and blind reports it.
type treeMeter struct {
	system      System
	root        int
	base, total process.IO
	// ended holds the root's final counters; over is true once they are known.
	ended process.IO
	over  bool
}

// begin takes the root's current counters as zero.
func (m *treeMeter) begin() error {
	base, err := m.system.ReadIO(m.root)
	if err != nil {
		return fmt.Errorf("read what the program does: %w", err)
	}
	m.base, m.total = base, base
	return nil
}

// look returns what was read and written since begin. It never decreases.
func (m *treeMeter) look() process.IO {
	// Read the root first, and parents before their children: a process that is waited for in between is then missing
	// until the next look, and never counted twice.
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

// end takes the final counters: told if the root has reported them, else the counters of the root, which has ended
// but was not waited for yet. They are complete except for children that no process waited for. If neither is
// available, such as when the root was killed and the kernel lets only the root user read an ended process, end
// returns an error, and what was done since the last look is missing.
func (m *treeMeter) end(told *process.IO) (process.IO, error) {
	if told == nil {
		ended, err := m.system.ReadIO(m.root)
		if err != nil {
			return m.total.Since(m.base), fmt.Errorf("what was read and written since the last look, up to a second before its end, is not known: %w", err)
		}
		told = &ended
	}
	m.ended, m.over = *told, true
	m.total = m.total.Max(*told)
	return m.total.Since(m.base), nil
}

// blindShare is the share of all bytes seen that may be missing from the final counters before blind reports it: a
// look may see I/O that is cancelled afterwards, or miss some.
const blindShare = 0.01

// blind returns how many bytes were seen of processes that no process has waited for, or 0. Such processes may have
// moved more.
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

// stuck reports whether one of the processes is in uninterruptible sleep (state D), such as in an I/O that does not
// return.
func (m *treeMeter) stuck() bool {
	below, err := m.system.Descendants(m.root)
	if err != nil {
		return false
	}
	for _, one := range below {
		if one.State == 'D' {
			return true
		}
	}
	return false
}
