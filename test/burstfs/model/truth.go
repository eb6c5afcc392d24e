package model

import "time"

const (
	// PauseAtLeast is the minimum length of a pause that is recorded.
	PauseAtLeast = 5 * time.Millisecond
	// LoadAtLeast is the minimum size, in bytes, of a read or write that counts as load. Smaller ones belong to small
	// metadata files; they count in all sums, but do not end a pause.
	LoadAtLeast = 1024
)

// Pause is a period without outstanding load (reads and writes of at least LoadAtLeast): from the last answer, or the
// start of the store, to the next submission. The zero value means no pause.
type Pause struct{ From, To time.Duration }

// Length returns the length of the pause.
func (p Pause) Length() time.Duration { return p.To - p.From }

// Answered counts bytes and operations that were answered without an error.
type Answered struct {
	ReadBytes, WriteBytes                           int64
	ReadOperations, WriteOperations, SyncOperations int64
	CachedReadBytes, CachedReadOperations/* of the above */ int64
	// StoredWriteBytes is the number of written bytes after the store's compression.
	StoredWriteBytes int64
}

// Less returns a minus some.
func (a Answered) Less(some Answered) Answered {
	return Answered{
		ReadBytes: a.ReadBytes - some.ReadBytes, WriteBytes: a.WriteBytes - some.WriteBytes,
		ReadOperations: a.ReadOperations - some.ReadOperations, WriteOperations: a.WriteOperations - some.WriteOperations,
		SyncOperations:  a.SyncOperations - some.SyncOperations,
		CachedReadBytes: a.CachedReadBytes - some.CachedReadBytes, CachedReadOperations: a.CachedReadOperations - some.CachedReadOperations,
		StoredWriteBytes: a.StoredWriteBytes - some.StoredWriteBytes,
	}
}

const (
	// BinsPerSecond is the number of bins into which the record divides a second.
	BinsPerSecond = 100
	// binnedSeconds is the number of seconds for which bins are kept: an hour, which takes at most 15 MB of memory.
	binnedSeconds = 3600
)

// Bin counts what was answered without an error in a part of a second.
type Bin struct {
	// Index is the number of the hundredth in the second, from 0. The last bin includes the end of the second.
	Index                           int
	ReadBytes, WriteBytes           int64
	ReadOperations, WriteOperations int64
}

// Second is the record of a second: the time after Index seconds since the store's start, up to and including Index+1
// seconds.
type Second struct {
	Index int
	Answered
	Errors int64

	// InFlight and InFlightBytes are the outstanding requests at the end of the second and their bytes. Waiting is the
	// number of those that wait because of the queue limit.
	InFlight      int
	InFlightBytes int64
	Waiting       int
	// TenantShare is the mean share that tenants took of the bucket from which they took most.
	TenantShare float64
	// Busy is the share of the second in which at least one bucket contained requests. If it is below 1, the clients did
	// not ask for more.
	Busy float64
	// Pause is the longest pause of at least PauseAtLeast that ended in the second, if any.
	Pause Pause
	// BeforePause is the part of Answered from before that pause, because the loads before and after a pause may be
	// unrelated.
	BeforePause Answered
	// Loaded is the share of the second in which load was outstanding.
	Loaded float64
	// Bins lists the bins in which anything was read or written, in order. A second from more than an hour ago has none.
	Bins []Bin
	// MostInFlight and MostInFlightBytes are the maxima of the outstanding requests and of their bytes in the second.
	MostInFlight      int
	MostInFlightBytes int64
	// Credits holds the credits of the buckets at the end of the second, in the order of the configuration.
	Credits []float64
}

// Bytes returns the bytes read and written.
func (s Second) Bytes() int64 { return s.ReadBytes + s.WriteBytes }

// Operations returns the number of reads and writes.
func (s Second) Operations() int64 { return s.ReadOperations + s.WriteOperations }

// truth collects the record.
type truth struct {
	seconds       []Second
	current       Second
	inFlight      int
	inFlightBytes int64
	loading       int // number of outstanding requests that are load
	idleSince     time.Duration
	tenantSeconds float64
	busySeconds   float64
	loadedSeconds float64
}

// boundary returns the end of the current second.
func (t *truth) boundary() float64 { return float64(t.current.Index + 1) }

func (r *request) load() bool { return r.Kind != Sync && r.Bytes >= LoadAtLeast }

func (t *truth) submitted(r *request, now time.Duration) {
	t.inFlight++
	t.inFlightBytes += r.Bytes
	t.current.MostInFlight = max(t.current.MostInFlight, t.inFlight)
	t.current.MostInFlightBytes = max(t.current.MostInFlightBytes, t.inFlightBytes)
	if !r.load() {
		return
	}
	if pause := (Pause{From: t.idleSince, To: now}); t.loading == 0 && pause.Length() >= max(PauseAtLeast, t.current.Pause.Length()) {
		t.current.Pause, t.current.BeforePause = pause, t.current.Answered
	}
	t.loading++
}

func (t *truth) answered(r *request, now time.Duration) {
	t.inFlight--
	t.inFlightBytes -= r.Bytes
	if r.load() {
		t.loading--
		t.idleSince = now
	}
	s := &t.current
	if r.errno != 0 {
		s.Errors++
		return
	}
	switch r.Kind {
	case Read:
		bin := s.bin(now)
		bin.ReadBytes += r.Bytes
		bin.ReadOperations++
		s.ReadBytes += r.Bytes
		s.ReadOperations++
		if r.cached {
			s.CachedReadBytes += r.Bytes
			s.CachedReadOperations++
		}
	case Write:
		bin := s.bin(now)
		bin.WriteBytes += r.Bytes
		bin.WriteOperations++
		s.WriteBytes += r.Bytes
		s.StoredWriteBytes += r.Stored
		s.WriteOperations++
	case Sync:
		s.SyncOperations++
	case Create, Change:
	}
}

// bin returns the bin for a time, which must not be before the last bin.
func (s *Second) bin(now time.Duration) *Bin {
	index := int((now - time.Duration(s.Index)*time.Second) * BinsPerSecond / time.Second)
	index = max(0, min(index, BinsPerSecond-1)) // the end of a second belongs to it
	if last := len(s.Bins) - 1; last < 0 || s.Bins[last].Index < index {
		s.Bins = append(s.Bins, Bin{Index: index})
	}
	return &s.Bins[len(s.Bins)-1]
}

// record ends the current second and adds it to the record.
func (t *truth) record(m *Model) {
	s := t.current
	s.InFlight, s.InFlightBytes, s.Waiting = t.inFlight, t.inFlightBytes, len(m.waiting)
	s.TenantShare, s.Busy, s.Loaded = t.tenantSeconds, t.busySeconds, t.loadedSeconds
	for _, b := range m.buckets {
		s.Credits = append(s.Credits, b.credits)
	}
	t.seconds = append(t.seconds, s)
	if old := len(t.seconds) - 1 - binnedSeconds; old >= 0 {
		t.seconds[old].Bins = nil
	}
	t.current = Second{Index: s.Index + 1, MostInFlight: t.inFlight, MostInFlightBytes: t.inFlightBytes}
	t.tenantSeconds, t.busySeconds, t.loadedSeconds = 0, 0, 0
}

// Load returns the number of requests submitted since the start, and how many of them are outstanding.
func (m *Model) Load() (asked uint64, inFlight int) { return m.lastID, m.truth.inFlight }

// Truth returns the record of the complete seconds, beginning with the given one.
func (m *Model) Truth(from int) []Second {
	if from >= len(m.truth.seconds) {
		return nil
	}
	return append([]Second(nil), m.truth.seconds[from:]...)
}
