package fio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// liveFio is a running fio that a test started.
type liveFio struct {
	command *exec.Cmd
	stream  *Stream
	stderr  bytes.Buffer
	done    chan error
	// documents grows while fio runs: read it only after wait. read counts its documents and is safe at any time.
	documents []*Document
	read      atomic.Int64
}

// startFio feeds a job to a real fio in a directory, as the agent does.
func startFio(t *testing.T, directory, job string, arguments ...string) *liveFio {
	t.Helper()
	return startFioOn(t, directory, strings.NewReader(job), arguments...)
}

// startFioOn is startFio with the job from a reader, which may delay it.
func startFioOn(t *testing.T, directory string, job io.Reader, arguments ...string) *liveFio {
	t.Helper()
	path, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("fio is not installed")
	}
	if len(arguments) == 0 {
		arguments = Arguments(time.Second)
	}
	live := &liveFio{command: exec.CommandContext(t.Context(), path, arguments...), stream: &Stream{}, done: make(chan error, 1)}
	live.command.Dir = directory
	live.command.Stdin = job
	live.command.Stderr = &live.stderr
	live.command.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	live.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	live.command.Cancel = func() error { return syscall.Kill(-live.command.Process.Pid, syscall.SIGKILL) }
	stdout, err := live.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := live.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		chunk := make([]byte, 32<<10)
		for {
			n, err := stdout.Read(chunk)
			_, _ = live.stream.Write(chunk[:n])
			live.documents = append(live.documents, live.stream.Documents()...)
			live.read.Store(int64(len(live.documents)))
			if err != nil {
				live.done <- live.command.Wait()
				return
			}
		}
	}()
	return live
}

// wait waits for fio to exit and returns its output and exit status.
func (l *liveFio) wait(t *testing.T) (Output, Exit) {
	t.Helper()
	err := <-l.done
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return l.stream.Close(), exitOf(l.command.ProcessState)
}

func exitOf(state *os.ProcessState) Exit {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Signal: status.Signal()}
	}
	return Exit{Code: state.ExitCode()}
}

// jobProcesses returns the PIDs of the processes that fio forked.
func (l *liveFio) jobProcesses(t *testing.T) []int {
	t.Helper()
	pid := l.command.Process.Pid
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	var children []int
	for _, field := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	return children
}

// recording is one recorded run of fio in testdata/runs.
type recording struct {
	name   string
	stdout []byte
	stderr string
	exit   Exit
}

func recordings(tb testing.TB) []recording {
	tb.Helper()
	paths, err := filepath.Glob("testdata/runs/*.stdout")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no recorded runs: %v", err)
	}
	var all []recording
	for _, path := range paths {
		all = append(all, readRecording(tb, strings.TrimSuffix(filepath.Base(path), ".stdout")))
	}
	return all
}

func readRecording(tb testing.TB, name string) recording {
	tb.Helper()
	read := func(extension string) []byte { return readFile(tb, filepath.Join("testdata/runs", name+extension)) }
	code, err := strconv.Atoi(strings.TrimSpace(string(read(".exit"))))
	if err != nil {
		tb.Fatal(err)
	}
	exit := Exit{Code: code}
	if code > stoppedCode {
		exit = Exit{Signal: syscall.Signal(code - stoppedCode)} // shells report a signal this way
	}
	return recording{name: name, stdout: read(".stdout"), stderr: string(read(".stderr")), exit: exit}
}

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}
