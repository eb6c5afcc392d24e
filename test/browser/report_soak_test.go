package browser_test

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/soak"
)

// TestTwelveHoursOpen requires that Chromium opens the report of a twelve-hour run on two targets within 2 s.
func TestTwelveHoursOpen(t *testing.T) {
	soak.Only(t)
	document := long(t)
	written := time.Hour
	var html string
	for range 3 {
		began := time.Now()
		html = htmlOf(t, document)
		written = min(written, time.Since(began))
	}
	best := time.Hour
	for range 3 { // take the best: other programs may be running
		p := open(t, html, 1100, "screen")
		took := ask[float64](t, p, `(() => { const n = performance.getEntriesByType("navigation")[0]; return n.loadEventEnd - n.startTime; })()`)
		best = min(best, time.Duration(took*float64(time.Millisecond)))
	}
	soak.Compare(t, "HTML report of a run of 12 hours, two targets", soak.Row{Ours: written.Round(time.Millisecond).String() + ", the best of three"})
	soak.Compare(t, "opening it in Chromium", soak.Row{Ours: best.Round(time.Millisecond).String() + ", the best of three",
		Bound: "at most 2 s", Met: best <= 2*time.Second})
	if best > 2*time.Second || best <= 0 {
		t.Errorf("it opens in %s", best)
	}
}
