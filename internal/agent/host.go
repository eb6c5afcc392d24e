package agent

import (
	"context"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// askTimeout bounds describing the tools: asking a tool for its version takes seconds while a node starts many
// pods. describeTimeout bounds describing the volumes, because a dead network file system hangs. Together they are
// shorter than the conductor's timeout.
const (
	askTimeout      = 15 * time.Second
	describeTimeout = 4 * time.Second
)

// describeHost describes the machine that the tool runs on. Unreadable fields stay empty.
func describeHost() *agentapi.Host {
	host := &agentapi.Host{
		Cpus:          int32(runtime.NumCPU()), //nolint:gosec // Machines have few CPUs.
		CpuLimitMilli: cpuLimitMilli(),
		BootId:        firstLine("/proc/sys/kernel/random/boot_id"),
		Kernel:        firstLine("/proc/sys/kernel/osrelease"),
		Architecture:  runtime.GOARCH,
	}
	if name, err := os.Hostname(); err == nil {
		host.Name = name
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		host.MemoryBytes = info.Totalram * uint64(info.Unit)
	}
	return host
}

func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// describeVolumes describes all volumes within one describeTimeout.
func (a *Agent) describeVolumes(ctx context.Context) []*agentapi.Volume {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	var volumes []*agentapi.Volume
	for _, configured := range a.config.Volumes {
		volumes = append(volumes, a.looks.at(ctx, configured))
	}
	return volumes
}
