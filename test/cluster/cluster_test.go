package cluster

import (
	"os"
	"strings"
	"testing"
	"time"

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
	b.mustBeQuick("up again", 2*time.Second, "up")

	archive := b.probeArchive()
	b.mustBeQuick("load-image", 10*time.Second, "load-image", archive)
	b.mustBeQuick("load-image again", 2*time.Second, "load-image", archive)
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
	b.mustBeQuick("down again", 2*time.Second, "down")

	b.up("up once more")
	if err := os.Remove(b.state.recordFile()); err != nil {
		t.Fatal(err)
	}
	b.run("down without a record", true, "down")
	b.mustBeGone()
}
