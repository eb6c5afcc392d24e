package chart

import (
	"testing"

	"github.com/storagebench/storagebench/test/soak"
)

// What is installed and what is copied conforms to the kinds of each release of Kubernetes that the chart allows, and each
// refuses what is broken.
func TestEachRelease(t *testing.T) {
	soak.Only(t)
	all := releases(t)
	conforms(t, all, all)
	refuses(t, all)
}
