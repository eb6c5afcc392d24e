package cluster

import (
	"os"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/binaries"
)

const (
	probeImage     = "storagebench.dev/test-probe:1"
	probeNamespace = "probe"
)

// The life of a cluster: up, used, used again, its parts killed, all of it
// killed, down with nothing left, even when nothing tells that it runs.
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

	for _, name := range []string{binaries.Kubelet, binaries.Containerd, binaries.APIServer} {
		b.kill(name)
		b.up("up after " + name + " was killed")
	}
	b.podWithVolume("third", url)
	if log := b.log("second"); !strings.Contains(log, "waiting") {
		t.Errorf("the pod did not live through it: %q", log)
	}
	b.kill(binaries.Cluster()...)
	b.up("up after everything was killed")
	b.podWithVolume("fourth", url)

	pid, err := b.state.NodePID()
	if err != nil {
		t.Fatal(err)
	}
	b.end(pid)
	b.run("status after the node was killed", false, "status")
	b.up("up after the node was killed")
	b.run("load-image", true, "load-image", archive)
	b.prepareNamespace()
	b.podWithVolume("fifth", "")

	b.run("down", true, "down")
	b.mustBeGone()
	b.run("down again", true, "down")

	b.up("up once more")
	if err := os.Remove(b.state.recordFile()); err != nil {
		t.Fatal(err)
	}
	b.run("down without a record", true, "down")
	b.mustBeGone()
}
