package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/version"
)

const (
	// installationName is the name of the installation in the ownership files of local runs.
	installationName = "local"
	// leftTimeout limits how long it may take to remove the data of killed runs.
	leftTimeout = time.Minute
)

// target is a target under test: one directory, or one per volume.
type target struct {
	name    string
	uid     string
	keep    bool
	volumes []*volume
}

// volume is one directory of a target.
type volume struct {
	name     string
	mount    dataset.Mount
	readOnly bool
	// newBytes is the number of bytes that the run adds to the directory. It is 0 if the directory holds the benchmark's
	// data in the same layout, because only the agents know whether they can reuse that data.
	newBytes uint64
	// lock is nil if the directory is mounted read-only.
	lock *dataset.Lock
}

func (t *target) configs() []agent.VolumeConfig {
	var all []agent.VolumeConfig
	for _, v := range t.volumes {
		all = append(all, agent.VolumeConfig{Name: v.name, Path: v.mount.Path, ReadOnly: v.lock == nil,
			Expect: dataset.Expectation{Device: v.mount.Device, Inode: v.mount.Inode}})
	}
	return all
}

func (t *target) locks() []*os.File {
	var all []*os.File
	for _, v := range t.volumes {
		if v.lock != nil {
			all = append(all, v.lock.File())
		}
	}
	return all
}

// prove verifies all directories and their free space before it writes to any of them, and then locks them.
func (r *runner) prove() error {
	for _, step := range []func(*v1alpha1.Target) error{r.proveTarget, r.checkSpace, r.lockTarget} {
		for i := range r.options.Run.Targets {
			if err := step(&r.options.Run.Targets[i]); err != nil {
				return fmt.Errorf("target %s: %w", r.options.Run.Targets[i].Name, err)
			}
		}
	}
	return nil
}

func (r *runner) proveTarget(spec *v1alpha1.Target) error {
	directories := r.options.Directories[spec.Name]
	uid, err := benchmarkUID(r.options.Benchmark, spec.Name, directories)
	if err != nil {
		return err
	}
	added := &target{name: spec.Name, uid: uid, keep: spec.DataPolicy == v1alpha1.DataRetain}
	r.targets[spec.Name] = added
	for j, directory := range directories {
		mount, only, err := r.proveDirectory(spec, directory)
		if err != nil {
			return err
		}
		for _, other := range added.volumes {
			if other.mount.Device == mount.Device && other.mount.Inode == mount.Inode {
				return fmt.Errorf("%s and %s are the same directory: use a separate directory for each volume", other.mount.Path, mount.Path)
			}
		}
		added.volumes = append(added.volumes, &volume{name: volumeName(spec, j), mount: mount, readOnly: only})
	}
	r.setNewBytes(added)
	return nil
}

// setNewBytes sets the number of bytes that the run adds to each volume of a target. The run adds nothing to a target
// that has a read-only directory.
func (r *runner) setNewBytes(t *target) {
	if slices.ContainsFunc(t.volumes, func(one *volume) bool { return one.readOnly }) {
		return
	}
	var all uint64
	clients := uint64(r.options.Plan.ClientsPerTarget) //nolint:gosec // The API allows far fewer clients.
	for _, step := range r.options.Plan.Steps {
		all += step.NewBytes[t.name] * clients
	}
	layout := filepath.Dir(dataset.Location{BenchmarkUID: t.uid, DatasetHash: r.options.Plan.DatasetHash}.Path())
	for _, one := range t.volumes {
		if _, err := os.Lstat(filepath.Join(one.mount.Path, layout)); err != nil {
			one.newBytes = all / uint64(len(t.volumes))
		}
	}
}

// checkSpace returns an error if a volume of the target has too little space for the data of the run. The space must
// suffice for the data of all targets on the same file system. Each agent also checks the space, but only for one step
// and its own target.
func (r *runner) checkSpace(spec *v1alpha1.Target) error {
	for _, one := range r.targets[spec.Name].volumes {
		need := uint64(0)
		for _, t := range r.targets {
			for _, other := range t.volumes {
				if sameSpace(other.mount, one.mount) {
					need += other.newBytes
				}
			}
		}
		if one.newBytes > 0 && need > one.mount.AvailableBytes {
			return &dataset.SpaceError{Path: one.mount.Path, NeedBytes: need, FreeBytes: one.mount.AvailableBytes}
		}
	}
	return nil
}

// sameSpace reports whether two directories share their free space. On btrfs, subvolumes share their free space
// although their device numbers differ.
func sameSpace(a, b dataset.Mount) bool {
	return a.Device == b.Device || a.FilesystemType == "btrfs" && b.FilesystemType == "btrfs" && a.Source == b.Source
}

