package measure

import (
	"errors"
	"fmt"
	"math"
)

// RoundTrip is one reading of a remote clock: the local times at which the request was sent and the answer arrived, and
// the remote time between them.
type RoundTrip struct {
	LocalSendNanoseconds    int64
	RemoteNanoseconds       int64
	LocalReceiveNanoseconds int64
}

// ClockOffset is the time by which a remote clock is ahead of the local one. The true offset lies within the
// uncertainty, however long the network delays are, because the remote clock was read between sending and receiving.
type ClockOffset struct {
	OffsetNanoseconds int64 `json:"offsetNanoseconds"`
	// UncertaintyNanoseconds is half the duration of the round trip, rounded up.
	UncertaintyNanoseconds int64 `json:"uncertaintyNanoseconds"`
	// RemoteNanoseconds is the instant of the estimate, on the remote clock.
	RemoteNanoseconds int64 `json:"remoteNanoseconds"`
}

// EstimateClock estimates the offset of a remote clock from the shortest round trip, which has the smallest
// uncertainty. It returns an error if there is no round trip, if an answer was received before its request was sent, or
// if an instant is out of range. Local instants may be up to MaxInstant away from zero, and remote instants up to half
// of MaxInstant (73 years). Within these bounds, adding or subtracting the offset cannot overflow an int64.
func EstimateClock(trips []RoundTrip) (ClockOffset, error) {
	if len(trips) == 0 {
		return ClockOffset{}, errors.New("estimate the clock offset: no round trips")
	}
	var best RoundTrip
	for i, trip := range trips {
		if trip.LocalReceiveNanoseconds < trip.LocalSendNanoseconds {
			return ClockOffset{}, fmt.Errorf("estimate the clock offset: the answer of round trip %d arrived %d ns before the request was sent: use a monotonic clock",
				i, trip.LocalSendNanoseconds-trip.LocalReceiveNanoseconds)
		}
		for _, instant := range []struct{ at, most int64 }{
			{trip.LocalSendNanoseconds, MaxInstant}, {trip.RemoteNanoseconds, MaxInstant / 2}, {trip.LocalReceiveNanoseconds, MaxInstant},
		} {
			if instant.at < -instant.most || instant.at > instant.most {
				return ClockOffset{}, fmt.Errorf("estimate the clock offset: the time %d ns of round trip %d is out of range", instant.at, i)
			}
		}
		if i == 0 || trip.length() < best.length() {
			best = trip
		}
	}
	half := best.length() / 2
	return ClockOffset{
		OffsetNanoseconds:      best.RemoteNanoseconds - (best.LocalSendNanoseconds + half),
		UncertaintyNanoseconds: best.length() - half,
		RemoteNanoseconds:      best.RemoteNanoseconds,
	}, nil
}

func (t RoundTrip) length() int64 { return t.LocalReceiveNanoseconds - t.LocalSendNanoseconds }

// ToRemote translates an instant of the local clock to the remote one.
func (c ClockOffset) ToRemote(localNanoseconds int64) int64 {
	return localNanoseconds + c.OffsetNanoseconds
}

// ToLocal translates an instant of the remote clock to the local one.
func (c ClockOffset) ToLocal(remoteNanoseconds int64) int64 {
	return remoteNanoseconds - c.OffsetNanoseconds
}

// maxDriftPPM is the highest difference in speed between two clocks that counts as drift. The kernel corrects a clock's
// frequency by at most 500 ppm (adjtimex(2)); a machine's quartz is off by up to 100 ppm.
const maxDriftPPM = 500

// RemoteClock translates instants of a remote clock whose offset was estimated at two instants.
type RemoteClock struct {
	first, last ClockOffset
	// UncertaintyNanoseconds is the maximum error of a translated instant.
	UncertaintyNanoseconds int64
}

// CombineClocks combines two estimates of a remote clock's offset, for example from the start and the end of a step.
// Clocks run at different speeds, so the offset is assumed to change linearly between the estimates; before and after
// them, the nearer estimate applies. If drift cannot explain the change, but the uncertainties of both estimates
// overlap, the offset is assumed to be constant. If they do not overlap, a machine was suspended or its clock was set,
// and the uncertainty covers both estimates.
func CombineClocks(first, last ClockOffset) RemoteClock {
	var drift uint64 // the greatest offset change, in ns, that drift explains; 0 unless last is later than first
	if last.RemoteNanoseconds > first.RemoteNanoseconds {
		drift = distance(first.RemoteNanoseconds, last.RemoteNanoseconds) / 1_000_000 * maxDriftPPM
	}
	if distance(first.OffsetNanoseconds, last.OffsetNanoseconds) <= drift {
		return RemoteClock{first: first, last: last, UncertaintyNanoseconds: max(first.UncertaintyNanoseconds, last.UncertaintyNanoseconds)}
	}
	lowFirst, highFirst := first.bounds()
	lowLast, highLast := last.bounds()
	if low, high := max(lowFirst, lowLast), min(highFirst, highLast); low <= high {
		return constantClock(low-int64(drift), high+int64(drift)) // #nosec G115 -- far smaller
	}
	return constantClock(min(lowFirst, lowLast), max(highFirst, highLast))
}

// constantClock returns a clock with a constant offset midway between low and high.
func constantClock(low, high int64) RemoteClock {
	half := distance(low, high) / 2
	offset := ClockOffset{OffsetNanoseconds: low + int64(half)}                                                // #nosec G115 -- half of it fits
	return RemoteClock{first: offset, last: offset, UncertaintyNanoseconds: int64(distance(low, high) - half)} // #nosec G115 -- as above
}

// ToLocal translates an instant of the remote clock to the local one.
func (c RemoteClock) ToLocal(remoteNanoseconds int64) int64 {
	offset := c.first.OffsetNanoseconds
	if elapsed := c.last.RemoteNanoseconds - c.first.RemoteNanoseconds; elapsed > 0 {
		share := float64(remoteNanoseconds-c.first.RemoteNanoseconds) / float64(elapsed)
		offset += int64(math.Round(min(max(share, 0), 1) * float64(c.last.OffsetNanoseconds-offset)))
	}
	return remoteNanoseconds - offset
}

func (c ClockOffset) bounds() (low, high int64) {
	return c.OffsetNanoseconds - c.UncertaintyNanoseconds, c.OffsetNanoseconds + c.UncertaintyNanoseconds
}

// distance returns the distance between two instants or offsets. The distance may exceed an int64.
func distance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) } // #nosec G115 -- wraps to the right difference
