package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/cluster/node"
)

const (
	// startTimeout is the time limit for all components to become ready, on a machine that also does other work.
	startTimeout = 3 * time.Minute
	// recoverTimeout is the time limit for killed components to become ready again.
	recoverTimeout = time.Minute
	pollInterval   = 50 * time.Millisecond
)

// Up starts the cluster with the given number of nodes, or with its existing nodes if nodes is 0, and returns when they
// are ready. It does nothing if the cluster is already up. It first removes what a crashed cluster left. Nodes other
// than the first are restarted if they have died. Up writes messages about its progress to progress. The calling
// program must handle NodeCommand.
func (s State) Up(ctx context.Context, progress io.Writer, nodes int) error {
	if err := needRoot(); err != nil {
		return err
	}
	if nodes < 0 || nodes > MaxNodes {
		return fmt.Errorf("a cluster has 1 to %d nodes, not %d", MaxNodes, nodes)
	}
	if err := s.checkFolder(); err != nil {
		return err
	}
	unlock, err := s.lock(progress)
	if err != nil {
		return err
	}
	defer unlock()
	known := s.load()
	if nodes == 0 {
		nodes = 1
		if known != nil {
			nodes += len(known.Workers)
		}
	}
	if known != nil && known.Init.alive() {
		if s.outdated(*known) {
			say(progress, "The cluster that runs is made from other versions or in another way; replacing it")
		} else if err := s.recover(ctx, progress, *known); err == nil {
			return s.resize(ctx, progress, nodes)
		} else if ctx.Err() != nil {
			return err
		} else {
			say(progress, "The cluster does not recover (%v); starting a new one", err)
		}
	} else if known != nil {
		say(progress, "Removing what a cluster left that ended without `down`")
	}
	err = s.create(ctx, progress)
	if _, recorded := os.Stat(s.recordFile()); err != nil && errors.Is(recorded, os.ErrNotExist) {
		// Nothing was started, so leave nothing behind. The first error is returned.
		if s.clean(context.WithoutCancel(ctx)) == nil {
			_ = s.removeFolder()
		}
	}
	if err != nil {
		return err
	}
	return s.resize(ctx, progress, nodes)
}

// outdated reports whether the programs or command lines of the running cluster differ from those of a cluster that
// would be started now.
func (s State) outdated(known record) bool {
	wanted, err := binaries.Paths(binaries.Cluster()...)
	if err != nil {
		return false // without the repository, no cluster could be started
	}
	return slices.ContainsFunc(s.members(known), func(m Member) bool {
		data, err := os.ReadFile(m.specFile())
		if err != nil {
			return false
		}
		var spec node.Spec
		if json.Unmarshal(data, &spec) != nil {
			return false
		}
		return !maps.Equal(spec.Programs, wanted) || !slices.EqualFunc(spec.Components, m.components(known.Network),
			func(a, b node.Component) bool { return a.Name == b.Name && slices.Equal(a.Command, b.Command) })
	})
}

// recover waits until a running cluster is healthy. Usually it already is.
func (s State) recover(ctx context.Context, progress io.Writer, known record) error {
	timeout := recoverTimeout
	if !known.Complete {
		timeout = startTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.finish(ctx, progress, known)
}

// create starts a new cluster, and first removes an unusable one.
func (s State) create(ctx context.Context, progress io.Writer) error {
	if err := s.clean(ctx); err != nil {
		return err
	}
	found, err := examine(s)
	if err != nil {
		return err
	}
	programs, err := binaries.Build(ctx, progress, binaries.Cluster()...)
	if err != nil {
		return err
	}
	begin := time.Now()
	say(progress, "Starting Kubernetes %s in %s", binaries.KubernetesVersion, s.folder)
	started, err := s.startFirst(ctx, found, programs)
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		err = s.finish(bounded, progress, started)
	}
	if err != nil {
		// End the processes, but keep the logs until the next up or down.
		return errors.Join(err, started.Init.kill())
	}
	say(progress, "The cluster is up after %.1f s", time.Since(begin).Seconds())
	return nil
}

// finish waits for the components of the first node. For a new cluster, it also loads the pause image and creates the
// base objects.
func (s State) finish(ctx context.Context, progress io.Writer, known record) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	first := s.Member(0)
	if !known.Complete {
		// The API server starts meanwhile.
		if err := s.waitForComponents(ctx, io.Discard, known, first, binaries.Containerd); err != nil {
			return err
		}
		if err := s.loadPause(ctx, progress, known); err != nil {
			return err
		}
		// Some components become ready only after they have been granted their roles.
		if err := s.waitForComponents(ctx, io.Discard, known, first, binaries.APIServer); err != nil {
			return err
		}
		if err := applyBase(ctx, client); err != nil {
			return err
		}
	}
	if err := s.waitForComponents(ctx, progress, known, first); err != nil {
		return err
	}
	if err := waitForNode(ctx, client, NodeName); err != nil {
		return err
	}
	if known.Complete {
		return nil
	}
	known.Complete = true
	return s.save(known)
}

// waitForComponents waits until the named components of a node are ready, or all components if none are named.
func (s State) waitForComponents(ctx context.Context, progress io.Writer, known record, m Member, names ...string) error {
	told := map[string]bool{}
	init := known.process(m)
	for {
		status, err := m.status()
		if err != nil {
			return err
		}
		if status.Error != "" {
			return errors.New(status.Error)
		}
		waiting := notReady(status, names)
		if len(status.Components) > 0 && len(waiting) == 0 && present(init, status) {
			return nil
		}
		for _, component := range status.Components {
			if component.Ready && !told[component.Name] && !known.Complete {
				told[component.Name] = true
				say(progress, "  %s is ready after %.1f s", component.Name, time.Since(known.StartedAt).Seconds())
			}
		}
		if !init.alive() {
			return fmt.Errorf("node %s has ended%s", m.Name(), m.lastLines("node"))
		}
		if failed := hopeless(status); failed != "" && !known.Complete {
			return fmt.Errorf("%s ends again and again%s", failed, m.lastLines(failed))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w%s", strings.Join(waiting, ", "), ctx.Err(), m.lastLines(waiting...))
		case <-time.After(pollInterval):
		}
	}
}

// present reports whether the processes of all ready components exist. The status may not yet show that a process was
// killed a moment ago.
func present(init process, status node.Status) bool {
	pids := childrenInNode(init.PID)
	for _, component := range status.Components {
		if _, found := pids[component.PID]; component.Ready && !found {
			return false
		}
	}
	return true
}

// notReady returns the named components, or all if none are named, that are not ready.
func notReady(status node.Status, names []string) []string {
	var waiting []string
	for _, component := range status.Components {
		wanted := len(names) == 0
		for _, name := range names {
			wanted = wanted || name == component.Name
		}
		if wanted && !component.Ready {
			waiting = append(waiting, component.Name)
		}
	}
	return waiting
}

// hopeless returns the name of a component that has ended at least four times and is not ready, or "".
func hopeless(status node.Status) string {
	for _, component := range status.Components {
		if component.Restarts >= 4 && !component.Ready {
			return component.Name
		}
	}
	return ""
}
