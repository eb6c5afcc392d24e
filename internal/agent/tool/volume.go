package tool

import (
	"errors"

	"github.com/storagebench/storagebench/internal/dataset"
)

// Place returns the run's directory on the volume, with the requirements for the mount.
func (v VolumeConfig) Place() dataset.Place {
	expect := v.Expect
	expect.ReadOnly = v.ReadOnly
	return dataset.Place{Path: v.Path, Expect: expect, Folder: v.Folder}
}

// Advise replaces the remedy in a problem if the agent runs in a cluster. In a cluster, the remedy must be something that
// the author of a benchmark can change or inspect: not how directories are mounted and passed to the agent.
func (v VolumeConfig) Advise(err error) error {
	var problem *dataset.Problem
	if !v.Expect.MustBeMountPoint || !errors.As(err, &problem) {
		return err
	}
	advised := *problem
	switch {
	case errors.Is(err, dataset.ErrPermission):
		advised.Remedy = "run the clients as a user or group with rwx permission on it: set " +
			"clients.template.securityContext.runAsUser, or fsGroup where the volume's driver supports it"
	case errors.Is(err, dataset.ErrReadOnly):
		advised.Remedy = "use a claim whose volume is mounted read-write; check the claim's accessModes, and the readOnly " +
			"and mountOptions fields of its PersistentVolume"
	case errors.Is(err, dataset.ErrNotMountPoint), errors.Is(err, dataset.ErrRootFilesystem):
		advised.Remedy = "the volume is not mounted: check the events of the pod and of its claim"
	default:
		return err
	}
	return &advised
}
