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

// onDevices reports whether a client's volumes are raw block devices.
func (c *Conductor) onDevices(key decide.ClientKey) bool {
	client := c.client(key)
	if client == nil {
		return false
	}
	return slices.ContainsFunc(client.describe().GetVolumes(), func(volume *agentapi.Volume) bool { return volume.GetRaw() })
}

// place adds the step's volumes and files to a load request.
func place(request *agentapi.LoadRequest, step plan.Step, target string, files map[string]uint64, devices bool) {
	names, dataset := step.Volumes[target], request.GetDataset()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		volume, file := fio.VolumeOf(name, len(names))
		dataset.Files = append(dataset.Files, &agentapi.DataFile{Name: file, Bytes: files[name], Volume: uint32(volume)}) //nolint:gosec // Below the number of volumes.
	}
	if devices {
		dataset.NewBytes = 0
		request.RawWrites = step.RawWrites[target]
		request.Folders = uint32(max(1, len(names))) //nolint:gosec // The API allows few.
	}
	if len(names) < 2 {
		return
	}
	request.Volume, request.MoreVolumes = names[0], names[1:]
	several := uint64(len(names))
	dataset.NewBytes = (dataset.GetNewBytes() + several - 1) / several
	for name := range files {
		folder, _, _ := strings.Cut(name, "/")
		if number, err := strconv.ParseUint(folder, 10, 31); err == nil {
			request.Folders = max(request.GetFolders(), uint32(number)+1)
		}
	}
}
