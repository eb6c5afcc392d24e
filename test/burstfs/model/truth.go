package model

// Second is what the store did in a second: after Index seconds from its start, up to and with the moment
// Index+1. Bytes and operations count when they are answered without an error.
type Second struct {
	Index                                           int
	ReadBytes, WriteBytes                           int64
	ReadOperations, WriteOperations, SyncOperations int64
	CachedReadBytes, CachedReadOperations/* of the above */ int64
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
	tenantSeconds float64
	busySeconds   float64
}

// boundary is when the present second ends.
func (t *truth) boundary() float64 { return float64(t.current.Index + 1) }

func (t *truth) submitted(r *request) {
	t.inFlight++
	t.inFlightBytes += r.Bytes
}

func (t *truth) answered(r *request) {
	t.inFlight--
	t.inFlightBytes -= r.Bytes
	s := &t.current
	if r.errno != 0 {
		s.Errors++
		return
	}
	switch r.Kind {
	case Read:
		s.ReadBytes += r.Bytes
		s.ReadOperations++
		if r.cached {
			s.CachedReadBytes += r.Bytes
			s.CachedReadOperations++
		}
	case Write:
		s.WriteBytes += r.Bytes
		s.WriteOperations++
	case Sync:
		s.SyncOperations++
	case Create, Change:
	}
}

// record ends the present second.
func (t *truth) record(m *Model) {
	s := t.current
	s.InFlight, s.InFlightBytes, s.Waiting = t.inFlight, t.inFlightBytes, len(m.waiting)
	s.TenantShare, s.Busy = t.tenantSeconds, t.busySeconds
	for _, b := range m.buckets {
		s.Credits = append(s.Credits, b.credits)
	}
	t.seconds = append(t.seconds, s)
	t.current = Second{Index: s.Index + 1}
	t.tenantSeconds, t.busySeconds = 0, 0
}

// Truth is what the store did in the complete seconds from the given one on.
func (m *Model) Truth(from int) []Second {
	if from >= len(m.truth.seconds) {
		return nil
	}
	return append([]Second(nil), m.truth.seconds[from:]...)
}
