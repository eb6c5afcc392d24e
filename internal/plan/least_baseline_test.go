package plan

import (
	"testing"
	"time"
)

// TestLasting checks how long a lower rate must last to count as the baseline. The default minDuration of 2 minutes
// yields the documented 84 s.
func TestLasting(t *testing.T) {
	for least, want := range map[time.Duration]time.Duration{
		0: 8 * time.Second, 11 * time.Second: 8 * time.Second, 16 * time.Second: 12 * time.Second, 20 * time.Second: 14 * time.Second,
		2 * time.Minute: 84 * time.Second, 122 * time.Second: 85 * time.Second, time.Hour: 85 * time.Second,
	} {
		if got := (Step{MinDuration: least}).LeastBaseline(); got != want {
			t.Errorf("minDuration %s: %s, want %s", least, got, want)
		}
	}
}
