package conductor

import (
	"reflect"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine"
)

// Environments describes the environments of the clients, with one entry for each group of clients whose environments
// are equal. Free space changes between the clients' reports, so an entry shows the lowest free space of its clients.
func (c *Conductor) Environments() []v1alpha1.Environment {
	var each []v1alpha1.Environment
	for _, client := range c.all() {
		if description := client.describe(); description != nil {
			each = append(each, environment(description, c.options.tools(description.GetTarget())))
		}
	}
	return groupEnvironments(each)
}

// groupEnvironments combines equal environments into one entry each. Each environment in the argument comes from a
// single client.
func groupEnvironments(each []v1alpha1.Environment) []v1alpha1.Environment {
	var all []v1alpha1.Environment
	for _, found := range each {
		i := slices.IndexFunc(all, func(known v1alpha1.Environment) bool { return sameEnvironment(known, found) })
		if i < 0 {
			i = len(all)
			all = append(all, found)
		}
		all[i].Clients++
		for v := range all[i].Volumes {
			all[i].Volumes[v].FreeBytes = min(all[i].Volumes[v].FreeBytes, found.Volumes[v].FreeBytes)
		}
	}
	return all
}

// sameEnvironment reports whether two environments are equal except for the number of clients and the free space.
func sameEnvironment(a, b v1alpha1.Environment) bool {
	a.Clients, b.Clients = 0, 0
	a.Volumes, b.Volumes = slices.Clone(a.Volumes), slices.Clone(b.Volumes)
	for _, volumes := range [][]v1alpha1.MountedVolume{a.Volumes, b.Volumes} {
		for i := range volumes {
			volumes[i].FreeBytes = 0
		}
	}
	return reflect.DeepEqual(a, b)
}

func environment(d *agentapi.DescribeResponse, needed []string) v1alpha1.Environment {
	host := d.GetHost()
	found := v1alpha1.Environment{
		Target:       d.GetTarget(),
		AgentVersion: d.GetAgentVersion(),
		Kernel:       host.GetKernel(),
		Architecture: host.GetArchitecture(),
		CPUMilli:     int64(host.GetCpus()) * 1000,
		MemoryBytes:  int64(min(host.GetMemoryBytes(), 1<<62)),
	}
	if limit := host.GetCpuLimitMilli(); limit > 0 {
		found.CPUMilli = limit
	}
	found.Engine, found.ToolVersion = tools(d, needed)
	for _, volume := range d.GetVolumes() {
		found.Volumes = append(found.Volumes, v1alpha1.MountedVolume{
			Name:       volume.GetName(),
			FileSystem: volume.GetFilesystemType(),
			Source:     v1alpha1.Truncate(volume.GetSource(), 256),
			Options:    v1alpha1.Truncate(strings.Join(volume.GetOptions(), ","), 1024),
			SizeBytes:  int64(min(volume.GetTotalBytes(), 1<<62)),
			FreeBytes:  int64(min(volume.GetAvailableBytes(), 1<<62)),
		})
	}
	return found
}

// tools returns the engine of the first needed tool other than Open MPI, and the versions of all needed tools. Each
// version begins with the name of its tool.
func tools(d *agentapi.DescribeResponse, needed []string) (v1alpha1.EngineKind, string) {
	var kind v1alpha1.EngineKind
	var versions []string
	for _, tool := range d.GetTools() {
		if !slices.Contains(needed, tool.GetName()) {
			continue
		}
		name := tool.GetName()
		if name == engine.ToolMPI {
			name = "Open MPI"
		} else if kind == "" {
			kind = v1alpha1.EngineKind(name)
		}
		version := tool.GetVersion()
		if version == "" {
			continue
		}
		if !strings.HasPrefix(version, name) {
			version = name + " " + strings.TrimPrefix(version, "IOR-")
		}
		versions = append(versions, version)
	}
	return kind, v1alpha1.Truncate(strings.Join(versions, ", "), 128)
}
