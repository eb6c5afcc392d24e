// Package local runs the built program as test/local does, and holds durations, rates and figures against stores whose
// truth is known, in real time.
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
