package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/test/cluster/node"
)

// Member is a node of a cluster, identified by its place. The first node, at place 0, also runs the control plane, and
// routes packets between the others.
type Member struct {
	state State
	place int
}

// Member returns the node at a place. The node need not exist.
func (s State) Member(place int) Member { return Member{state: s, place: place} }

// Members returns the nodes of a running cluster.
func (s State) Members() ([]Member, error) {
	known, err := s.running()
	if err != nil {
		return nil, err
	}
	return s.members(known), nil
}

func (s State) members(known record) []Member {
	var all []Member
	for place := range 1 + len(known.Workers) {
		all = append(all, s.Member(place))
	}
	return all
}

// Name returns the name of the node in Kubernetes.
func (m Member) Name() string {
	if m.place == 0 {
		return NodeName
	}
	return NodeName + "-" + strconv.Itoa(m.place)
}

// Zone returns the node's zone. Each node has its own.
func (m Member) Zone() string { return "zone-" + strconv.Itoa(m.place) }

// folder returns the folder that is the node's /var.
func (m Member) folder() string {
	if m.place == 0 {
		return filepath.Join(m.state.folder, "var")
	}
	return filepath.Join(m.state.workersFolder(), strconv.Itoa(m.place))
}

// Outside returns the path on this machine of a path below the node's /var.
func (m Member) Outside(nodePath string) string {
	relative, err := filepath.Rel("/var", nodePath)
	if err != nil || !filepath.IsLocal(relative) {
		panic("not below the node's /var: " + nodePath) // a constant of this package is wrong
	}
	return filepath.Join(m.folder(), relative)
}

func (m Member) specFile() string { return m.Outside(nodeHome + "/node.json") }

// cgroup returns the name of the control group that contains everything the node runs. The groups of the other nodes
// are subgroups of the first node's, which therefore contains the whole cluster.
func (m Member) cgroup() string {
	if m.place == 0 {
		return m.state.cgroup()
	}
	return filepath.Join(m.state.cgroup(), m.device())
}

// device returns the name of the far end of the node's link.
func (m Member) device() string {
	if m.place == 0 {
		return m.state.link()
	}
	return "node-" + strconv.Itoa(m.place)
}

// PID returns the PID, on this machine, of the node's process 1.
func (m Member) PID() (int, error) {
	known, err := m.state.running()
	if err != nil {
		return 0, err
	}
	init := known.process(m)
	if !init.alive() {
		return 0, fmt.Errorf("node %s does not run; `cluster up` starts it", m.Name())
	}
	return init.PID, nil
}

// Enter returns a command that runs in the namespaces of the node, with the node's programs on its PATH. Use it to
// mount something that pods should see: mounts on this machine propagate to the node only if this machine shares its
// mounts, as systemd does by default.
func (m Member) Enter(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
	pid, err := m.PID()
	if err != nil {
		return nil, err
	}
	return enter(ctx, pid, arguments), nil
}

func enter(ctx context.Context, pid int, arguments []string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{
		"--target=" + strconv.Itoa(pid), "--mount", "--net", "--pid", "--ipc", "--uts", "--",
		"env", "PATH=" + node.SearchPath,
	}, arguments...)...)
}

// status reads the status that the node reports.
func (m Member) status() (node.Status, error) {
	data, err := os.ReadFile(filepath.Join(m.folder(), statusFile))
	if errors.Is(err, os.ErrNotExist) {
		return node.Status{}, nil
	}
	if err != nil {
		return node.Status{}, fmt.Errorf("reading the status of the node: %w", err)
	}
	var status node.Status
	if err := json.Unmarshal(data, &status); err != nil {
		return node.Status{}, fmt.Errorf("reading the status of the node: %w", err)
	}
	return status, nil
}

// lastLines returns the last lines of the logs of components, for a message.
func (m Member) lastLines(names ...string) string {
	var text strings.Builder
	for _, name := range names {
		path := m.Outside(nodeLogs + "/" + name + ".log")
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		fmt.Fprintf(&text, "\n%s ends with:\n  %s", path, strings.Join(lines[max(0, len(lines)-5):], "\n  "))
	}
	return text.String()
}
