package e2e

import (
	"math"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/stillness"
)

// judge fails the test if a figure differs from the store's record by more than offPercent and is outside the record's
// own bounds, which are wider if something disturbed the store.
func judge(t *testing.T, rows []truth.Row) {
	t.Helper()
	for _, row := range rows {
		if row.Off(offPercent) && (!bounded(row) || row.Outside()) {
			t.Errorf("%s: %s is %g, by the store's record %g: %+.2f %%; it may be %s",
				row.Phase, row.Figure, row.Ours, row.Truth, row.OffPercent(), row.Bounds)
		}
	}
}

// bounded reports whether the bounds of a row were computed. Rows that tests make themselves have none.
func bounded(row truth.Row) bool {
	return row.Bounds != (truth.Bounds{}) && !math.IsNaN(row.Bounds.Least)
}

// within fails the test if something took longer than its bound. It is inconclusive if the machine kept this process
// waiting for a tenth of the bound meanwhile, because other processes may have waited, too.
func within(t *testing.T, still *stillness.Watch, what string, took, bound time.Duration) {
	t.Helper()
	stood := still.Total()
	switch {
	case took <= bound:
		t.Logf("%s took %s, of at most %s", what, took, bound)
	case stood > bound/10:
		soak.Inconclusive(t, "%s took %s, over %s, and the machine kept this process waiting for %s", what, took, bound, stood)
	default:
		t.Errorf("%s took %s, over %s; the machine kept this process waiting for %s", what, took, bound, stood)
	}
}

// spread returns the difference between the longest and the shortest time.
func spread(all []time.Duration) time.Duration {
	least, most := all[0], all[0]
	for _, one := range all {
		least, most = min(least, one), max(most, one)
	}
	return most - least
}
