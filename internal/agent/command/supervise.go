package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/process"
)

// File descriptors of `agent supervise`, in addition to standard input, standard output and standard error.
const (
	// superviseGo receives the start signal: one byte starts the program; end of file cancels it.
	superviseGo = 3
	// superviseReport carries the reports. Each report begins with a word such as superviseFailed.
	superviseReport = 4
)

// First words of the reports of `agent supervise`. Each report is one line.
const (
	superviseFailed  = "failed"
	superviseEnded   = "ended"
	superviseLeft    = "left"
	superviseCounted = "counted"
)

const (
	// superviseFailure is the exit code if the program cannot be started. Shells use the same exit code.
	superviseFailure = 127
	// superviseTimeout limits how long to try to kill processes that a program left running.
	superviseTimeout = 5 * time.Second
	// maxLeftNamed is the maximum number of leftover processes that a report names.
	maxLeftNamed = 5
)

// Supervise implements `agent supervise PATH ARGV0 ARGUMENTS...`: it runs a user's program and adopts every orphan that
// the program leaves. When a parent waits for a child, the kernel adds the child's I/O counters to the parent's. So in
// the end, this process's counters include the I/O of all descendants, however short-lived. Supervise returns the
// program's exit code.
func Supervise(arguments []string) int {
	// The program has a parent-death signal: the kernel kills it when the thread that started it ends. Keep the
	// goroutine on this thread, so that the thread does not end first.
	runtime.LockOSThread()
	syscall.CloseOnExec(superviseGo)
	syscall.CloseOnExec(superviseReport)
	reports := os.NewFile(superviseReport, "reports")
	if len(arguments) < 2 || reports == nil {
		fmt.Fprintln(os.Stderr, "error: supervise is only for use by the agent; specify a path and a command line")
		return superviseFailure
	}
	report := func(word, text string) {
		// Ignore write errors: they mean that the agent has stopped reading the reports and is about to kill this
		// process.
		_, _ = fmt.Fprintln(reports, word+" "+strings.ReplaceAll(text, "\n", " "))
	}
	if err := process.SetSubreaper(); err != nil {
		report(superviseFailed, err.Error())
		return superviseFailure
	}
	// A signal to the whole process group is meant for the program. Catch it here instead of ignoring it, because started
	// programs inherit ignored signals.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if !awaitStart(os.NewFile(superviseGo, "go")) {
		return 0
	}
	started, err := os.StartProcess(arguments[0], arguments[1:], &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		report(superviseFailed, err.Error())
		return superviseFailure
	}
	status, err := waitFor(started.Pid)
	if err != nil {
		report(superviseFailed, err.Error())
		return superviseFailure
	}
	before, unread := process.ReadThreadIO()
	signalled := 0
	if status.Signaled() {
		signalled = int(status.Signal())
	}
	report(superviseEnded, fmt.Sprintf("%d %d", max(status.ExitStatus(), 0), signalled))
	if left := endLeft(); left != "" {
		report(superviseLeft, left)
	}
	// Report the counters now, because some kernels let only root read them once this process has ended.
	if counters, err := process.ReadIO(os.Getpid()); err == nil {
		// Subtract the I/O of this thread, such as reading /proc in endLeft, because it is not the program's.
		if after, err := process.ReadThreadIO(); err == nil && unread == nil {
			counters = counters.Since(after.Since(before))
		}
		if text, err := json.Marshal(counters); err == nil {
			report(superviseCounted, string(text))
		}
	}
	if signalled != 0 {
		return 128 + signalled
	}
	return status.ExitStatus()
}

// awaitStart waits for the start signal, and reports whether it came.
func awaitStart(from *os.File) bool {
	if from == nil {
		return false
	}
	defer func() { _ = from.Close() }()
	count, _ := from.Read(make([]byte, 1))
	return count == 1
}

// waitFor reaps every child that exits, until the program itself has exited.
func waitFor(pid int) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		ended, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for the program: %w", err)
		case ended == pid && (status.Exited() || status.Signaled()):
			return status, nil
		}
	}
}

// endLeft reaps the exited processes that the program left behind, kills the running ones, and returns the names of the
// killed processes.
func endLeft() string {
	for {
		ended, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) || ended > 0 {
			continue
		}
		if err != nil {
			return "" // No children are left.
		}
		break
	}
	below, err := process.Descendants(os.Getpid())
	if err != nil {
		return "cannot determine which of its processes are still running: " + err.Error()
	}
	var names []string
	for _, one := range below {
		names = append(names, one.Command)
	}
	text := measure.FormatList(names, maxLeftNamed)
	ctx, cancel := context.WithTimeout(context.Background(), superviseTimeout)
	defer cancel()
	if err := process.KillDescendants(ctx, os.Getpid()); err != nil {
		text += "; " + err.Error()
	}
	return text
}
