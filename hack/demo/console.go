package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// console reports progress as plain lines, which look the same on a terminal and in a log.
type console struct {
	out   io.Writer
	began time.Time
	// step is the number of the current step, and steps is the total number of steps.
	step, steps int
}

// begin prints the title of the next step.
func (c *console) begin(title string) {
	c.step++
	_, _ = fmt.Fprintf(c.out, "\n== %d/%d %s\n", c.step, c.steps, title)
}

// say prints a line with the time since the start.
func (c *console) say(format string, arguments ...any) {
	_, _ = fmt.Fprintf(c.out, "%5.0fs  %s\n", time.Since(c.began).Seconds(), fmt.Sprintf(format, arguments...))
}

// command returns a command whose process receives SIGINT when the demo is interrupted, so that the process can clean
// up. A process that is still running 30 s later is killed.
func (c *console) command(ctx context.Context, program string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGINT) }
	command.WaitDelay = 30 * time.Second
	return command
}

func (c *console) show(program string, arguments []string) {
	c.say("$ %s", strings.Join(append([]string{program}, arguments...), " "))
}

// passed runs a program and shows its output as it is written.
func (c *console) passed(ctx context.Context, program string, arguments ...string) error {
	c.show(program, arguments)
	command := c.command(ctx, program, arguments...)
	command.Stdout, command.Stderr = c.out, os.Stderr
	return failure(command.Run(), program, "")
}

// quiet runs a program and shows its output only if it fails.
func (c *console) quiet(ctx context.Context, program string, arguments ...string) error {
	c.show(program, arguments)
	out, err := c.command(ctx, program, arguments...).CombinedOutput()
	return failure(err, program, string(out))
}

// output runs a program and returns the last line of its standard output. It shows the program's standard error.
func (c *console) output(ctx context.Context, program string, arguments ...string) (string, error) {
	c.show(program, arguments)
	command := c.command(ctx, program, arguments...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := command.Run(); err != nil {
		return "", failure(err, program, "")
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[len(lines)-1], nil
}

func failure(err error, program, said string) error {
	if err == nil {
		return nil
	}
	if said != "" {
		return fmt.Errorf("%s: %w\n%s", program, err, strings.TrimSpace(said))
	}
	return fmt.Errorf("%s: %w", program, err)
}
