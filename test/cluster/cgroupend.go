package cluster

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// cgroupMembers returns the processes in a node's control groups and the groups below them, in all hierarchies.
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
			return nil // the group may have been removed
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

// killCgroup kills all processes in a node's control groups, for the case that the node's process 1 is unknown. The
// name of the groups identifies the cluster, so all processes in them belong to it.
func killCgroup(trees []hierarchy, name string) error {
	for _, pid := range cgroupMembers(trees, name) {
		if err := killMember(trees, name, pid); err != nil {
			return err
		}
	}
	return nil
}

// killMember kills a process. It first takes a handle and then checks that the process is still a member, so that a
// reused PID cannot kill another process.
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

// cgroupTimeout limits the time that the kernel may take to empty a group.
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

// removeGroup removes a group and its subgroups. The kernel removes the files in it.
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

// describe describes processes for a message.
func describe(pids []int) string {
	var text strings.Builder
	for _, pid := range pids {
		if found, err := readStat(pid); err == nil {
			fmt.Fprintf(&text, "; process %d (%s) is in state %c", pid, found.name, found.state)
		}
	}
	return text.String()
}
