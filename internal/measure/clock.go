package measure

import (
	"errors"
	"fmt"
)

// RoundTrip is one question about the time: the local clock when it was sent and when the
// answer came, and the remote clock in between.
type RoundTrip struct {
	LocalSendNanoseconds    int64
	RemoteNanoseconds       int64
	LocalReceiveNanoseconds int64
}

// ClockOffset says how far a remote clock is ahead of the local one. The true offset lies
// within Uncertainty of it, whatever the network did: the remote clock was read at some
// time between sending and receiving.
type ClockOffset struct {
	OffsetNanoseconds int64 `json:"offsetNanoseconds"`
	// UncertaintyNanoseconds is half of the round trip, rounded up.
	UncertaintyNanoseconds int64 `json:"uncertaintyNanoseconds"`
}

// EstimateClock keeps the shortest of the round trips, because the less time there was, the
// less can be wrong. No round trips, one that was received before it was sent, and clocks
// further apart than 146 years are errors.
func EstimateClock(trips []RoundTrip) (ClockOffset, error) {
	if len(trips) == 0 {
		return ClockOffset{}, errors.New("estimate clock: there was no round trip")
	}
	var best RoundTrip
	for i, trip := range trips {
		if trip.LocalReceiveNanoseconds < trip.LocalSendNanoseconds {
			return ClockOffset{}, fmt.Errorf("estimate clock: round trip %d was received %d ns before it was sent: use a monotonic clock",
				i, trip.LocalSendNanoseconds-trip.LocalReceiveNanoseconds)
		}
		for _, instant := range []int64{trip.LocalSendNanoseconds, trip.RemoteNanoseconds, trip.LocalReceiveNanoseconds} {
			if instant < -maxInstant/2 || instant > maxInstant/2 {
				return ClockOffset{}, fmt.Errorf("estimate clock: round trip %d has the time %d ns, which is out of range", i, instant)
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

// CombineClocks joins estimates that were made at several times, at the start and at the
// end of a step say. Each bounds the true offset, so while one offset fits all of them the
// joined one is more certain than any. When none does, a clock was set or runs at another
// speed: then certain is false, and the offset is the middle of all bounds, with an
// uncertainty that covers them. No estimates give the zero offset and certain=false.
func CombineClocks(estimates ...ClockOffset) (combined ClockOffset, certain bool) {
	if len(estimates) == 0 {
		return ClockOffset{}, false
	}
	first := estimates[0]
	latestLow, earliestHigh := first.bounds()
	lowest, highest := latestLow, earliestHigh
	for _, estimate := range estimates[1:] {
		low, high := estimate.bounds()
		latestLow, earliestHigh = max(latestLow, low), min(earliestHigh, high)
		lowest, highest = min(lowest, low), max(highest, high)
	}
	if latestLow <= earliestHigh {
		return offsetBetween(latestLow, earliestHigh), true
	}
	return offsetBetween(lowest, highest), false
}

func (c ClockOffset) bounds() (low, high int64) {
	return c.OffsetNanoseconds - c.UncertaintyNanoseconds, c.OffsetNanoseconds + c.UncertaintyNanoseconds
}

func offsetBetween(low, high int64) ClockOffset {
	half := (high - low) / 2
	return ClockOffset{OffsetNanoseconds: low + half, UncertaintyNanoseconds: high - low - half}
}
