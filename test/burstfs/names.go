package burstfs

import (
	"maps"
	"sync"
	"time"
)

// Names are the files that were created and removed in folders of one name.
type Names struct{ Created, Removed int64 }

// names counts what creates and removes files, and lets it through at a pace. It is beside the model, which knows reads and
// writes only.
type names struct {
	apart time.Duration // from one to the next

	mu      sync.Mutex
	next    time.Time
	folders map[string]Names
}

func newNames(perSecond float64) *names {
	n := &names{folders: map[string]Names{}}
	if perSecond > 0 {
		n.apart = time.Duration(float64(time.Second) / perSecond)
	}
	return n
}

func (n *names) created(folder string) { n.count(folder, Names{Created: 1}) }

func (n *names) removed(folder string) { n.count(folder, Names{Removed: 1}) }

// count waits for its turn. One that comes late does not let others come sooner.
func (n *names) count(folder string, one Names) {
	n.mu.Lock()
	sum := n.folders[folder]
	sum.Created += one.Created
	sum.Removed += one.Removed
	n.folders[folder] = sum
	now := time.Now()
	if n.next.Before(now) {
		n.next = now
	}
	n.next = n.next.Add(n.apart)
	until := n.next
	n.mu.Unlock()
	time.Sleep(time.Until(until))
}

// Names are those of all folders, by the folder's own name.
func (f *FS) Names() map[string]Names {
	n := f.store.names
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.folders)
}
