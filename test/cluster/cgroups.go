//go:build linux

package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// hierarchy is a tree of control groups: one for each controller or few in
// version 1, one for all in version 2.
type hierarchy struct {
	path        string
	unified     bool
	controllers []string
}

// controllersNeeded are those without which the kubelet does not start.
var controllersNeeded = []string{"cpu", "cpuset", "memory", "pids"}

// hierarchies are those of this machine.
func hierarchies() ([]hierarchy, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading the mount table: %w", err)
	}
	found, err := parseHierarchies(string(data))
	if err != nil {
		return nil, err
	}
	for index := range found {
		if found[index].unified {
			text, err := os.ReadFile(filepath.Join(found[index].path, "cgroup.controllers"))
			if err != nil {
				return nil, fmt.Errorf("reading which controllers there are: %w", err)
			}
			found[index].controllers = strings.Fields(string(text))
		}
	}
	return found, nil
}

// parseHierarchies finds the mounted trees. A tree of version 2 beside others is
// left out, since the controllers are in those.
func parseHierarchies(mountinfo string) ([]hierarchy, error) {
	var first, second []hierarchy
	lines := bufio.NewScanner(strings.NewReader(mountinfo))
	for lines.Scan() {
		before, after, found := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 5 || len(right) < 3 {
			continue
		}
		switch path := left[4]; right[0] {
		case "cgroup":
			if !slices.ContainsFunc(first, func(h hierarchy) bool { return h.path == path }) {
				first = append(first, hierarchy{path: path, controllers: strings.Split(right[2], ",")})
			}
		case "cgroup2":
			second = append(second, hierarchy{path: path, unified: true})
		}
	}
	switch {
	case len(first) > 0:
		return first, nil
	case len(second) > 0:
		return second[:1], nil
	default:
		return nil, errors.New("no control groups are mounted")
	}
}

// missingControllers names what the kubelet would miss.
func missingControllers(found []hierarchy) []string {
	return slices.DeleteFunc(slices.Clone(controllersNeeded), func(controller string) bool {
		return slices.ContainsFunc(found, func(h hierarchy) bool { return slices.Contains(h.controllers, controller) })
	})
}

// system is the group of all that is not a pod.
const system = "system"

// createCgroups makes the group of the node in every tree, and in it that of its
// own processes.
func createCgroups(trees []hierarchy, name string) error {
	for _, tree := range trees {
		if tree.unified {
			if err := tree.passControllers(); err != nil {
				return err
			}
		}
		for _, group := range []string{name, filepath.Join(name, system)} {
			if err := os.MkdirAll(filepath.Join(tree.path, group), 0o755); err != nil {
				return fmt.Errorf("making a control group: %w", err)
			}
			if err := tree.inheritCPUSet(group); err != nil {
				return err
			}
		}
	}
	return nil
}

// passControllers lets groups below the root of version 2 use the controllers.
func (h hierarchy) passControllers() error {
	path := filepath.Join(h.path, "cgroup.subtree_control")
	wanted := "+" + strings.Join(h.controllers, " +")
	err := os.WriteFile(path, []byte(wanted), 0o644)
	if errors.Is(err, syscall.EBUSY) {
		// The root has processes, so this machine is a container, and a group
		// may have processes or subgroups with controllers. Moving them to a
		// subgroup is what every container that runs containers does.
		if err := h.moveProcesses("init"); err != nil {
			return err
		}
		err = os.WriteFile(path, []byte(wanted), 0o644)
	}
	if err != nil {
		return fmt.Errorf("passing the controllers %v on to control groups: %w", h.controllers, err)
	}
	return nil
}

func (h hierarchy) moveProcesses(group string) error {
	if err := os.MkdirAll(filepath.Join(h.path, group), 0o755); err != nil {
		return fmt.Errorf("making a control group for the processes that are there: %w", err)
	}
	for range 10 { // new ones may appear meanwhile
		pids, err := readPIDs(filepath.Join(h.path, "cgroup.procs"))
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			// A process that has ended, or one of the kernel, stays where it is.
			_ = h.add(group, pid)
		}
	}
	return nil
}

// inheritCPUSet fills in what version 1 leaves empty, and which takes no process
// until it is filled in.
func (h hierarchy) inheritCPUSet(group string) error {
	if h.unified || !slices.Contains(h.controllers, "cpuset") {
		return nil
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(h.path, filepath.Dir(group), file))
		if err != nil {
			return fmt.Errorf("reading the CPUs of a control group: %w", err)
		}
		if err := os.WriteFile(filepath.Join(h.path, group, file), value, 0o644); err != nil {
			return fmt.Errorf("setting the CPUs of a control group: %w", err)
		}
	}
	return nil
}

func (h hierarchy) add(group string, pid int) error {
	if err := os.WriteFile(filepath.Join(h.path, group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		return fmt.Errorf("putting process %d into its control group: %w", pid, err)
	}
	return nil
}

func readPIDs(path string) ([]int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the processes of a control group: %w", err)
	}
	var pids []int
	for _, field := range strings.Fields(string(data)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// cgroupMembers are the processes in the node's groups, wherever they are.
func cgroupMembers(trees []hierarchy, name string) []int {
	members := map[int]bool{}
	for _, tree := range trees {
		_ = filepath.WalkDir(filepath.Join(tree.path, name), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && entry.Name() == "cgroup.procs" {
				if pids, err := readPIDs(path); err == nil {
					for _, pid := range pids {
						members[pid] = true
					}
				}
			}
			return nil // groups come and go
		})
	}
	return slices.Sorted(func(yield func(int) bool) {
		for pid := range members {
			if !yield(pid) {
				return
			}
		}
	})
}

// killCgroup ends what is in the node's groups, for when the node's process 1 is
// not known. The groups' name is ours, so whatever is in them is.
func killCgroup(trees []hierarchy, name string) error {
	for _, pid := range cgroupMembers(trees, name) {
		if err := killMember(trees, name, pid); err != nil {
			return err
		}
	}
	return nil
}

// killMember ends a process if it is still a member once it is held by a handle.
func killMember(trees []hierarchy, name string, pid int) error {
	handle, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("finding process %d: %w", pid, err)
	}
	defer handle.Release() //nolint:errcheck // nothing depends on it
	if !slices.Contains(cgroupMembers(trees, name), pid) {
		return nil
	}
	if err := handle.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing process %d: %w", pid, err)
	}
	return nil
}

// cgroupTimeout is how long the kernel may take to empty a group.
const cgroupTimeout = 20 * time.Second

// removeCgroups removes the node's groups once they are empty.
func removeCgroups(trees []hierarchy, name string) error {
	deadline := time.Now().Add(cgroupTimeout)
	for {
		var last error
		for _, tree := range trees {
			if err := removeGroup(filepath.Join(tree.path, name)); err != nil {
				last = err
			}
		}
		if last == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("removing control groups: %w%s", last, describe(cgroupMembers(trees, name)))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// removeGroup removes a group and those in it. Its files go with it.
func removeGroup(path string) error {
	folder, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // only read
	for {
		entries, err := folder.ReadDir(100)
		for _, entry := range entries {
			if entry.IsDir() {
				if err := removeGroup(filepath.Join(path, entry.Name())); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// describe names processes for a message.
func describe(pids []int) string {
	var text strings.Builder
	for _, pid := range pids {
		if found, err := readStat(pid); err == nil {
			fmt.Fprintf(&text, "; process %d (%s) is in state %c", pid, found.name, found.state)
		}
	}
	return text.String()
}
