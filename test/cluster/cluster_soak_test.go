package cluster

import (
	"os"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/soak"
)

// TestClusterRecovers requires that `cluster up` repairs a cluster after one of its components or its node was killed,
// and that `cluster down` removes everything even if the record of the cluster is missing.
func TestClusterRecovers(t *testing.T) {
	soak.Only(t)
	b := newBench(t)
	b.up("up from nothing")
	archive := b.probeArchive()
	b.run("load-image", true, "load-image", archive)
	b.prepareNamespace()
	url := b.logAndExec("first")
	for _, name := range []string{binaries.Kubelet, binaries.Containerd, binaries.APIServer} {
		b.kill(name)
		b.up("up after " + name + " was killed")
	}
	b.podWithVolume("second", url)
	if log := b.log("first"); !strings.Contains(log, "waiting") {
		t.Errorf("the pod did not survive: %q", log)
	}
	pid, err := b.state.NodePID()
	if err != nil {
		t.Fatal(err)
	}
	b.end(pid)
	b.run("status after the node was killed", false, "status")
	b.up("up after the node was killed")
	b.run("load-image", true, "load-image", archive)
	b.prepareNamespace()
	b.podWithVolume("third", "")

	if err := os.Remove(b.state.recordFile()); err != nil {
		t.Fatal(err)
	}
	b.run("down without a record", true, "down")
	b.mustBeGone()
}
