package browser_test

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/soak"
)

// TestTwelveHoursOpen: a report of a run of twelve hours on two targets opens within 2 s.
func TestTwelveHoursOpen(t *testing.T) {
	soak.Only(t)
	html := htmlOf(t, long(t))
	best := time.Hour
	for range 3 { // other programs may run
		p := open(t, html, 1100, "screen")
		took := ask[float64](t, p, `(() => { const n = performance.getEntriesByType("navigation")[0]; return n.loadEventEnd - n.startTime; })()`)
		best = min(best, time.Duration(took*float64(time.Millisecond)))
	}
	soak.Report(t, "Opening the report of twelve hours in Chromium", "%d bytes, %s, the best of three", len(html), best.Round(time.Millisecond))
	if best > 2*time.Second || best <= 0 {
		t.Errorf("it opens in %s", best)
	}
}
