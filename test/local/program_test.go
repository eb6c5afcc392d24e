package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/report"
)

var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		directory, err := os.MkdirTemp("", "storagebench-test-")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(directory) }()
		program = filepath.Join(directory, "kubectl-storagebench")
		if output, err := exec.Command("go", "build", "-o", program, "../../cmd/kubectl-storagebench").CombinedOutput(); err != nil {
			panic(fmt.Sprintf("build: %v\n%s", err, output))
		}
		return m.Run()
	}())
}

// outcome is what a command left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// call runs the program to its end.
func call(t *testing.T, arguments ...string) outcome {
	t.Helper()
	return start(t, arguments...).wait(t)
}

type running struct {
	command        *exec.Cmd
	stdout, stderr safeBuffer
}

// safeBuffer can be read while it is written.
type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// until waits for words on standard error.
func (r *running) until(t *testing.T, words string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(r.stderr.String(), words); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never said %q:\n%s", words, r.stderr.String())
		}
	}
}

func start(t *testing.T, arguments ...string) *running {
	t.Helper()
	r := &running{command: exec.Command(program, arguments...)}
	r.command.Stdout, r.command.Stderr = &r.stdout, &r.stderr
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *running) wait(t *testing.T) outcome {
	t.Helper()
	return r.waitFor(t, 2*time.Minute)
}

func (r *running) waitFor(t *testing.T, patience time.Duration) outcome {
	t.Helper()
	timer := time.AfterFunc(patience, func() { _ = r.command.Process.Signal(syscall.SIGQUIT) })
	defer timer.Stop()
	err := r.command.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{code: r.command.ProcessState.ExitCode(), stdout: r.stdout.String(), stderr: r.stderr.String()}
}

// document reads the result that a run with -o json printed.
func (o outcome) document(t *testing.T) report.Document {
	t.Helper()
	document, err := report.Read(strings.NewReader(o.stdout))
	if err != nil {
		t.Fatalf("%v\nexit code %d\n%s%s", err, o.code, o.stdout, o.stderr)
	}
	return document
}

// write makes a file with a benchmark; the pairs replace parts of the usual one.
func write(t *testing.T, replacements ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(name, []byte(strings.NewReplacer(replacements...).Replace(usual)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const usual = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: usual}
spec:
  run:
    targets: [{name: data, volumes: [{name: data, claimName: data}], dataPolicy: Delete}]
    clients: {count: 2, spread: Any}
    workload: &load {fio: {pattern: Random, readPercent: 50, blockSize: 4Ki, jobs: 1, queueDepth: 4, datasetSize: 8Mi}}
    phases:
    - {name: layout, prepare: {}}
    - {name: mixed, steady: {duration: 2s, warmUp: 1s}}
`

// empty checks that a directory holds nothing.
func empty(t *testing.T, directory string) {
	t.Helper()
	var left []string
	err := filepath.WalkDir(directory, func(path string, _ os.DirEntry, err error) error {
		if path != directory {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("these are left:\n%s", strings.Join(left, "\n"))
	}
}
