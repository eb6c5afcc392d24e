// Package local runs the built program in real time, as test/local does, and compares durations, rates and figures with
// the known limits and records of simulated stores.
package local_test

import (
	"os"
	"testing"

	"github.com/storagebench/storagebench/test/local"
	"github.com/storagebench/storagebench/test/soak"
)

func TestMain(m *testing.M) {
	if !soak.Enabled() {
		soak.Main(m)
	}
	os.Exit(local.Main(m))
}
