package agent

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

	"github.com/storagebench/storagebench/internal/process"
)

// File descriptors of `agent tend`, beside the usual three.
const (
	// tendGo is read before the program is started: a byte starts it, the end says that it is not wanted.
	tendGo = 3
	// tendSaid is told when it was started and how it ended; see tendNews.
	tendSaid = 4
)

// Words of what `agent tend` tells, one a line.
const (
	tendStarted = "started"
	tendFailed  = "failed"
	tendEnded   = "ended"
	tendLeft    = "left"
	tendCounted = "counted"
)

const (
	// tendFailure is the exit code of a program that could not be started, as of shells.
	tendFailure = 127
	// tendTimeout bounds the end of what a program has left behind.
	tendTimeout = 5 * time.Second
	// maxLeftNamed of what was left are named.
	maxLeftNamed = 5
)

// Tend is `agent tend PATH ARGV0 ARGUMENTS...`: it runs a program of the user's and is the parent of all that it
// starts, whoever else loses it. The kernel adds the I/O of a child to its parent's when that waits for it; so
// what any of them did, however short it lived, can be read of this process, to the end. It returns its exit
// code: the program's.
func Tend(arguments []string) int {
	// The program is killed with the thread that has started it; it is this one, which ends last.
	runtime.LockOSThread()
	syscall.CloseOnExec(tendGo)
	syscall.CloseOnExec(tendSaid)
	said := os.NewFile(tendSaid, "said")
	if len(arguments) < 2 || said == nil {
		fmt.Fprintln(os.Stderr, "error: tend is for the agent alone: want a path and the words of a command line")
		return tendFailure
	}
	say := func(word, text string) {
		// Nobody listens any more where that fails; then this process is about to be killed.
		_, _ = fmt.Fprintln(said, word+" "+strings.ReplaceAll(text, "\n", " "))
	}
	if err := process.SetSubreaper(); err != nil {
		say(tendFailed, err.Error())
		return tendFailure
	}
	// A signal for the whole group is the program's to act on. It is caught and not ignored: what is ignored
	// stays so in programs that are started.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if !told(os.NewFile(tendGo, "go")) {
		return 0
	}
	started, err := os.StartProcess(arguments[0], arguments[1:], &os.ProcAttr{ //nolint:gosec // To run what the user gave is what it is for.
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		say(tendFailed, err.Error())
		return tendFailure
	}
	say(tendStarted, "")
	status, err := waitFor(started.Pid)
	if err != nil {
		say(tendFailed, err.Error())
		return tendFailure
	}
	signalled := 0
	if status.Signaled() {
		signalled = int(status.Signal())
	}
	say(tendEnded, fmt.Sprintf("%d %d", max(status.ExitStatus(), 0), signalled))
	if left := endLeft(); left != "" {
		say(tendLeft, left)
	}
	// Told and not left to be read of us once we have ended: some kernels allow that to root alone.
	if counters, err := process.ReadIO(os.Getpid()); err == nil {
		if text, err := json.Marshal(counters); err == nil {
			say(tendCounted, string(text))
		}
	}
	if signalled != 0 {
		return 128 + signalled
	}
	return status.ExitStatus()
}

// told waits for the word to start.
func told(from *os.File) bool {
	if from == nil {
		return false
	}
	defer func() { _ = from.Close() }()
	count, _ := from.Read(make([]byte, 1))
	return count == 1
}

// waitFor collects all that ends until the program itself has.
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

// endLeft collects what has ended and kills what lives on, and names it.
func endLeft() string {
	for {
		ended, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) || ended > 0 {
			continue
		}
		if err != nil {
			return "" // there is nothing left
		}
		break
	}
	below, err := process.Descendants(os.Getpid())
	if err != nil {
		return "it could not be seen what it left: " + err.Error()
	}
	var names []string
	for _, one := range below {
		names = append(names, one.Command)
	}
	text := strings.Join(names[:min(len(names), maxLeftNamed)], ", ")
	if more := len(names) - maxLeftNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	ctx, cancel := context.WithTimeout(context.Background(), tendTimeout)
	defer cancel()
	if err := process.KillDescendants(ctx, os.Getpid()); err != nil {
		text += "; " + err.Error()
	}
	return text
}
