package fio

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// knownFio caches the description of fio once fio was found to work. Otherwise, a conductor that reconnects during a
// step would make the agent start fio again and disturb the measurement.
type knownFio struct {
	mu   sync.Mutex
	tool *agentapi.Tool
	// file identifies the tool's executable.
	file os.FileInfo
}

// version returns the cached version of fio, or "" if it has not been read yet.
func (k *knownFio) version() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tool.GetVersion()
}

// describe finds fio and its version.
func (t *Tool) describe(ctx context.Context) *agentapi.Tool {
	t.known.mu.Lock()
	defer t.known.mu.Unlock()
	if t.known.tool != nil {
		return t.known.tool
	}
	found := t.askFio(ctx)
	t.known.file, _ = os.Stat(found.GetPath())
	if found.GetProblem() == "" {
		t.known.tool = found
	}
	return found
}

func (t *Tool) askFio(ctx context.Context) *agentapi.Tool {
	found := &agentapi.Tool{Name: "fio"}
	path, err := t.fioPath()
	if err != nil {
		found.Problem = "fio is not in this image or on this machine (" + err.Error() + "); install the package fio, and check --fio and PATH"
		return found
	}
	found.Path = path
	command := exec.Command(path, "--version")
	command.Env = tool.BareEnvironment()
	version, err := tool.Ask(ctx, command, tool.ThisMachine{}.Start)
	if err != nil {
		found.Problem = path + " --version failed: " + err.Error()
		return found
	}
	found.Version = strings.ToValidUTF8(strings.TrimSpace(version), "?")
	if !strings.HasPrefix(found.GetVersion(), "fio-") {
		found.Problem = path + " is not fio: its version is " + found.GetVersion() + "; install the package fio, and check --fio and PATH"
	}
	return found
}

// fioPath returns the absolute path of fio, because fio is not started in the agent's working directory.
func (t *Tool) fioPath() (string, error) {
	path, err := exec.LookPath(cmp.Or(t.env.Config.FioPath, "fio"))
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// checkedFio returns the path of fio. It fails if the executable has changed since the agent reported its version.
func (t *Tool) checkedFio() (string, error) {
	path, err := t.fioPath()
	if err != nil {
		return "", fmt.Errorf("find fio: %w", err)
	}
	t.known.mu.Lock()
	defer t.known.mu.Unlock()
	if t.known.tool.GetPath() != path || t.known.file == nil {
		return path, nil
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(now, t.known.file) {
		return "", fmt.Errorf("%s is no longer the %s that this run began with; start a new run",
			path, t.known.tool.GetVersion())
	}
	return path, nil
}
