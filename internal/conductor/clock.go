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
	api, err := c.service()
	if err != nil {
		return err
	}
	trips := make([]measure.RoundTrip, 0, clockRoundTrips)
	for range clockRoundTrips {
		sent := c.owner.Reference.Now()
		answer, err := api.Clock(ctx, &agentapi.ClockRequest{})
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

// compareClocks keeps the estimate fresh until the context ends: clocks drift over a long step.
func (c *client) compareClocks(ctx context.Context) {
	ticker := time.NewTicker(clockInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			// The session finds out by itself when the agent is gone.
			_ = c.estimateClock(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// remote is an instant in the agent's clock.
func (c *client) remote(at time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset.ToRemote(at.UnixNano())
}
