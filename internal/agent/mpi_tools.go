package agent

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// knownMPI caches the MPI tools that were found to work.
type knownMPI struct {
	mu    sync.Mutex
	tools map[string]*agentapi.Tool
}

// describeTools describes all tools. A missing tool is reported as a problem, which matters only to runs that need
// it.
func (a *Agent) describeTools(ctx context.Context) []*agentapi.Tool {
	if a.runner != nil {
		return a.simulatedTools()
	}
	names := append([]string{"mpirun"}, mpiPrograms...)
	tools := make([]*agentapi.Tool, len(names)+1)
	var all sync.WaitGroup
	all.Go(func() { tools[0] = a.describeFio(ctx) })
	for i, name := range names {
		all.Go(func() { tools[i+1] = a.describeMPI(ctx, name) })
	}
	all.Wait()
	return tools
}

// simulatedTools returns the runner's tools, cached like those of a real machine.
func (a *Agent) simulatedTools() []*agentapi.Tool {
	a.mpi.mu.Lock()
	defer a.mpi.mu.Unlock()
	a.mpi.tools = map[string]*agentapi.Tool{}
	for _, tool := range a.runner.Tools() {
		a.mpi.tools[tool.GetName()] = tool
	}
	return a.runner.Tools()
}

// describeMPI finds an MPI tool and its version.
func (a *Agent) describeMPI(ctx context.Context, name string) *agentapi.Tool {
	a.mpi.mu.Lock()
	known := a.mpi.tools[name]
	a.mpi.mu.Unlock()
	if known != nil {
		return known
	}
	tool := &agentapi.Tool{Name: name}
	path, err := a.find(name)
	if err != nil {
		tool.Problem = missingTool(name, err)
		return tool
	}
	tool.Path = path
	if name == "mpirun" {
		version, err := a.askMPI(ctx, path)
		if err != nil {
			tool.Problem = err.Error()
			return tool
		}
		tool.Version = version.text
	} else {
		tool.Version = a.askRankProgram(ctx, name, path)
	}
	a.mpi.mu.Lock()
	defer a.mpi.mu.Unlock()
	if a.mpi.tools == nil {
		a.mpi.tools = map[string]*agentapi.Tool{}
	}
	a.mpi.tools[name] = tool
	return tool
}

func missingTool(name string, err error) string {
	return fmt.Sprintf("%s is not in this image or on this machine (%s); IOR and mdtest need an image with Open MPI and IOR", name, err)
}

func (a *Agent) askMPI(ctx context.Context, path string) (mpiVersion, error) {
	said, err := askIn(ctx, os.TempDir(), a.mpiEnvironment(os.TempDir()), path, "--version")
	if err != nil {
		if said != "" {
			err = fmt.Errorf("%w (%s)", err, clip(said))
		}
		return mpiVersion{}, fmt.Errorf("%s --version failed: %w", path, err)
	}
	return parseMPIVersion(said)
}

// rankProgramQuestions are arguments with which the programs print their version while doing almost nothing, in
// memory. Neither program has a version option.
var rankProgramQuestions = map[string][]string{
	"ior":    ior.VersionArguments(),
	"mdtest": {"-a", "DUMMY", "-C", "-F", "-n", "1", "-d", "nothing"},
}

var rankProgramVersion = regexp.MustCompile(`(?m)^(?:IOR|mdtest)-([0-9][0-9A-Za-z.+-]{0,31})`)

// askRankProgram returns the version of IOR or mdtest; empty if the program does not print it when it runs outside
// MPI. That is no problem: a step needs only that the program exists.
func (a *Agent) askRankProgram(ctx context.Context, name, path string) string {
	scratch, err := os.MkdirTemp("", scratchPattern)
	if err != nil {
		return ""
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	environment := a.mpiEnvironment(scratch, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self")
	said, err := askIn(ctx, scratch, environment, path, rankProgramQuestions[name]...)
	found := rankProgramVersion.FindStringSubmatch(said)
	if found == nil || err != nil && strings.TrimSpace(said) == "" {
		return ""
	}
	return found[1]
}
