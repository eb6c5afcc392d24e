package conductor

import (
	"fmt"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine/ior"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// Job is what a job of MPI follows from beside the plan and the run's seed.
type Job struct {
	// Version of ior or mdtest on the clients; empty where it is not known.
	Version string
	// Shared: all clients of the target work in one directory, that of client 0.
	Shared bool
	// Addresses of the agents of the target's clients by index, each a host and a port. Only client 0 is told.
	Addresses []string
	// Devices: the target's volumes are raw block devices. Of any tool.
	Devices bool
}

// launcher is the client that starts a job of MPI.
const launcher = 0

// mpiRequest is a client's part of a job of MPI.
func mpiRequest(step plan.Step, key decide.ClientKey, seed int64, job Job) (*agentapi.LoadRequest, error) {
	engine := step.Workloads[key.Target]
	tool := &agentapi.MpiTool{
		Program:                   string(engine.EngineKind()),
		ProcessesPerClient:        int32(step.Processes), //nolint:gosec // The API allows far fewer.
		Shared:                    job.Shared,
		WarmUpNanoseconds:         int64(step.WarmUp),
		SampleIntervalNanoseconds: int64(result.SampleInterval / time.Nanosecond),
	}
	if step.Purpose == plan.Measure {
		tool.DurationNanoseconds = int64(step.Duration)
	}
	for index := range step.Clients {
		member := &agentapi.MpiClient{Client: int32(index)}
		if key.Index == launcher && index < len(job.Addresses) {
			member.Address = job.Addresses[index]
		}
		tool.Clients = append(tool.Clients, member)
	}
	request := &agentapi.LoadRequest{Dataset: &agentapi.Dataset{}, Tool: &agentapi.LoadRequest_Mpi{Mpi: tool}}
	request.Dataset.NewBytes = newBytes(step, key, job)
	parameters := step.IORParameters(seed, job.Version)
	if engine.Mdtest != nil {
		return request, mdtestPart(request, tool, engine.Mdtest, parameters, step, key)
	}
	return request, iorPart(request, tool, engine.IOR, parameters, step, key)
}

// newBytes are those that are laid down by this client, or in its directory by all.
func newBytes(step plan.Step, key decide.ClientKey, job Job) uint64 {
	bytes := step.NewBytes[key.Target]
	switch {
	case !job.Shared:
		return bytes
	case key.Index == launcher:
		return bytes * uint64(step.Clients) //nolint:gosec // Clients are few.
	}
	return 0
}

func mdtestPart(request *agentapi.LoadRequest, tool *agentapi.MpiTool, profile *v1alpha1.MdtestProfile, parameters ior.Parameters, step plan.Step, key decide.ClientKey) error {
	arguments, err := ior.MdtestArguments(profile, parameters)
	if err != nil {
		return err
	}
	expected, err := ior.ExpectMdtest(profile, step.Clients*step.Processes)
	if err != nil {
		return err
	}
	traits, err := ior.DescribeMdtest(profile, step.Clients, step.Processes)
	if err != nil {
		return err
	}
	clients := uint64(max(1, step.Clients))
	switch {
	case !tool.GetShared():
		request.Dataset.NewFiles = traits.Inodes/clients + min(1, traits.Inodes%clients)
	case key.Index == launcher:
		request.Dataset.NewFiles = traits.Inodes
	}
	tool.Arguments = arguments
	tool.Repetitions = int32(min(expected.Iterations, 1<<20)) //nolint:gosec // Just bounded.
	return nil
}

// iorPart adds IOR's arguments, what comes of them, and the files that they work on.
func iorPart(request *agentapi.LoadRequest, tool *agentapi.MpiTool, profile *v1alpha1.IORProfile, parameters ior.Parameters, step plan.Step, key decide.ClientKey) error {
	arguments, err := ior.Arguments(profile, parameters)
	if err != nil {
		return err
	}
	expected, err := ior.Expect(profile, parameters, step.Clients*step.Processes)
	if err != nil {
		return err
	}
	traits, err := ior.Describe(profile, step.Clients, step.Processes)
	if err != nil {
		return err
	}
	tool.Arguments = arguments
	tool.Repetitions = int32(min(expected.Repetitions, 1<<20)) //nolint:gosec // Just bounded.
	tool.Limited = expected.Limited
	for _, operation := range expected.Operations {
		tool.Operations = append(tool.Operations, uint32(operation)) //nolint:gosec // There are few.
	}
	tool.Direct, tool.Collective, tool.TransferBytes = !traits.Buffered, traits.Collective, traits.TransferBytes
	request.Dataset.Files = rankFiles(traits, step, key, tool.Shared)
	switch {
	case step.Purpose == plan.Prepare:
		request.Dataset.Writes = request.Dataset.Files
	case traits.NeedsFiles:
		request.Dataset.Reads = request.Dataset.Files
	}
	if step.Purpose == plan.Prepare || traits.Writes {
		request.Dataset.Content = plan.ContentOfIOR(profile)
	}
	return nil
}

// rankFiles are the files of a job in this client's directory: those of all ranks in that of client 0 where it is
// shared, else those of the client's own ranks, which follow each other.
func rankFiles(traits ior.Traits, step plan.Step, key decide.ClientKey, shared bool) []*agentapi.DataFile {
	if shared && key.Index != launcher {
		return nil
	}
	if bytes, one := traits.FileSizes[ior.FileName]; one {
		return []*agentapi.DataFile{{Name: ior.FileName, Bytes: bytes}}
	}
	first, last := 0, step.Clients*step.Processes
	if !shared {
		first = key.Index * step.Processes
		last = first + step.Processes
	}
	var all []*agentapi.DataFile
	for rank := first; rank < last; rank++ {
		name := fmt.Sprintf("%s.%08d", ior.FileName, rank)
		if bytes, known := traits.FileSizes[name]; known {
			all = append(all, &agentapi.DataFile{Name: name, Bytes: bytes})
		}
	}
	return all
}

// jobOf is what a job of MPI of a target follows from, by what its agents told of themselves. An error is
// a *decide.Failure.
func (c *Conductor) jobOf(step plan.Step, target string, shared bool) (Job, error) {
	job := Job{Shared: shared}
	program := string(step.Workloads[target].EngineKind())
	versions := map[string][]string{}
	var order []string
	for index := range step.Clients {
		key := decide.ClientKey{Target: target, Index: index}
		version, address := "", ""
		if client := c.client(key); client != nil {
			version, address = client.toolVersion(program), client.located()
		}
		job.Addresses = append(job.Addresses, address)
		if version == "" {
			continue // it was asked and did not tell in time, as on a machine that is busy: unknown is not another one
		}
		version = strings.TrimPrefix(version, "IOR-")
		if len(versions[version]) == 0 {
			order = append(order, version)
		}
		versions[version] = append(versions[version], key.String())
		job.Version = version
	}
	if len(order) > 1 {
		return Job{}, &decide.Failure{Reason: string(v1alpha1.WarningToolVersionsDiffer), Message: fmt.Sprintf(
			"the clients of target %s have %s of versions %s (such as %s) and %s (such as %s), and a job takes one: use the same image for all",
			target, program, order[0], versions[order[0]][0], order[1], versions[order[1]][0])}
	}
	return job, nil
}

// toolVersion of the newest description.
func (c *client) toolVersion(name string) string {
	for _, tool := range c.describe().GetTools() {
		if tool.GetName() == name {
			return tool.GetVersion()
		}
	}
	return ""
}

// located is where the agent listens; empty while that is not known.
func (c *client) located() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.address
}
