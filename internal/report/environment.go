package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// environment describes the clients of each target.
func (p *page) environment(d Document) {
	for _, e := range d.Environments {
		words := []string{measure.FormatCount(int(e.Clients), "client")}
		if tool := cmp.Or(e.ToolVersion, string(e.Engine)); tool != "" {
			words = append(words, tool)
		}
		for _, volume := range e.Volumes {
			words = append(words, mountText(volume))
		}
		if e.Kernel != "" {
			words = append(words, "Linux "+e.Kernel)
		}
		if e.CPUMilli > 0 {
			words = append(words, cpus(e.CPUMilli))
		}
		p.line("target " + e.Target + ": " + strings.Join(words, ", "))
	}
}

// mountText describes a volume as a client sees it. For a raw device, it states the size instead of the file system.
func mountText(volume v1alpha1.MountedVolume) string {
	if volume.FileSystem == "" && volume.SizeBytes > 0 {
		return fmt.Sprintf("%s without a file system (%s)", volume.Name, measure.FormatBytes(uint64(volume.SizeBytes)))
	}
	return fmt.Sprintf("%s on %s (%s free)", cmp.Or(volume.FileSystem, "an unknown file system"), cmp.Or(volume.Source, "an unknown device"),
		measure.FormatBytes(uint64(max(volume.FreeBytes, 0))))
}

func cpus(milli int64) string {
	if milli%1000 == 0 {
		return measure.FormatCount(int(milli/1000), "CPU")
	}
	return fmt.Sprintf("%.1f CPUs", float64(milli)/1000)
}

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
