package model

import "time"

const (
	// PauseAtLeast is how long nothing has to be under way for a pause to be noted.
	PauseAtLeast = 5 * time.Millisecond
	// LoadAtLeast is the bytes from which on a read or a write is load. Smaller ones are somebody's notes; they count
	// in all sums, and end no pause.
	LoadAtLeast = 1024
)

// Pause is a time in which no load was under way, which is reads and writes of LoadAtLeast: from the answer to the
// last one, or the start of the store, to the submission of the next one. The zero value is none.
type Pause struct{ From, To time.Duration }

// Length of it.
func (p Pause) Length() time.Duration { return p.To - p.From }

// Answered are bytes and operations that were answered without an error.
type Answered struct {
	ReadBytes, WriteBytes                           int64
	ReadOperations, WriteOperations, SyncOperations int64
	CachedReadBytes, CachedReadOperations/* of the above */ int64
	// StoredWriteBytes is what the written bytes took behind the store's compression.
	StoredWriteBytes int64
}

// Less is what is left of them without some.
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
	// BinsPerSecond is how finely the record divides a second.
	BinsPerSecond = 100
	// binnedSeconds are the newest ones, of which the bins are kept: an hour, which takes 15 MB at most.
	binnedSeconds = 3600
)

// Bin is what was answered without an error in a part of a second.
type Bin struct {
	// Index in the second: after Index hundredths, up to and with the next one.
	Index                           int
	ReadBytes, WriteBytes           int64
	ReadOperations, WriteOperations int64
}

// Second is what the store did in a second: after Index seconds from its start, up to and with the moment
// Index+1.
type Second struct {
	Index int
	Answered
	Errors int64

	// InFlight are the requests that were submitted and not answered at the end of the second, with their
	// bytes; Waiting those of them that had no place yet because of the queue limit.
	InFlight      int
	InFlightBytes int64
	Waiting       int
	// TenantShare is the mean over the second of what tenants took of the bucket that they took most of.
	TenantShare float64
	// Busy is the share of the second in which at least one bucket had something to let through. Below 1 it was
	// the client who did not ask for more.
	Busy float64
	// Pause is the longest one that ended in the second, if one of PauseAtLeast did.
	Pause Pause
	// BeforePause is what of the second came before that pause: what is before it and after it may be loads that have
	// nothing to do with each other.
	BeforePause Answered
	// Loaded is the share of the second in which load was under way.
	Loaded float64
	// Bins are those in which anything was read or written, in order. A second of over an hour ago has none.
	Bins []Bin
	// MostInFlight requests were under way at a time in the second, and MostInFlightBytes.
	MostInFlight      int
	MostInFlightBytes int64
	// Credits of the buckets, in the configuration's order, at the end of the second.
	Credits []float64
}

// Bytes read and written.
func (s Second) Bytes() int64 { return s.ReadBytes + s.WriteBytes }

// Operations that read and wrote.
func (s Second) Operations() int64 { return s.ReadOperations + s.WriteOperations }

// truth collects the seconds.
type truth struct {
	seconds       []Second
	current       Second
	inFlight      int
	inFlightBytes int64
	loading       int // those of them that are load
	idleSince     time.Duration
	tenantSeconds float64
	busySeconds   float64
	loadedSeconds float64
}

// boundary is when the present second ends.
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

// bin is that of a moment, which is the last one so far or a later one.
func (s *Second) bin(now time.Duration) *Bin {
	index := int((now - time.Duration(s.Index)*time.Second) * BinsPerSecond / time.Second)
	index = max(0, min(index, BinsPerSecond-1)) // the moment at which a second ends belongs to it
	if last := len(s.Bins) - 1; last < 0 || s.Bins[last].Index < index {
		s.Bins = append(s.Bins, Bin{Index: index})
	}
	return &s.Bins[len(s.Bins)-1]
}

// record ends the present second.
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

// Load is how many requests have been handed in since the start, and how many of them are under way.
func (m *Model) Load() (asked uint64, inFlight int) { return m.lastID, m.truth.inFlight }

// Truth is what the store did in the complete seconds from the given one on.
func (m *Model) Truth(from int) []Second {
	if from >= len(m.truth.seconds) {
		return nil
	}
	return append([]Second(nil), m.truth.seconds[from:]...)
}
