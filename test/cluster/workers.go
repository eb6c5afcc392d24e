package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/test/binaries"
)

// resize adds or removes nodes of a running cluster until it has the given number, and restarts dead nodes with their
// existing disks, as after a power failure.
func (s State) resize(ctx context.Context, progress io.Writer, nodes int) error {
	known, err := s.running()
	if err != nil {
		return err
	}
	for len(known.Workers) > nodes-1 {
		if known, err = s.removeWorker(ctx, progress, known); err != nil {
			return err
		}
	}
	for len(known.Workers) < nodes-1 {
		known.Workers = append(known.Workers, process{})
	}
	if len(known.Workers) == 0 {
		return nil
	}
	if err := s.save(known); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if known, err = s.startWorkers(ctx, progress, known); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	for _, m := range s.members(known)[1:] {
		if err := s.waitForComponents(ctx, io.Discard, known, m, binaries.Containerd); err != nil {
			return err
		}
		if err := s.copyImages(ctx, known, m); err != nil {
			return err
		}
		if err := s.waitForComponents(ctx, io.Discard, known, m); err != nil {
			return err
		}
		if err := waitForNode(ctx, client, m.Name()); err != nil {
			return err
		}
	}
	return nil
}

// startWorkers starts the workers that are not running.
func (s State) startWorkers(ctx context.Context, progress io.Writer, known record) (record, error) {
	var found machine
	var programs map[string]string
	for _, m := range s.members(known)[1:] {
		if known.process(m).alive() {
			continue
		}
		var err error
		if programs == nil {
			if found, err = examine(s); err != nil {
				return known, err
			}
			if programs, err = binaries.Build(ctx, progress, binaries.Cluster()...); err != nil {
				return known, err
			}
		}
		say(progress, "Starting node %s", m.Name())
		if err := m.end(known); err != nil {
			return known, err
		}
		if known, err = m.start(ctx, known, found, programs); err != nil {
			return known, err
		}
	}
	return known, nil
}

// end ends everything that runs in a worker. It keeps the worker's disk.
func (m Member) end(known record) error {
	init := known.process(m)
	if err := init.kill(); err != nil {
		return err
	}
	if err := waitForEnd(init); err != nil {
		return err
	}
	trees, err := allHierarchies()
	if err != nil {
		return err
	}
	if err := killCgroup(trees, m.cgroup()); err != nil {
		return err
	}
	return removeCgroups(trees, m.cgroup())
}

// removeWorker removes the last node and its disk from the cluster.
func (s State) removeWorker(ctx context.Context, progress io.Writer, known record) (record, error) {
	m := s.Member(len(known.Workers))
	say(progress, "Removing node %s", m.Name())
	if err := m.end(known); err != nil {
		return known, err
	}
	client, err := s.client()
	if err != nil {
		return known, err
	}
	// Delete the Node only after the kubelet has ended, because a running kubelet would create it again.
	err = client.CoreV1().Nodes().Delete(ctx, m.Name(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return known, fmt.Errorf("removing node %s: %w", m.Name(), err)
	}
	if err := os.RemoveAll(m.folder()); err != nil {
		return known, fmt.Errorf("removing the disk of %s: %w", m.Name(), err)
	}
	known.Workers = known.Workers[:len(known.Workers)-1]
	return known, s.save(known)
}

// workersFolder returns the folder of the disks of all nodes except the first.
func (s State) workersFolder() string { return filepath.Join(s.folder, "nodes") }

// sharedFolder returns the folder that all nodes mount.
func (s State) sharedFolder() string { return filepath.Join(s.folder, "shared") }
