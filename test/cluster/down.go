package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// killTimeout is the time limit for the processes of the node to end after they are killed. A process that waits for
// storage ends only when the storage answers.
const killTimeout = 30 * time.Second

// Down ends the cluster and removes everything that it created. If there is none, Down does nothing.
func (s State) Down(ctx context.Context, progress io.Writer) error {
	if err := needRoot(); err != nil {
		return err
	}
	// A cluster creates its lock before its first file, and removes it after its last. A folder without a lock belongs to
	// no cluster, even if it contains folders with a cluster's names.
	if _, err := os.Stat(s.lockFile()); errors.Is(err, os.ErrNotExist) && !s.leftovers() {
		return nil
	}
	unlock, err := s.lock(progress)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.clean(ctx); err != nil {
		return err
	}
	return s.removeFolder()
}

// leftovers reports whether a cluster whose state folder was deleted has left devices or control groups.
func (s State) leftovers() bool {
	if s.hasLink() {
		return true
	}
	trees, err := allHierarchies()
	return err == nil && slices.ContainsFunc(trees, func(h hierarchy) bool {
		_, err := os.Stat(h.path + "/" + s.cgroup())
		return err == nil
	})
}

// clean ends a cluster in any state and removes everything that it left. If a step fails, clean can be called again.
func (s State) clean(ctx context.Context) error {
	if known := s.load(); known != nil {
		if err := known.Init.kill(); err != nil {
			return err
		}
		for _, worker := range known.Workers {
			if err := worker.kill(); err != nil {
				return err
			}
		}
		for _, init := range append([]process{known.Init}, known.Workers...) {
			if err := waitForEnd(init); err != nil {
				return err
			}
		}
	}
	trees, err := allHierarchies()
	if err != nil {
		return err
	}
	if err := killCgroup(trees, s.cgroup()); err != nil {
		return err
	}
	if err := s.removeLink(ctx); err != nil {
		return err
	}
	if err := removeCgroups(trees, s.cgroup()); err != nil {
		return err
	}
	if err := s.unmountAll(); err != nil {
		return err
	}
	return s.remove()
}

// waitForEnd waits until process 1 of the node has ended. The kernel ends all other processes of the node before that.
func waitForEnd(init process) error {
	deadline := time.Now().Add(killTimeout)
	for init.alive() {
		if time.Now().After(deadline) {
			return fmt.Errorf("the node's process 1 does not end%s", describe([]int{init.PID}))
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// unmountAll unmounts everything below the state folder on this machine. The node's own mounts ended with the node.
func (s State) unmountAll() error {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("reading the mount table: %w", err)
	}
	for _, path := range mountsBelow(string(data), s.folder) {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("unmounting %s: %w", path, err)
		}
	}
	return nil
}

// mountsBelow returns the mount points below a folder, the newest first.
func mountsBelow(mountinfo, folder string) []string {
	var paths []string
	lines := bufio.NewScanner(strings.NewReader(mountinfo))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		if path := unescape(fields[4]); strings.HasPrefix(path, folder+"/") {
			paths = append(paths, path)
		}
	}
	slices.Reverse(paths)
	return paths
}

// unescape decodes a path of the mount table, which escapes spaces and some other characters as octal numbers.
func unescape(text string) string {
	var out strings.Builder
	for index := 0; index < len(text); index++ {
		if text[index] == '\\' && index+3 < len(text) {
			if value, err := strconv.ParseUint(text[index+1:index+4], 8, 8); err == nil {
				out.WriteByte(byte(value))
				index += 3
				continue
			}
		}
		out.WriteByte(text[index])
	}
	return out.String()
}
