package agent

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// describeHost describes the machine that the tool runs on. Unreadable fields stay empty.
func describeHost() *agentapi.Host {
	host := &agentapi.Host{
		Cpus:          int32(runtime.NumCPU()), //nolint:gosec // Machines have few CPUs.
		CpuLimitMilli: tool.CPULimitMilli(),
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
