package conductor

import (
	"context"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
)

// clockRoundTrips is the number of consecutive time requests that one clock offset estimate sends to the agent. The
// request with the shortest round trip is used.
const clockRoundTrips = 8

// estimateClock requests the agent's time, and stores the offset between the agent's clock and the reference clock.
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
		return fmt.Errorf("estimate the clock of client %s: %w", c.key, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = offset
	return nil
}

// compareClocks repeatedly estimates the offset of the agent's clock until ctx is canceled, because clocks drift during
// a long step.
func (c *client) compareClocks(ctx context.Context) {
	ticker := time.NewTicker(clockInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			// Ignore the error: if the agent is lost, the session detects it.
			_ = c.estimateClock(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// remote converts an instant to the agent's clock.
func (c *client) remote(at time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset.ToRemote(at.UnixNano())
}
