package storagebenchmark

import (
	"testing"

	"github.com/storagebench/storagebench/test/soak"
)

// The operator dies once, before or after any of its writes, in each of the sequences.
func TestDyingAtAnyWriteChangesNothing(t *testing.T) {
	soak.Only(t)
	diesAt(t, func(int, int) (first, stride int) { return 0, 1 })
}

// The operator dies often, and its cache lags, by many seeds of chance.
func TestManySeedsChangeNothing(t *testing.T) {
	soak.Only(t)
	diesOften(t, 30)
	lags(t, 30)
}
