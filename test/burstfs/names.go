package burstfs

import (
	"maps"
	"sync"
	"time"
)

// Names counts the files that were created and removed in all folders of the same name.
type Names struct{ Created, Removed int64 }

// names counts the creation and removal of files, and limits their rate. It is not part of the model, which limits only
// reads and writes.
type names struct {
	apart time.Duration // minimum time between two operations

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

// count counts an operation and waits for its turn. It never lets operations catch up on unused time.
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

// Names returns the counts of all folders by base name.
func (f *FS) Names() map[string]Names {
	n := f.store.names
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.folders)
}
