package nightly

import (
	"testing"

	"github.com/storagebench/storagebench/test/soak"
)

// TestMonth is TestNights for a month.
func TestMonth(t *testing.T) {
	soak.Only(t)
	nights(t, 30)
}
