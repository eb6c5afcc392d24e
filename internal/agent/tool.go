package agent

import (
	"context"
	"os/exec"
	"strings"
	"sync"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

// knownTool remembers the tool once it was found to be good, so that a conductor that connects
// again in the middle of a step costs the measurement nothing.
type knownTool struct {
	mu   sync.Mutex
	tool *agentapi.Tool
}

// version is the tool's, where somebody has asked for it.
func (k *knownTool) version() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tool.GetVersion()
}

// describeFio finds the program and its version.
func (a *Agent) describeFio(ctx context.Context) *agentapi.Tool {
	a.tool.mu.Lock()
	defer a.tool.mu.Unlock()
	if a.tool.tool != nil {
		return a.tool.tool
	}
	found := a.askFio(ctx)
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

// maxAnswerBytes is how much of a program's answer is read.
const maxAnswerBytes = 256

// ask runs a program that answers on its standard output, and leaves nothing of it behind.
func ask(ctx context.Context, path string, arguments ...string) (string, error) {
	return askIn(ctx, "", toolEnvironment(), path, arguments...)
}

// askIn is ask in a directory and an environment.
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
	// A script may have left something running.
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
