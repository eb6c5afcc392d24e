package tool

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

const (
	// askTimeout bounds describing the tools: asking a tool for its version takes seconds while a node starts many
	// pods. Together with the time for describing the volumes it is shorter than the conductor's timeout.
	askTimeout = 15 * time.Second
	// MaxAnswerBytes limits the bytes that are kept of a program's answer.
	MaxAnswerBytes = 256
)

// Ask runs a program by start, returns its standard output, and kills any processes that it left running.
func Ask(ctx context.Context, command *exec.Cmd, start func(*exec.Cmd) (Program, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer := &Tail{Limit: MaxAnswerBytes}
	command.Stdout = answer
	command.WaitDelay = askTimeout / 15
	program, err := start(command)
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = program.Kill() })
	defer stop()
	exit := program.Wait()
	// A wrapper script may have left processes running.
	_ = program.Kill()
	if code, _ := exit.Result(); code != 0 {
		err = errors.New(exit.String())
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return answer.String(), err
}

// BareEnvironment is the environment of a tool that needs nothing but its programs.
func BareEnvironment() []string { return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"} }
