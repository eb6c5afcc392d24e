package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// knownPrograms caches the MPI tools that were found to work.
type knownPrograms struct {
	mu    sync.Mutex
	tools map[string]*agentapi.Tool
}

// version returns the cached version of a program, or "" if it has not been read yet.
func (k *knownPrograms) version(name string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tools[name].GetVersion()
}

// Describe implements tool.Tool.
func (t *Tool) Describe(ctx context.Context) []*agentapi.Tool {
	names := append([]string{"mpirun"}, rankPrograms...)
	found := make([]*agentapi.Tool, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { found[i] = t.describe(ctx, name) })
	}
	all.Wait()
	return found
}

// describe finds an MPI tool and its version.
func (t *Tool) describe(ctx context.Context, name string) *agentapi.Tool {
	t.known.mu.Lock()
	known := t.known.tools[name]
	t.known.mu.Unlock()
	if known != nil {
		return known
	}
	found := &agentapi.Tool{Name: name}
	path, err := t.find(name)
	if err != nil {
		found.Problem = missingTool(name, err)
		return found
	}
	found.Path = path
	if name == "mpirun" {
		version, err := t.askMPI(ctx, path)
		if err != nil {
			found.Problem = err.Error()
			return found
		}
		found.Version = version.text
	} else {
		version, err := t.askRankProgram(ctx, name, path)
		if err != nil {
			return found // Do not cache an unknown version: the next call asks the program again.
		}
		found.Version = version
	}
	t.known.mu.Lock()
	defer t.known.mu.Unlock()
	if t.known.tools == nil {
		t.known.tools = map[string]*agentapi.Tool{}
	}
	t.known.tools[name] = found
	return found
}

func missingTool(name string, err error) string {
	return fmt.Sprintf("%s is not in this image or on this machine (%s); use an image with Open MPI and IOR", name, err)
}

func (t *Tool) askMPI(ctx context.Context, path string) (version, error) {
	answer, err := t.ask(ctx, os.TempDir(), t.environment(os.TempDir()), path, "--version")
	if err != nil {
		if answer != "" {
			err = fmt.Errorf("%w (%s)", err, clip(answer))
		}
		return version{}, fmt.Errorf("%s --version failed: %w", path, err)
	}
	return parseVersion(answer)
}

// rankProgramQuestions holds the arguments with which IOR and mdtest print their version. Neither program has a version
// option, so each runs an almost empty job that only uses memory.
var rankProgramQuestions = map[string][]string{
	"ior":    ior.VersionArguments(),
	"mdtest": {"-a", "DUMMY", "-C", "-F", "-n", "1", "-d", "nothing"},
}

var rankProgramVersion = regexp.MustCompile(`(?m)^(?:IOR|mdtest)-([0-9][0-9A-Za-z.+-]{0,31})`)

// askRankProgram returns the version of IOR or mdtest, or "" if the program does not print it outside MPI. A step needs
// only the program, not its version. It returns an error if it could not create a scratch directory, or if the program
// did not answer in time.
func (t *Tool) askRankProgram(ctx context.Context, name, path string) (string, error) {
	scratch, err := os.MkdirTemp("", scratchPattern)
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	environment := t.environment(scratch, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self")
	answer, err := t.ask(ctx, scratch, environment, path, rankProgramQuestions[name]...)
	if found := rankProgramVersion.FindStringSubmatch(answer); found != nil {
		return found[1], nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "", err
	}
	return "", nil
}

// ask runs a program in a directory and returns what it prints.
func (t *Tool) ask(ctx context.Context, directory string, environment []string, path string, arguments ...string) (string, error) {
	command := exec.Command(path, arguments...)
	command.Dir, command.Env = directory, environment
	return tool.Ask(ctx, command, t.system.Start)
}
