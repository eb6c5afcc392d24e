package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/hang"
	"github.com/storagebench/storagebench/test/invariants"
	"github.com/storagebench/storagebench/test/output"
)

// Program is the built kubectl-storagebench, while Main runs.
var Program string

// Main builds the program, runs the tests and returns their exit code.
func Main(m *testing.M) int {
	directory, err := os.MkdirTemp("", "storagebench-test-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(directory) }()
	Program = filepath.Join(directory, "kubectl-storagebench")
	const source = "github.com/storagebench/storagebench/cmd/kubectl-storagebench"
	if output, err := exec.Command("go", "build", "-o", Program, source).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build: %v\n%s", err, output))
	}
	return m.Run()
}

// Outcome is the exit code and the output of a command.
type Outcome struct {
	Code           int
	Stdout, Stderr string
}

// Call runs the program to its end.
func Call(t *testing.T, arguments ...string) Outcome {
	t.Helper()
	return Start(t, arguments...).Wait(t)
}

// Running is a started program.
type Running struct {
	command        *exec.Cmd
	stdout, stderr output.Buffer
	ended          chan struct{}
	err            error // once it has ended
}

// Start starts the program. It is interrupted if it still runs when the test ends.
func Start(t *testing.T, arguments ...string) *Running {
	t.Helper()
	return startCommand(t, exec.Command(Program, arguments...))
}

// startCommand is Start for a command that starts the program in another way or has its own standard error.
func startCommand(t *testing.T, command *exec.Cmd) *Running {
	t.Helper()
	r := &Running{command: command, ended: make(chan struct{})}
	r.command.Stdout = &r.stdout
	if r.command.Stderr == nil {
		r.command.Stderr = &r.stderr
	}
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		r.err = r.command.Wait()
	}()
	t.Cleanup(func() {
		_ = r.command.Process.Signal(os.Interrupt) // most have ended already
		<-r.ended
	})
	return r
}

// Until waits until standard error contains the words.
func (r *Running) Until(t *testing.T, words string) {
	t.Helper()
	r.UntilFact(t, fmt.Sprintf("standard error says %q", words), func() bool { return strings.Contains(r.stderr.String(), words) })
}

// UntilFact waits until a fact holds. It fails the test if the program ends before.
func (r *Running) UntilFact(t *testing.T, fact string, holds func() bool) {
	t.Helper()
	hang.Until(t, fact, func() bool {
		select {
		case <-r.ended:
			t.Fatalf("the program has ended before: %s\n%s%s", fact, r.stdout.String(), r.stderr.String())
		default:
		}
		return holds()
	})
}

// Signal sends a signal to the program.
func (r *Running) Signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := r.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Wait waits for the end of the program. If the program hangs, it makes it print its goroutines.
func (r *Running) Wait(t *testing.T) Outcome {
	t.Helper()
	return r.WaitFor(t, hang.Guard)
}

// WaitFor is Wait for a program that may take longer than others.
func (r *Running) WaitFor(t *testing.T, patience time.Duration) Outcome {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		_ = r.command.Process.Signal(syscall.SIGQUIT)
		<-r.ended
		t.Errorf("hung: the program has not ended in %s:\n%s", patience, r.stderr.String())
	}
	var exit *exec.ExitError
	if r.err != nil && !errors.As(r.err, &exit) {
		t.Fatal(r.err)
	}
	return Outcome{Code: r.command.ProcessState.ExitCode(), Stdout: r.stdout.String(), Stderr: r.stderr.String()}
}

// Document reads the result that a run with -o json printed.
func (o Outcome) Document(t *testing.T) report.Document {
	t.Helper()
	document, err := report.Read(strings.NewReader(o.Stdout))
	if err != nil {
		t.Fatalf("%v\nexit code %d\n%s%s", err, o.Code, o.Stdout, o.Stderr)
	}
	// The operator stores the same status, so the API must accept it.
	invariants.CheckObject(t, &v1alpha1.BenchmarkRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.BenchmarkRunKind},
		ObjectMeta: metav1.ObjectMeta{Name: document.Run, Namespace: document.Namespace},
		Spec:       document.Spec, Status: document.BenchmarkRunStatus,
	})
	return document
}

// ValidButForLoad checks that a run is complete, met its objectives and is valid, or is not valid only because of what
// load can cause.
func ValidButForLoad(t *testing.T, got Outcome) report.Document {
	t.Helper()
	document := got.Document(t)
	want := report.ExitMet
	if invariants.DisqualifiedByLoad(t, document.Phases) {
		want = report.ExitInvalid
	}
	if got.Code != want {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	return document
}

// Write writes Usual to a file, with replacements, which are pairs of an old and a new text.
func Write(t *testing.T, replacements ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(name, []byte(strings.NewReplacer(replacements...).Replace(Usual)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Usual is the benchmark that most tests use.
const Usual = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: usual}
spec:
  run:
    targets: [{name: data, volumes: [{name: data, claimName: data}], dataPolicy: Delete}]
    clients: {count: 2, spread: Any}
    workload: &load {fio: {pattern: Random, readPercent: 50, blockSize: 4Ki, jobs: 1, queueDepth: 4, datasetSize: 8Mi}}
    phases:
    - {name: layout, prepare: {}}
    - {name: mixed, steady: {duration: 1s}}
`

// Empty checks that a directory is empty.
func Empty(t *testing.T, directory string) {
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
