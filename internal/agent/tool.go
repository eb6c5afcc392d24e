package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

// knownTool remembers the tool once it was found to work, so that a conductor that reconnects in the middle of a step
// does not disturb the measurement.
type knownTool struct {
	mu   sync.Mutex
	tool *agentapi.Tool
	// file is the program of the tool.
	file os.FileInfo
}

// version returns the version of the tool if it was asked for before; else it is empty.
func (k *knownTool) version() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tool.GetVersion()
}

// describeFio finds fio and its version.
func (a *Agent) describeFio(ctx context.Context) *agentapi.Tool {
	a.tool.mu.Lock()
	defer a.tool.mu.Unlock()
	if a.tool.tool != nil {
		return a.tool.tool
	}
	found := a.askFio(ctx)
	a.tool.file, _ = os.Stat(found.GetPath())
	if found.GetProblem() == "" {
		a.tool.tool = found
	}
	return found
}

func (a *Agent) askFio(ctx context.Context) *agentapi.Tool {
	tool := &agentapi.Tool{Name: "fio"}
	path, err := a.fioPath()
	if err != nil {
		tool.Problem = "fio is not in this image or on this machine (" + err.Error() + "); install the package fio"
		return tool
	}
	tool.Path = path
	said, err := ask(ctx, path, "--version")
	if err != nil {
		tool.Problem = path + " --version failed: " + err.Error()
		return tool
	}
	tool.Version = strings.ToValidUTF8(strings.TrimSpace(said), "?")
	if !strings.HasPrefix(tool.GetVersion(), "fio-") {
		tool.Problem = path + " is not fio: its version is " + tool.GetVersion()
	}
	return tool
}

// maxAnswerBytes is how many bytes of a program's output are kept.
const maxAnswerBytes = 256

// ask runs a program, returns its standard output, and leaves no process of it behind.
func ask(ctx context.Context, path string, arguments ...string) (string, error) {
	return askIn(ctx, "", toolEnvironment(), path, arguments...)
}

// askIn is ask in a given directory and environment.
func askIn(ctx context.Context, directory string, environment []string, path string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer := &tail{limit: maxAnswerBytes}
	command := exec.CommandContext(ctx, path, arguments...)
	command.Env, command.Dir = environment, directory
	command.Stdout = answer
	command.WaitDelay = askTimeout / 15
	handle, err := process.Start(command)
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = handle.Kill() })
	defer stop()
	err = handle.Wait()
	// A script may have left processes running.
	_ = handle.Kill()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return answer.String(), err
}

func (a *Agent) fioPath() (string, error) {
	name := a.config.FioPath
	if name == "" {
		name = "fio"
	}
	return exec.LookPath(name)
}

// checkedFio returns the path of fio. It refuses a program that has replaced the one whose version the agent has told.
func (a *Agent) checkedFio() (string, error) {
	path, err := a.fioPath()
	if err != nil {
		return "", fmt.Errorf("find fio: %w", err)
	}
	a.tool.mu.Lock()
	defer a.tool.mu.Unlock()
	if a.tool.tool.GetPath() != path || a.tool.file == nil {
		return path, nil
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(now, a.tool.file) {
		return "", fmt.Errorf("%s is another file than the %s that this run began with; start a new run", path, a.tool.tool.GetVersion())
	}
	return path, nil
}
