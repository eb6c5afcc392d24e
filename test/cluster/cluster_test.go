package cluster

import (
	"testing"

	"github.com/storagebench/storagebench/test/binaries"
)

const (
	probeImage     = "storagebench.dev/test-probe:1"
	probeNamespace = "probe"
)

// TestLifeOfACluster starts a cluster, uses it, kills all of its components at once, uses it again, and ends it.
// Nothing may be left. TestClusterRecovers kills single components.
func TestLifeOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Kubernetes, which -short leaves out")
	}
	b := newBench(t)
	b.up("up from nothing")
	before, err := b.state.NodePID()
	if err != nil {
		t.Fatal(err)
	}
	b.run("up again", true, "up")
	if now, err := b.state.NodePID(); err != nil || now != before {
		t.Errorf("the node was process %d, and is %d: %v", before, now, err)
	}

	archive := b.probeArchive()
	b.run("load-image", true, "load-image", archive)
	b.run("load-image again", true, "load-image", archive)
	b.prepareNamespace()
	b.podWithVolume("first", "")
	b.podOnStaticVolume("static")
	url := b.logAndExec("second")
	b.audited()

	b.kill(binaries.Cluster()...)
	b.up("up after everything was killed")
	b.podWithVolume("third", url)

	b.run("down", true, "down")
	b.mustBeGone()
	b.run("down again", true, "down")
}
