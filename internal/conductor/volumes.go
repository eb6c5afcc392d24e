package conductor

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/plan"
)

// onDevices reports whether a client has found its volumes to be raw block devices.
func (c *Conductor) onDevices(key decide.ClientKey) bool {
	client := c.client(key)
	if client == nil {
		return false
	}
	return slices.ContainsFunc(client.describe().GetVolumes(), func(volume *agentapi.Volume) bool { return volume.GetRaw() })
}

// place says on which volumes a step works.
func place(request *agentapi.LoadRequest, step plan.Step, target string, traits fio.Traits, devices bool) {
	names := step.Volumes[target]
	if devices {
		request.Dataset.NewBytes = 0
		request.RawWrites = step.RawWrites[target]
		request.Folders = uint32(max(1, len(names))) //nolint:gosec // The API allows few.
	}
	if len(names) < 2 {
		return
	}
	request.Volume, request.MoreVolumes = names[0], names[1:]
	several := uint64(len(names))
	request.Dataset.NewBytes = (request.GetDataset().GetNewBytes() + several - 1) / several
	for name := range traits.FileSizes {
		folder, _, _ := strings.Cut(name, "/")
		if number, err := strconv.ParseUint(folder, 10, 31); err == nil {
			request.Folders = max(request.GetFolders(), uint32(number)+1)
		}
	}
}

// files are those of a step on each of its volumes.
func files(traits fio.Traits, volumes int) []*agentapi.DataFile {
	var all []*agentapi.DataFile
	for _, name := range slices.Sorted(maps.Keys(traits.FileSizes)) {
		volume, file := fio.VolumeOf(name, volumes)
		all = append(all, &agentapi.DataFile{Name: file, Bytes: traits.FileSizes[name], Volume: uint32(volume)}) //nolint:gosec // Below the number of volumes.
	}
	return all
}
