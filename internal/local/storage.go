package local

import (
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/record"
)

// noteStorage records the documented limits of each target before the first step. Only the mount of a directory can be
// detected. All other properties of the storage come from the specification.
func (r *runner) noteStorage() error {
	if record.StorageNoted(r.run) {
		return nil
	}
	catalog, err := limits.Builtin()
	if err != nil {
		return err
	}
	var all []v1alpha1.StorageDescription
	for i := range r.options.Run.Targets {
		target := &r.options.Run.Targets[i]
		mounted := r.mounted(target.Name)
		described, err := catalog.Describe(target, limits.Description{Volumes: volumesOf(mounted)})
		if err != nil {
			return err
		}
		for j := range min(len(described.Volumes), len(mounted)) {
			volume := &described.Volumes[j]
			volume.Name, volume.FileSystem = mounted[j].Name, mounted[j].FileSystem
			if source := mounted[j].Source; strings.Contains(source, ":") || strings.HasPrefix(source, "//") {
				volume.Server = source
			}
		}
		all = append(all, described)
	}
	record.Storage(r.run, all)
	return nil
}

// mounted returns a target's volumes as a client reported them, or a single volume named "data" if no client did.
func (r *runner) mounted(target string) []v1alpha1.MountedVolume {
	for _, environment := range r.run.Status.Environments {
		if environment.Target == target && len(environment.Volumes) > 0 {
			return environment.Volumes
		}
	}
	return []v1alpha1.MountedVolume{{Name: "data"}}
}

func volumesOf(mounted []v1alpha1.MountedVolume) []limits.Volume {
	var all []limits.Volume
	for _, one := range mounted {
		volume := limits.Volume{}
		if one.Options != "" {
			volume.MountOptions = []string{one.Options}
		}
		all = append(all, volume)
	}
	return all
}
