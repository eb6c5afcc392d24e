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

// Member is a node of a cluster, by its place. The first one, at 0, runs the
// control plane too, and the packets between the others pass through it.
type Member struct {
	state State
	place int
}

// Member is a node by its place, whether the cluster has it or not.
func (s State) Member(place int) Member { return Member{state: s, place: place} }

// Members are the nodes of a cluster that runs.
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

// Name is the name of the node in Kubernetes.
func (m Member) Name() string {
	if m.place == 0 {
		return NodeName
	}
	return NodeName + "-" + strconv.Itoa(m.place)
}

// Zone is the node's zone. Each has one of its own.
func (m Member) Zone() string { return "zone-" + strconv.Itoa(m.place) }

// folder is what the node sees as /var.
func (m Member) folder() string {
	if m.place == 0 {
		return filepath.Join(m.state.folder, "var")
	}
	return filepath.Join(m.state.workersFolder(), strconv.Itoa(m.place))
}

// Outside is the path on this machine of a path below the node's /var.
func (m Member) Outside(nodePath string) string {
	relative, err := filepath.Rel("/var", nodePath)
	if err != nil || !filepath.IsLocal(relative) {
		panic("not below the node's /var: " + nodePath) // a constant of this package is wrong
	}
	return filepath.Join(m.folder(), relative)
}

func (m Member) specFile() string { return m.Outside(nodeHome + "/node.json") }

// cgroup is the name of the control group of everything that the node runs.
// That of the first node holds the others', and so all that is the cluster's.
func (m Member) cgroup() string {
	if m.place == 0 {
		return m.state.cgroup()
	}
	return filepath.Join(m.state.cgroup(), m.device())
}

// device is the other end of the node's link.
func (m Member) device() string {
	if m.place == 0 {
		return m.state.link()
	}
	return "node-" + strconv.Itoa(m.place)
}

// PID is process 1 of the node as this machine sees it.
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

// Enter is a command in the namespaces of the node, where all its programs are
// found by their names. It is how to mount something that pods shall see: what is
// mounted on this machine gets there only if the machine shares its mounts, as
// systemd makes it do.
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

// status is what the node says it is at.
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

// lastLines are the ends of the logs of components, for a message.
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
