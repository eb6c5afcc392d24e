//go:build linux

package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// targetDirectories parses the --target flags. There must be exactly one for each target of the benchmark, with as many
// directories as the target has volumes. Each directory takes the place of a volume, so a target's path is relative to
// it.
func targetDirectories(run *v1alpha1.RunSpec, flags []string) (map[string][]string, error) {
	wanted := map[string]*v1alpha1.Target{}
	for i := range run.Targets {
		wanted[run.Targets[i].Name] = &run.Targets[i]
	}
	names := strings.Join(slices.Sorted(maps.Keys(wanted)), ", ")
	given := map[string]string{}
	for _, flag := range flags {
		name, directory, found := strings.Cut(flag, "=")
		switch {
		case !found || name == "" || directory == "":
			return nil, fmt.Errorf("--target %q: write NAME=DIR", flag)
		case wanted[name] == nil:
			return nil, fmt.Errorf("--target %q: the benchmark has no target %q; it has: %s", flag, name, names)
		case given[name] != "":
			return nil, fmt.Errorf("--target %q: target %q was already given", flag, name)
		}
		given[name] = directory
	}
	directories := map[string][]string{}
	for i := range run.Targets {
		target := &run.Targets[i]
		if err := fitsLocally(target, given[target.Name]); err != nil {
			return nil, err
		}
		split := []string{given[target.Name]}
		if len(target.Volumes) > 1 {
			split = strings.Split(given[target.Name], ",")
		}
		if len(split) != max(1, len(target.Volumes)) {
			return nil, fmt.Errorf("target %q has %d volumes, but --target %s=%s specifies %d directories: specify one per volume, in order, separated by commas",
				target.Name, len(target.Volumes), target.Name, given[target.Name], len(split))
		}
		for _, directory := range split {
			absolute, err := localDirectory(target, directory)
			if err != nil {
				return nil, err
			}
			directories[target.Name] = append(directories[target.Name], absolute)
		}
	}
	return directories, nil
}

// fitsLocally returns an error for a target that a local run cannot load: one without directories, with a setting that
// requires a cluster, or with a path that leads out of its directory.
func fitsLocally(target *v1alpha1.Target, given string) error {
	raw := target.AllowRawDeviceWrites != nil && *target.AllowRawDeviceWrites
	for _, volume := range target.Volumes {
		if mode := volume.ClaimTemplate; mode != nil && mode.Spec.VolumeMode != nil && *mode.Spec.VolumeMode == corev1.PersistentVolumeBlock {
			raw = true
		}
	}
	switch {
	case raw:
		return fmt.Errorf("target %q needs raw devices, which a local run never writes to, because a mistyped name could overwrite the disk of "+
			"this machine. Run it in a cluster, where a claim selects the device, or remove allowRawDeviceWrites and volumeMode: Block", target.Name)
	case given == "" && len(target.Volumes) > 1:
		return fmt.Errorf("target %q has %d volumes but no directories: add --target %s=%s", target.Name, len(target.Volumes), target.Name,
			strings.Repeat("DIR,", len(target.Volumes)-1)+"DIR")
	case given == "":
		return fmt.Errorf("target %q has no directory: add --target %s=DIR", target.Name, target.Name)
	case target.RequireIdle != nil && *target.RequireIdle:
		return fmt.Errorf("target %q: requireIdle is true, but a local run cannot detect other users of a directory: set it to false", target.Name)
	case target.Path != "" && !filepath.IsLocal(target.Path):
		return fmt.Errorf("target %q: path %q leads out of the directory: use a path inside it", target.Name, target.Path)
	}
	return nil
}

// localDirectory returns the absolute path of the directory that the run loads.
func localDirectory(target *v1alpha1.Target, given string) (string, error) {
	if given == "" {
		return "", fmt.Errorf("--target %s: a directory name is empty: use DIR,DIR", target.Name)
	}
	absolute, err := filepath.Abs(given)
	if err != nil {
		return "", fmt.Errorf("--target %s=%s: %w", target.Name, given, err)
	}
	if info, err := os.Stat(absolute); err == nil && info.Mode()&os.ModeDevice != 0 {
		return "", fmt.Errorf("--target %s=%s is a device, but a local run loads only directories: mount its file system and use the directory, "+
			"or run the benchmark in a cluster with a claim of volumeMode: Block", target.Name, given)
	}
	return filepath.Join(absolute, target.Path), nil
}