// lockTarget locks the directories of a target. A read-only directory needs no lock, because no process can write to
// it.
func (r *runner) lockTarget(spec *v1alpha1.Target) (err error) {
	t := r.targets[spec.Name]
	for _, one := range t.volumes {
		if one.readOnly {
			continue
		}
		if one.lock, err = acquireLock(one.mount, t.uid, r.run); err != nil {
			return err
		}
	}
	return nil
}

// acquireLock locks a benchmark's own directory on a target for a run.
func acquireLock(mount dataset.Mount, benchmarkUID string, run *v1alpha1.BenchmarkRun) (*dataset.Lock, error) {
	return dataset.AcquireLock(mount, dataset.Owner{
		BenchmarkUID: benchmarkUID,
		Benchmark:    run.Spec.BenchmarkRef.Name,
		RunUID:       string(run.UID),
		Run:          run.Name,
		CreatedBy:    version.Version,
		Installation: installationName,
	})
}

// volumeName returns the specified name of a volume, or "data" if the target has a single directory.
func volumeName(spec *v1alpha1.Target, index int) string {
	if len(spec.Volumes) < 2 || index >= len(spec.Volumes) {
		return "data"
	}
	return spec.Volumes[index].Name
}

// proveDirectory verifies a directory. It accepts a read-only directory if no phase needs to write to the target.
func (r *runner) proveDirectory(spec *v1alpha1.Target, directory string) (mount dataset.Mount, readOnly bool, err error) {
	mount, err = dataset.ProveMount(directory, dataset.Expectation{})
	if !errors.Is(err, dataset.ErrReadOnly) {
		return mount, false, err
	}
	if first := r.options.Plan.FirstChange(spec); first != "" {
		return mount, false, fmt.Errorf("phase %s writes to it, but %w. To read data that an earlier run laid out, "+
			"set dataPolicy: Retain and use the same prepare phases (fio only)", first, err)
	}
	mount, err = dataset.ProveMount(directory, dataset.Expectation{ReadOnly: true})
	return mount, true, err
}

// data lists the directories to remove at the end of the run.
func (r *runner) data() []Data {
	var all []Data
	for _, t := range r.targets {
		for _, one := range t.volumes {
			if !t.keep && one.lock != nil {
				all = append(all, Data{Path: one.mount.Path, BenchmarkUID: t.uid, Device: one.mount.Device, Inode: one.mount.Inode})
			}
		}
	}
	return all
}

// release releases the locks and removes the directories that are then empty.
func (r *runner) release() {
	for _, t := range r.targets {
		for _, one := range t.volumes {
			if one.lock != nil {
				_ = one.lock.Release()
			}
		}
	}
}

// sweep removes the data that the agents could not remove.
func (t *target) sweep(run *v1alpha1.BenchmarkRun) []v1alpha1.DataLeft {
	var left []v1alpha1.DataLeft
	for _, one := range t.volumes {
		if t.keep || one.lock == nil {
			continue
		}
		if err := dataset.Sweep(context.Background(), one.mount, t.uid, string(run.UID)); err != nil {
			left = append(left, v1alpha1.DataLeft{Target: t.name, Path: one.mount.Path, Reason: err.Error()})
		}
	}
	return left
}

// removeOrphans removes the data of other local runs that ended without removing it, for example because all their
// processes were killed. It skips data that those runs retained on purpose. It also skips file systems that other
// machines can mount, because a free lock there does not prove that the run has ended.
func (t *target) removeOrphans(run *v1alpha1.BenchmarkRun) {
	ctx, cancel := context.WithTimeout(context.Background(), leftTimeout)
	defer cancel()
	removed := 0
	var stays []string
	for _, one := range t.volumes {
		if one.lock == nil || !one.mount.OnThisMachine() {
			continue
		}
		others, err := dataset.Owners(one.mount, installationName, t.uid)
		if err != nil {
			continue // skip this volume: cleanup is best effort
		}
		for _, uid := range others {
			found, err := dataset.RemoveOrphans(ctx, one.mount, dataset.OrphanFilter{BenchmarkUID: uid, Installation: installationName, Locked: true,
				Holder: dataset.Holder{Instance: string(run.UID), Run: run.Name, RunUID: string(run.UID), Host: "this machine"}})
			removed += found.Removed
			stays = append(stays, found.Stays...)
			if err != nil {
				stays = append(stays, err.Error())
			}
		}
	}
	if removed == 0 {
		// There is nothing to report. Any remaining data belongs to active runs, was kept on purpose, or could not be
		// removed.
		return
	}
	message := fmt.Sprintf("target %s: removed %d client directories left by earlier runs on this machine", t.name, removed)
	if len(stays) > 0 {
		message += "; others remain: " + strings.Join(stays, "; ")
	}
	record.Warn(run, v1alpha1.Warning{Type: v1alpha1.WarningDataLeftBehind, Severity: v1alpha1.SeverityInfo, Message: v1alpha1.Truncate(message, 512)})
}
