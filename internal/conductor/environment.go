package conductor

import (
	"reflect"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
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
		found := environment(description)
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

func environment(d *agentapi.DescribeResponse) v1alpha1.Environment {
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
	for _, tool := range d.GetTools() {
		found.Engine, found.ToolVersion = v1alpha1.EngineKind(tool.GetName()), v1alpha1.Truncate(tool.GetVersion(), 64)
	}
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
