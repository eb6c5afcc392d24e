package agent

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// describeTimeout bounds the look at the tool and the volumes; a dead network file system hangs.
const describeTimeout = 10 * time.Second

// describeHost says what the tool runs on. What cannot be read is left empty.
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
	text, err := os.ReadFile(path) //nolint:gosec // Callers give fixed paths below /proc.
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// describeVolumes looks at each volume, with its problem where it cannot be used.
func (a *Agent) describeVolumes() []*agentapi.Volume {
	var volumes []*agentapi.Volume
	for _, configured := range a.config.Volumes {
		volume := &agentapi.Volume{Name: configured.Name, Path: configured.Path}
		mount, err := dataset.ProveMount(configured.Path, configured.Expect)
		if err != nil {
			volume.Problem = err.Error()
		} else {
			volume.FilesystemType, volume.Source, volume.Options = mount.FilesystemType, mount.Source, mount.Options
			volume.Device, volume.TotalBytes, volume.AvailableBytes = mount.Device, mount.TotalBytes, mount.AvailableBytes
		}
		volumes = append(volumes, volume)
	}
	return volumes
}

// describeFio finds the program and its version.
func (a *Agent) describeFio(ctx context.Context) *agentapi.Tool {
	tool := &agentapi.Tool{Name: "fio"}
	path, err := a.fioPath()
	if err != nil {
		tool.Problem = "fio is not in this image or on this machine (" + err.Error() + "); install the package fio"
		return tool
	}
	tool.Path = path
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	said, err := exec.CommandContext(ctx, path, "--version").Output() //nolint:gosec // The path is the configuration's.
	if err != nil {
		tool.Problem = "fio --version failed: " + err.Error()
		return tool
	}
	tool.Version = strings.TrimSpace(string(said))
	if !strings.HasPrefix(tool.Version, "fio-") {
		tool.Problem = path + " is not fio: its version is " + tool.Version
	}
	return tool
}

func (a *Agent) fioPath() (string, error) {
	name := a.config.FioPath
	if name == "" {
		name = "fio"
	}
	return exec.LookPath(name)
}
