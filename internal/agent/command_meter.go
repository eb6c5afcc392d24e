package agent

import (
	"fmt"

	"github.com/storagebench/storagebench/internal/process"
)

// treeMeter reads what a program and all that it has started have read and written. The root is `agent tend`: the
// parent, in the end, of all of them, which waits for those that nobody else waits for. The kernel adds the counters of a
// child to those of the parent that waits for it, and the root tells its own at its end.
// So the sum over the root and all that live is all that was ever done.
//
// Tried on Linux 6.18, and tested: children that live for milliseconds, children of children, orphans of a parent that
// has ended, threads. What gets lost is the counters of a child whose parent ignores SIGCHLD: nobody waits for it, and the
// kernel throws them away. What was seen of it while it lived still counts, and blind says that there was such a child.
type treeMeter struct {
	root        int
	base, total process.IO
	// ended is the newest reading of the root once it has ended.
	ended process.IO
	over  bool
}

// begin forgets what the root itself has read so far.
func (m *treeMeter) begin() error {
	base, err := process.ReadIO(m.root)
	if err != nil {
		return fmt.Errorf("read what the program does: %w", err)
	}
	m.base, m.total = base, base
	return nil
}

// look gives what was done since begin. It never falls.
func (m *treeMeter) look() process.IO {
	// The root first, and parents before their children: one that is waited for meanwhile is missing then until the next look, and
	// never there twice.
	sum, err := process.ReadIO(m.root)
	if err != nil {
		return m.total.Since(m.base)
	}
	below, err := process.Descendants(m.root)
	if err != nil {
		return m.total.Since(m.base)
	}
	for _, one := range below {
		if counters, err := process.ReadIO(one.PID); err == nil {
			sum = sum.Add(counters)
		}
	}
	m.total = m.total.Max(sum)
	return m.total.Since(m.base)
}

// end takes what the root has told of itself at its end, or else reads it, once it has ended and is not waited for yet: that
// is all, but for what nobody waited for. An error says that neither was there, such as where it was killed by force and the kernel
// lets nobody but root read what has ended: then what was done since the last look is missing.
func (m *treeMeter) end(told *process.IO) (process.IO, error) {
	if told == nil {
		ended, err := process.ReadIO(m.root)
		if err != nil {
			return m.total.Since(m.base), fmt.Errorf("what was read and written since the last look, up to a second before its end, is not known: %w", err)
		}
		told = &ended
	}
	m.ended, m.over = *told, true
	m.total = m.total.Max(*told)
	return m.total.Since(m.base), nil
}

// blindShare is how much of what was seen may be missing at the end: a look sees what is then cancelled, or none.
const blindShare = 0.01

// blind is how many bytes were seen of processes that nobody has waited for: there may have been more. 0 for none.
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

// stuck reports whether one of the processes is inside of a call to the kernel that does not come back: of I/O.
func (m *treeMeter) stuck() bool {
	below, err := process.Descendants(m.root)
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
