package benchmarkrun

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

// gate keeps a step running until the test opens the gate. It is a named pipe: opening it for reading blocks until
// there is a writer.
type gate struct{ folder string }

func newGate(t *testing.T) gate {
	t.Helper()
	g := gate{t.TempDir()}
	must(t, syscall.Mkfifo(g.pipe(), 0o600))
	return g
}

func (g gate) pipe() string { return filepath.Join(g.folder, "open") }

// load returns a program that writes, creates a file to report that it has arrived, and waits at the gate.
func (g gate) load() v1alpha1.Engine {
	return program(`echo data >"$0/file"; touch "$1/entered-$2"; : <"$1/open"`, "$(DATA)", g.folder, "$(CLIENT)")
}

// program returns a load that runs a shell script. The arguments are $0, $1 and so on.
func program(script string, arguments ...string) v1alpha1.Engine {
	return v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: append([]string{"sh", "-c", script}, arguments...)}}
}

// brief returns a benchmark with two clients that each write a few bytes.
func brief() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("data").Clients(2).Steady("write", "10m").WithLoad(program(`echo data >"$0/file"`, "$(DATA)"))
}

// benchmark returns a benchmark of two clients with a layout and a write. The write continues until the gate is open.
func (g gate) benchmark() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("data").Clients(2).Prepare("layout").Steady("write", "10m").WithLoad(g.load())
}

// waitFor waits until the given clients are at the gate and the run reports that its step is running.
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

// open opens the gate for all clients, including those that arrive later.
func (g gate) open(t *testing.T) {
	t.Helper()
	writer, err := os.OpenFile(g.pipe(), os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { _ = writer.Close() })
}
