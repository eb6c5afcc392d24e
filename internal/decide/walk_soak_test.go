package decide_test

import (
	"testing"

	"github.com/storagebench/storagebench/test/soak"
)

// TestMillionRandomRuns does the same as TestRandomRuns with a million other runs.
func TestMillionRandomRuns(t *testing.T) {
	soak.Only(t)
	const runs = 1_000_000
	walkRandomRuns(t, max(1, soak.Seed(t)), runs)
	soak.Report(t, "random runs", "%d runs kept all %d rules", runs, len(rules))
}
