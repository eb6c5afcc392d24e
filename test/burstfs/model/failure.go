package model

import (
	"path"
	"slices"
	"syscall"
	"time"
)

// failure is the state of a Failure.
type failure struct {
	Failure
	hits int
}

// errno returns the error of a failure, or 0 for a stall.
func (e FailureError) errno() syscall.Errno {
	switch e {
	case FailureEIO:
		return syscall.EIO
	case FailureENOSPC:
		return syscall.ENOSPC
	case FailureEROFS:
		return syscall.EROFS
	case FailureStall:
	}
	return 0
}

// kinds returns the kinds of requests that an error affects by default.
func (e FailureError) kinds() []Kind {
	switch e {
	case FailureENOSPC:
		return []Kind{Write, Create}
	case FailureEROFS:
		return []Kind{Write, Create, Change}
	case FailureEIO, FailureStall:
	}
	return []Kind{Read, Write, Sync}
}

// outcome is the effect of failures on a request.
type outcome struct {
	errno syscall.Errno
	stall time.Duration
}

// failing returns the effect of the current failures on a request, and counts the request for them.
func (m *Model) failing(kind Kind, name string) outcome {
	var result outcome
	for _, f := range m.failures {
		if !f.meets(m, kind, name) {
			continue
		}
		f.hits++
		if f.Error == FailureStall {
			result.stall = max(result.stall, f.Stall)
			continue
		}
		result.errno = f.Error.errno()
		break
	}
	return result
}

func (f *failure) meets(m *Model, kind Kind, name string) bool {
	kinds := f.Kinds
	if len(kinds) == 0 {
		kinds = f.Error.kinds()
	}
	if !slices.Contains(kinds, kind) || !f.active(m.moment()) || f.Count > 0 && f.hits >= f.Count {
		return false
	}
	if f.Path != "" {
		if matched, err := path.Match(f.Path, path.Base(name)); err != nil || !matched {
			return false
		}
	}
	return f.Probability == 0 || m.random.Float64() < f.Probability
}

// Fail adds a failure. The failure's At counts from now. Fail panics if the failure is invalid.
func (m *Model) Fail(now time.Duration, f Failure) {
	if err := f.Validate(); err != nil {
		panic(err)
	}
	m.advance(now.Seconds())
	f.At += now
	m.failures = append(m.failures, &failure{Failure: f})
}

// Heal ends all failures, including those of the configuration.
func (m *Model) Heal(now time.Duration) {
	m.advance(now.Seconds())
	m.failures = nil
}

// Metadata returns the error of creating or changing a file now, or 0.
func (m *Model) Metadata(now time.Duration, kind Kind, name string) syscall.Errno {
	m.advance(now.Seconds())
	return m.failing(kind, name).errno
}
