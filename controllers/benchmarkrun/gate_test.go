package benchmarkrun

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

// gate keeps a step going until the test opens it.
type gate struct{ folder string }

func newGate(t *testing.T) gate {
	t.Helper()
	return gate{t.TempDir()}
}

// load is a program that writes, says that it runs, and waits at the gate.
func (g gate) load() v1alpha1.Engine {
	return program(`echo data >"$0/file"; touch "$1/entered-$2"; until [ -e "$1/open" ]; do sleep 0.1; done`, "$(DATA)", g.folder, "$(CLIENT)")
}

// program is a script with its arguments, from $0 on.
func program(script string, arguments ...string) v1alpha1.Engine {
	return v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: append([]string{"sh", "-c", script}, arguments...)}}
}

// benchmark is a layout and a write of two clients, which goes on until the gate is open.
func (g gate) benchmark() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("data").Clients(2).Prepare("layout").Steady("write", "10m").WithLoad(g.load())
}

// waitFor waits until clients are at the gate, and the run says that its step runs.
func (g gate) waitFor(w *world, run *v1alpha1.BenchmarkRun, clients ...int) {
	w.Helper()
	for _, client := range clients {
		w.wait(fmt.Sprintf("client %d is not at the gate", client), func() bool {
			_, err := os.Stat(filepath.Join(g.folder, fmt.Sprintf("entered-%d", client)))
			return err == nil
		}, func() {
			w.until(run, "there", func() bool { return true })
			w.Logf("%+v", run.Status)
		})
	}
	w.until(run, "writing", running(run, "01-write"))
}

// open lets all through, also those that come later.
func (g gate) open(t *testing.T) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(g.folder, "open"), nil, 0o600))
}
