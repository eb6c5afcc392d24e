package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// hierarchy is a tree of control groups. Version 1 has a tree for each controller or for a few of them, version 2 has a
// single tree.
type hierarchy struct {
	path        string
	unified     bool
	controllers []string
}

// controllersNeeded lists the controllers without which the kubelet does not start.
var controllersNeeded = []string{"cpu", "cpuset", "memory", "pids"}

// hierarchies returns the hierarchies of this machine that have controllers.
func hierarchies() ([]hierarchy, error) {
	all, err := allHierarchies()
	if err != nil {
		return nil, err
	}
	used := slices.DeleteFunc(all, func(h hierarchy) bool { return len(h.controllers) == 0 })
	if len(used) == 0 {
		return nil, errors.New("no control groups are mounted")
	}
	return used, nil
}

// allHierarchies returns all hierarchies of this machine. Version 2 mounted beside version 1 has no controllers, but
// runc creates groups in it anyway.
func allHierarchies() ([]hierarchy, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading the mount table: %w", err)
	}
	var found []hierarchy
	for _, tree := range parseHierarchies(string(data)) {
		if tree.unified {
			text, err := os.ReadFile(filepath.Join(tree.path, "cgroup.controllers"))
			if err != nil {
				continue // something else is mounted over it
			}
			tree.controllers = strings.Fields(string(text))
		} else if _, err := os.Stat(filepath.Join(tree.path, "cgroup.procs")); err != nil {
			continue
		}
		found = append(found, tree)
	}
	return found, nil
}

// parseHierarchies finds the mounted trees, each once.
func parseHierarchies(mountinfo string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(mountinfo) {
		before, after, separated := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !separated || len(left) < 5 || len(right) < 3 {
			continue
		}
		tree := hierarchy{path: unescape(left[4]), unified: right[0] == "cgroup2"}
		if right[0] == "cgroup" {
			tree.controllers = strings.Split(right[2], ",")
		} else if !tree.unified {
			continue
		}
		if !slices.ContainsFunc(found, func(h hierarchy) bool { return h.path == tree.path }) {
			found = append(found, tree)
		}
	}
	return found
}

// missingControllers returns the controllers that the kubelet needs but that no hierarchy has.
func missingControllers(found []hierarchy) []string {
	return slices.DeleteFunc(slices.Clone(controllersNeeded), func(controller string) bool {
		return slices.ContainsFunc(found, func(h hierarchy) bool { return slices.Contains(h.controllers, controller) })
	})
}

// system is the group of all processes that belong to no pod.
const system = "system"

// createCgroups creates a node's group in every tree, with a subgroup for the node's own processes.
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
	for _, controller := range h.controllers {
		err := h.passController(controller)
		if errors.Is(err, syscall.EBUSY) {
			// The root group contains processes, so this machine is a container. A group cannot contain processes and also pass
			// controllers to subgroups, so move the processes to a subgroup, as other containers that run containers do.
			if err := h.moveProcesses("init"); err != nil {
				return err
			}
			err = h.passController(controller)
		}
		if err != nil && slices.Contains(controllersNeeded, controller) {
			return fmt.Errorf("passing the controller %s on to control groups: %w", controller, err)
		}
	}
	return nil
}

func (h hierarchy) passController(name string) error {
	return os.WriteFile(filepath.Join(h.path, "cgroup.subtree_control"), []byte("+"+name), 0o644)
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
			// Processes that have ended and kernel threads cannot be moved.
			_ = h.add(group, pid)
		}
	}
	return nil
}

// inheritCPUSet copies the CPUs and memory nodes from the parent group. Version 1 leaves them empty in a new group, and
// such a group accepts no process.
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
