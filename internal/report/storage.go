package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// storage lists the volumes, machines and mounts that were found for each target.
func (p *page) storage(d Document) {
	for i := range d.Storage {
		var items []string
		for j := range d.Storage[i].Volumes {
			if text := volumeText(&d.Storage[i].Volumes[j]); text != "" {
				items = append(items, text)
			}
		}
		for _, machine := range d.Storage[i].Machines {
			if machine.InstanceType != "" {
				items = append(items, fmt.Sprintf("%s of type %s", measure.FormatCount(int(machine.Nodes), "node"), machine.InstanceType))
			}
		}
		items = append(items, d.Storage[i].Notes...)
		p.list("Target "+d.Storage[i].Target+":", items)
	}
	for _, e := range d.Environments {
		var items []string
		for _, volume := range e.Volumes {
			if volume.Options != "" {
				items = append(items, "volume "+volume.Name+" is mounted with "+volume.Options)
			}
		}
		p.list("Mounts of target "+e.Target+":", items)
	}
}

func volumeText(v *v1alpha1.VolumeDescription) string {
	var words []string
	add := func(name, value string) {
		if value != "" {
			words = append(words, strings.TrimSpace(name+" "+value))
		}
	}
	add("driver", v.Driver)
	add("class", v.StorageClass)
	add("attributes class", v.VolumeAttributesClass)
	if v.SizeBytes > 0 {
		add("", measure.FormatBytes(uint64(v.SizeBytes)))
	}
	add("file system", v.FileSystem)
	add("server", v.Server)
	add("claim", v.ClaimName)
	for _, name := range slices.Sorted(maps.Keys(v.Parameters)) {
		words = append(words, name+"="+v.Parameters[name])
	}
	if len(v.MountOptions) > 0 {
		add("mount options", strings.Join(v.MountOptions, ","))
	}
	if len(words) == 0 {
		return ""
	}
	return "volume " + v.Name + ": " + strings.Join(words, ", ")
}
