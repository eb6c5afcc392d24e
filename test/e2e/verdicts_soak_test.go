package e2e

import (
	"math"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/stillness"
)

// judge fails where a figure differs from a store's record by more than offPercent, and by more than the record's own bounds
// allow: what disturbs the store widens them.
func judge(t *testing.T, rows []truth.Row) {
	t.Helper()
	for _, row := range rows {
		if row.Off(offPercent) && (!bounded(row) || row.Outside()) {
			t.Errorf("%s: %s is %g, by the store's record %g: %+.2f %%; it may be %s",
				row.Phase, row.Figure, row.Ours, row.Truth, row.OffPercent(), row.Bounds)
		}
	}
}

// bounded reports whether the bounds of a row were computed: rows that tests make themselves have none.
func bounded(row truth.Row) bool {
	return row.Bounds != (truth.Bounds{}) && !math.IsNaN(row.Bounds.Least)
}

// within fails where something took longer than its bound. It is inconclusive where the machine kept this process waiting for
// a tenth of the bound meanwhile, and so may have kept others waiting.
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

// spread is how far apart the greatest and the least of several times are.
func spread(all []time.Duration) time.Duration {
	least, most := all[0], all[0]
	for _, one := range all {
		least, most = min(least, one), max(most, one)
	}
	return most - least
}
