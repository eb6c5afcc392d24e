package conductor

import (
	"fmt"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
)

// Job holds the parameters of a load that neither the plan nor the run's seed determines. Version, Shared, Clients and
// Addresses are set only for MPI jobs.
type Job struct {
	// Attempt is the number of the step's attempt, from 1; 0 counts as 1.
	Attempt int
	// Version is the version of IOR or mdtest on the clients, or "" if it is unknown.
	Version string
	// Shared is true if all clients of the target work in one directory, which belongs to client 0.
	Shared bool
	// Addresses are the addresses (host and port) of the agents of the target's clients, by client index. Only
	// client 0 receives them.
	Addresses []string
	// Clients is the number of clients that the target has in the run; a step may load only some of them. 0 means the
	// number that the step loads.
	Clients int
	// Sharing is the number of clients that each write the step's data to the same volumes, in this step or a later one.
	// It is 0 if the clients share no volumes, if client 0 counts the data of all clients (see Shared), or if the number
	// is unknown.
	Sharing int
	// Devices is true if the target's volumes are raw block devices.
	Devices bool
}

// jobOf assembles the Job of a target from its agents' descriptions. The errors that it returns are of type
// *decide.Failure.
func (c *Conductor) jobOf(step plan.Step, target string, shared bool) (Job, error) {
	job := Job{Shared: shared}
	program := string(step.Load(target).Kind)
	versions := map[string][]string{}
	var order []string
	for _, client := range c.all() {
		if client.key.Target == target {
			job.Clients++
		}
	}
	for index := range step.Clients {
		key := decide.ClientKey{Target: target, Index: index}
		version, address := "", ""
		if client := c.client(key); client != nil {
			version, address = client.toolVersion(program), client.located()
		}
		job.Addresses = append(job.Addresses, address)
		if version == "" {
			// The agent was too busy to report the tool's version in time. Leave this agent out of the comparison of
			// versions.
			continue
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
			"the clients of target %s have different versions of %s: %s (for example %s) and %s (for example %s): use the same image for all",
			target, program, order[0], versions[order[0]][0], order[1], versions[order[1]][0])}
	}
	return job, nil
}

// sharing returns the number of clients of a target that each write a step's data to the volumes that they share. The
// plan counts the data of all clients in the first step with a workload, so the result includes clients that only later
// steps load. If a client is lost, the number is unknown and the result is 0, because the run may continue without its
// data.
func (c *Conductor) sharing(step plan.Step, target string) int {
	count := step.Clients
	for i := range c.options.Steps {
		if other := &c.options.Steps[i]; other.Workloads[target] == step.Workloads[target] {
			count = max(count, other.Clients)
		}
	}
	for _, client := range c.all() {
		if client.key.Target == target && client.facts().Connection == decide.Lost {
			return 0
		}
	}
	return count
}

// toolVersion returns the version of a tool according to the agent's newest description of itself, or "" if the agent
// has not reported one.
func (c *client) toolVersion(name string) string {
	for _, tool := range c.describe().GetTools() {
		if tool.GetName() == name {
			return tool.GetVersion()
		}
	}
	return ""
}

// located returns the agent's address, or "" until it is known.
func (c *client) located() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.address
}
