package tool

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

const (
	// askTimeout limits the time for describing the tools. While a node starts many pods, a tool can need several
	// seconds to print its version. The sum of this timeout and the one for describing the volumes is shorter than the
	// conductor's timeout.
	askTimeout = 15 * time.Second
	// MaxAnswerBytes limits how much of a program's output is kept.
	MaxAnswerBytes = 256
)

// Ask starts a program by calling start, returns its standard output, and kills any processes that it left running.
func Ask(ctx context.Context, command *exec.Cmd, start func(*exec.Cmd) (Program, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer := &Tail{Limit: MaxAnswerBytes}
	command.Stdout = answer
	// With a shorter WaitDelay, the output could be lost if the machine stalls for a moment.
	command.WaitDelay = askTimeout
	program, err := start(command)
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = program.Kill() })
	defer stop()
	exit := program.Wait()
	// The program may be a wrapper script that has left processes running, so kill them.
	_ = program.Kill()
	switch code, _ := exit.Result(); {
	case code != 0:
		err = errors.New(exit.String())
	case exit.Cut:
		err = errors.New("the program exited, but its output stayed open")
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return answer.String(), err
}

// BareEnvironment returns the environment of a tool that needs only PATH.
func BareEnvironment() []string { return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"} }
