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

// Report is what there is to say of a cluster.
type Report struct {
	// Running reports whether the first node's process 1 runs.
	Running bool
	// Ready says that pods can run; Reason why they cannot.
	Ready      bool
	Reason     string
	StartedAt  time.Time
	Kubeconfig string
	// Nodes are the names of all nodes, also of those that do not run.
	Nodes []string
	// Components are those of all nodes that run, the first node's first.
	Components []ComponentReport
}

// ComponentReport is what there is to say of a component of the node.
type ComponentReport struct {
	Name string
	// Node is where it runs.
	Node string
	// PID is its process as this machine sees it; 0 when it does not run.
	PID       int
	Ready     bool
	Restarts  int
	StartedAt time.Time
	LastExit  string
	LogFile   string
}

// Status looks at the cluster. It changes nothing and waits for nobody.
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

// reports is what there is to say of the components of a node that runs.
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

// running is the record of a cluster whose first node runs.
func (s State) running() (record, error) {
	known := s.load()
	if known == nil || !known.Init.alive() {
		return record{}, fmt.Errorf("no cluster runs with its state in %s; start one with `cluster up`", s.folder)
	}
	return *known, nil
}

// childrenInNode are the processes that process 1 of the node started, by their
// ids in the node.
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

// innerPID is the id of a process in its own namespace.
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

// Component finds a component of a report by its name, on the first node that has it.
func (r Report) Component(name string) (ComponentReport, bool) {
	index := slices.IndexFunc(r.Components, func(c ComponentReport) bool { return c.Name == name })
	if index < 0 {
		return ComponentReport{}, false
	}
	return r.Components[index], true
}
