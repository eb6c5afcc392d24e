package fio

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/process"
)

// spawning holds the settings for spawning a fio process that waits for its job.
type spawning struct {
	path      string
	arguments []string
	directory string
	// timeout limits how long to wait for leftover descendants of a killed fio process.
	timeout time.Duration
	// locks are inherited by fio, so that the volumes stay locked until fio has exited.
	locks []*os.File
}

// equals reports whether fio processes spawned with s and with other are interchangeable.
func (s spawning) equals(other spawning) bool {
	return s.path == other.path && slices.Equal(s.arguments, other.arguments) && s.directory == other.directory
}

// howToSpawn returns the settings for spawning the fio process of a step.
func (t *Tool) howToSpawn(step *tool.Step, files files) (spawning, error) {
	path, err := t.checkedFio()
	if err != nil {
		return spawning{}, err
	}
	return spawning{path: path,
		arguments: fio.Arguments(time.Duration(step.Request.GetFio().GetSampleIntervalNanoseconds())),
		directory: files.Path(), timeout: t.env.Timeouts.Gone, locks: files.Locks()}, nil
}

// waitingFio is a fio process that has no job yet. It waits for its job on standard input, and touches no file until it
// has the job. If its input ends without a job, for example because the agent died, fio exits.
type waitingFio struct {
	how     spawning
	command *exec.Cmd
	handle  *process.Handle
	stdin   io.WriteCloser
	stdout  io.ReadCloser
	stderr  *tool.Tail
}

func (s spawning) spawn() (*waitingFio, error) {
	waiting := &waitingFio{how: s, command: exec.Command(s.path, s.arguments...),
		stderr: &tool.Tail{Limit: tool.MessageBytes}}
	waiting.command.Dir = s.directory
	waiting.command.Env = tool.BareEnvironment()
	waiting.command.Stderr = waiting.stderr
	waiting.command.ExtraFiles = s.locks
	// Processes that fio leaves running may keep its standard error open forever, so limit how long Wait waits for
	// standard error to be closed.
	waiting.command.WaitDelay = s.timeout / 2
	var err error
	if waiting.stdout, err = waiting.command.StdoutPipe(); err != nil {
		return nil, fmt.Errorf("make a pipe to fio: %w", err)
	}
	if waiting.stdin, err = waiting.command.StdinPipe(); err != nil {
		_ = waiting.stdout.Close()
		return nil, fmt.Errorf("make a pipe to fio: %w", err)
	}
	if waiting.handle, err = process.Start(waiting.command); err != nil {
		return nil, err
	}
	return waiting, nil
}

// worksIn returns the working directory of the fio process, even if that directory has been moved since fio started.
func (w *waitingFio) worksIn() (os.FileInfo, error) {
	return os.Stat(fmt.Sprintf("/proc/%d/cwd", w.handle.PID()))
}

// lives reports whether fio is still running and waiting for its job.
func (w *waitingFio) lives() bool {
	select {
	case <-w.handle.Exited():
		return false
	default:
		return true
	}
}

// discard ends a fio process whose output was never read.
func (w *waitingFio) discard() {
	_ = w.stdin.Close()
	_ = w.handle.Kill()
	_ = w.stdout.Close()
	waited := make(chan struct{})
	go func() {
		_ = w.handle.Wait()
		close(waited)
	}()
	select {
	case <-waited:
	case <-time.After(w.how.timeout):
	}
}
