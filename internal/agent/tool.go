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

// knownTool caches the tool after it was found to work, so that a conductor that reconnects during a step does not
// disturb the measurement.
type knownTool struct {
	mu   sync.Mutex
	tool *agentapi.Tool
	// file identifies the tool's executable.
	file os.FileInfo
}

// version returns the cached version of the tool; empty if it was not read yet.
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

// maxAnswerBytes limits the bytes that are kept of a program's output.
const maxAnswerBytes = 256

// ask runs a program, returns its standard output, and kills any processes that it left running.
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
	// A wrapper script may have left processes running.
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

// checkedFio returns the path of fio. It fails if the executable has changed after the agent reported its version.
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
