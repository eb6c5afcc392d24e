package conductor

import (
	"reflect"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/plan"
)

// Environments are the clients as they described themselves, those that are alike together.
func (c *Conductor) Environments() []v1alpha1.Environment {
	var all []v1alpha1.Environment
next:
	for _, client := range c.all() {
		description := client.describe()
		if description == nil {
			continue
		}
		found := environment(description, c.options.tools(description.GetTarget()))
		for i := range all {
			found.Clients = all[i].Clients
			if reflect.DeepEqual(all[i], found) {
				all[i].Clients++
				continue next
			}
		}
		found.Clients = 1
		all = append(all, found)
	}
	return all
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
			// Rounded, so that what clients write while others are asked does not tell them apart.
			FreeBytes: int64(min(volume.GetAvailableBytes(), 1<<62) >> 30 << 30),
		})
	}
	return found
}

// tools are the first engine that is used and the versions of all that are. One that gives no name of itself with its
// version gets one.
func tools(d *agentapi.DescribeResponse, needed []string) (v1alpha1.EngineKind, string) {
	var engine v1alpha1.EngineKind
	var versions []string
	for _, tool := range d.GetTools() {
		if !slices.Contains(needed, tool.GetName()) {
			continue
		}
		name := tool.GetName()
		if name == plan.ToolMPI {
			name = "Open MPI"
		} else if engine == "" {
			engine = v1alpha1.EngineKind(name)
		}
		version := tool.GetVersion()
		if version == "" {
			continue
		}
		if name != string(v1alpha1.EngineFio) {
			version = name + " " + strings.TrimPrefix(version, "IOR-")
		}
		versions = append(versions, version)
	}
	return engine, v1alpha1.Truncate(strings.Join(versions, ", "), 128)
}
