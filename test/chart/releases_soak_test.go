package chart

import (
	"testing"

	"github.com/storagebench/storagebench/test/soak"
)

// TestEachRelease does the checks of TestKubeconform and TestKubeconformRefuses for each release of Kubernetes that has
// schemas.
func TestEachRelease(t *testing.T) {
	soak.Only(t)
	all := releases(t)
	conforms(t, all, all)
	refuses(t, all)
}
