package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machine describes the capabilities of this machine that affect the cluster.
type machine struct {
	// MayLowerOOMScore is true if this process has CAP_SYS_RESOURCE, which lets processes protect themselves from the
	// kernel's OOM killer.
	MayLowerOOMScore bool
	// Snapshotter is the containerd snapshotter to use.
	Snapshotter string
	// NetworkPlugins is the folder of the distribution's CNI plugins.
	NetworkPlugins string
}

// programsNeeded maps programs to the Debian packages that contain them.
var programsNeeded = map[string]string{
	"ip":      "iproute2",
	"mount":   "mount",
	"nft":     "nftables",
	"nsenter": "util-linux",
	"runc":    "runc",
}

// pluginFolders lists the folders in which distributions install CNI plugins.
var pluginFolders = []string{"/usr/lib/cni", "/usr/libexec/cni", "/opt/cni/bin"}

// examine examines this machine. Its error lists, in one line, everything that prevents a cluster from running here.
func examine(s State) (machine, error) {
	capabilities, err := effectiveCapabilities()
	if err != nil {
		return machine{}, err
	}
	var found machine
	var problems []string
	const needed = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN
	if capabilities&needed != needed {
		problems = append(problems, "root lacks CAP_SYS_ADMIN or CAP_NET_ADMIN (a container has to be --privileged)")
	}
	if len(problems) == 0 { // the other checks need these capabilities
		problems = append(problems, found.examineControlGroups(s)...)
		problems = append(problems, found.examinePrograms()...)
		if found.Snapshotter, err = snapshotter(s); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if len(problems) > 0 {
		return machine{}, errors.New("the test cluster cannot run here: " + strings.Join(problems, "; "))
	}
	found.MayLowerOOMScore = capabilities&(1<<unix.CAP_SYS_RESOURCE) != 0
	return found, nil
}

// needRoot returns an error unless root runs this process. It is called first, because other users cannot even read the
// state.
func needRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("the test cluster needs root, for namespaces, mounts and network devices")
	}
	return nil
}

func effectiveCapabilities() (uint64, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("reading the capabilities of this process: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if value, found := strings.CutPrefix(line, "CapEff:"); found {
			set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			if err != nil {
				return 0, fmt.Errorf("reading the capabilities %q: %w", value, err)
			}
			return set, nil
		}
	}
	return 0, errors.New("the kernel does not say which capabilities this process has")
}

// examineControlGroups checks whether control groups can be created. It removes the groups that it creates.
func (machine) examineControlGroups(s State) []string {
	trees, err := hierarchies()
	if err != nil {
		return []string{err.Error()}
	}
	if missing := missingControllers(trees); len(missing) > 0 {
		return []string{"control groups have no controller for " + strings.Join(missing, ", ")}
	}
	for _, tree := range trees {
		probe := filepath.Join(tree.path, s.cgroup()+"-probe")
		if err := os.Mkdir(probe, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return []string{fmt.Sprintf("control groups cannot be made (%v)", err)}
		}
		_ = os.Remove(probe)
	}
	return nil
}

func (m *machine) examinePrograms() []string {
	var packages []string
	for program, debian := range programsNeeded {
		if _, err := exec.LookPath(program); err != nil {
			packages = append(packages, debian)
		}
	}
	for _, folder := range pluginFolders {
		if isFile(filepath.Join(folder, "ptp")) && isFile(filepath.Join(folder, "host-local")) && isFile(filepath.Join(folder, "loopback")) {
			m.NetworkPlugins = folder
			break
		}
	}
	if m.NetworkPlugins == "" {
		packages = append(packages, "containernetworking-plugins")
	}
	if len(packages) == 0 {
		return nil
	}
	slices.Sort(packages)
	return []string{"programs are missing, install them: apt-get install --no-install-recommends " + strings.Join(packages, " ")}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// snapshotter returns "overlayfs" if overlay mounts work in the state folder. They do not work on an overlay, as in a
// container. Otherwise it returns "native", which copies files and works everywhere.
func snapshotter(s State) (string, error) {
	probe := filepath.Join(s.folder, "probe")
	defer os.RemoveAll(probe) //nolint:errcheck // the next one removes it too
	var folders []any
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		folder := filepath.Join(probe, name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", fmt.Errorf("the state folder cannot be used: %w", err)
		}
		folders = append(folders, folder)
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", folders[:3]...)
	merged := filepath.Join(probe, "merged")
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return "native", nil
	}
	if err := unix.Unmount(merged, unix.MNT_DETACH); err != nil {
		return "", fmt.Errorf("unmounting %s: %w", merged, err)
	}
	return "overlayfs", nil
}
