package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storagebench/storagebench/test/cluster/node"
)

// Report is the status of a cluster.
type Report struct {
	// Running reports whether the first node's process 1 runs.
	Running bool
	// Ready is true if pods can run. Otherwise Reason says why they cannot.
	Ready      bool
	Reason     string
	StartedAt  time.Time
	Kubeconfig string
	// Nodes lists the names of all nodes, including those that are not running.
	Nodes []string
	// Components lists the components of all running nodes, in the order of the nodes.
	Components []ComponentReport
}

// ComponentReport is the status of a component of a node.
type ComponentReport struct {
	Name string
	// Node is the name of the component's node.
	Node string
	// PID is the PID of the component's process on this machine, or 0 if it is not running.
	PID       int
	Ready     bool
	Restarts  int
	StartedAt time.Time
	LastExit  string
	LogFile   string
}

// Status returns the current status of the cluster. It changes nothing and does not wait for the lock.
func (s State) Status(ctx context.Context) (Report, error) {
	if err := needRoot(); err != nil {
		return Report{}, err
	}
	known, err := s.running()
	if err != nil {
		return Report{Reason: err.Error()}, nil
	}
	report := Report{Running: true, StartedAt: known.StartedAt, Kubeconfig: s.Kubeconfig()}
	var reasons []string
	for _, m := range s.members(known) {
		report.Nodes = append(report.Nodes, m.Name())
		if !known.process(m).alive() {
			reasons = append(reasons, fmt.Sprintf("node %s does not run; `cluster up` starts it", m.Name()))
			continue
		}
		status, err := m.status()
		if err != nil {
			return Report{}, err
		}
		report.Components = append(report.Components, m.reports(known, status)...)
		if waiting := notReady(status, nil); len(waiting) > 0 || len(status.Components) == 0 {
			reasons = append(reasons, fmt.Sprintf("not ready on %s: %s", m.Name(), strings.Join(waiting, ", ")))
		}
	}
	if len(reasons) > 0 {
		report.Reason = strings.Join(reasons, "; ")
		return report, nil
	}
	if !known.Complete {
		report.Reason = "its start was broken off; `cluster up` completes it"
		return report, nil
	}
	client, err := s.client()
	if err != nil {
		return Report{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, name := range report.Nodes {
		report.Reason = cmp.Or(report.Reason, whatIsMissing(bounded, client, name))
	}
	report.Ready = report.Reason == ""
	return report, nil
}

// reports returns the status of the components of a running node.
func (m Member) reports(known record, status node.Status) []ComponentReport {
	var reports []ComponentReport
	pids := childrenInNode(known.process(m).PID)
	for _, component := range status.Components {
		reports = append(reports, ComponentReport{
			Name:      component.Name,
			Node:      m.Name(),
			PID:       pids[component.PID],
			Ready:     component.Ready,
			Restarts:  component.Restarts,
			StartedAt: component.StartedAt,
			LastExit:  component.LastExit,
			LogFile:   m.Outside(nodeLogs + "/" + component.Name + ".log"),
		})
	}
	return reports
}

// running returns the record of the cluster, or an error if its first node is not running.
func (s State) running() (record, error) {
	known := s.load()
	if known == nil || !known.Init.alive() {
		return record{}, fmt.Errorf("no cluster runs with its state in %s; start one with `cluster up`", s.folder)
	}
	return *known, nil
}

// childrenInNode returns the children of a node's process 1, as a map from PIDs in the node to PIDs on this machine.
func childrenInNode(init int) map[int]int {
	children := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return children
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if found, err := readStat(pid); err != nil || found.parent != init || found.state == 'Z' {
			continue
		}
		data, err := os.ReadFile("/proc/" + entry.Name() + "/status")
		if err != nil {
			continue
		}
		if inner, found := innerPID(string(data)); found {
			children[inner] = pid
		}
	}
	return children
}

// innerPID returns the PID of a process in its own PID namespace, from the text of /proc/PID/status.
func innerPID(status string) (int, bool) {
	for line := range strings.Lines(status) {
		if ids, found := strings.CutPrefix(line, "NSpid:"); found {
			fields := strings.Fields(ids)
			if len(fields) == 0 {
				return 0, false
			}
			inner, err := strconv.Atoi(fields[len(fields)-1])
			return inner, err == nil
		}
	}
	return 0, false
}

// Component returns the component with the given name, from the first node that has it.
func (r Report) Component(name string) (ComponentReport, bool) {
	index := slices.IndexFunc(r.Components, func(c ComponentReport) bool { return c.Name == name })
	if index < 0 {
		return ComponentReport{}, false
	}
	return r.Components[index], true
}
