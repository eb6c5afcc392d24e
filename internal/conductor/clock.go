package conductor

import (
	"context"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
)

// clockRoundTrips is how often an agent is asked for the time at once; the shortest counts.
const clockRoundTrips = 8

// estimateClock asks an agent for its time and keeps how far its clock is from the reference.
func (c *client) estimateClock(ctx context.Context) error {
	trips := make([]measure.RoundTrip, 0, clockRoundTrips)
	for range clockRoundTrips {
		sent := c.owner.Reference.Now()
		answer, err := c.api.Clock(ctx, &agentapi.ClockRequest{})
		if err != nil {
			return err
		}
		trips = append(trips, measure.RoundTrip{
			LocalSendNanoseconds:    sent.UnixNano(),
			RemoteNanoseconds:       answer.GetMonotonicNanoseconds(),
			LocalReceiveNanoseconds: c.owner.Reference.Now().UnixNano(),
		})
	}
	offset, err := measure.EstimateClock(trips)
	if err != nil {
		return fmt.Errorf("estimate the clock of client %s: %w", c.endpoint.Key, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = offset
	return nil
}

// remote is an instant in the agent's clock.
func (c *client) remote(at time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset.ToRemote(at.UnixNano())
}

// instant is an agent's instant in the reference clock; 0 is no instant. Callers hold mu.
func (c *client) instant(remote int64) time.Time {
	if remote == 0 {
		return time.Time{}
	}
	return time.Unix(0, c.offset.ToLocal(remote)).UTC()
}
