package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// datasetHash is a short name for the files and the content that the prepare phases lay out. Two
// layouts share it only when whoever reads one may as well read the other.
func (m *maker) datasetHash() string {
	var all struct {
		Files   map[string]map[string]uint64
		Layers  []layer
		Lustre  map[string]Striping `json:",omitempty"`
		Ranks   []*rankLayer        `json:",omitempty"`
		Setups  []setupLayer        `json:",omitempty"`
		Volumes map[string]int      `json:",omitempty"`
	}
	all.Volumes = m.severalVolumes()
	all.Files, all.Lustre = map[string]map[string]uint64{}, m.strips()
	for target, data := range m.datasets {
		if len(data.laidOut) > 0 {
			all.Files[target] = data.laidOut
		}
	}
	for _, step := range m.plan.Steps {
		if step.Purpose != Prepare {
			continue
		}
		for _, target := range step.Targets {
			if profile := step.Workloads[target].IOR; profile != nil {
				all.Ranks = append(all.Ranks, rankLayerOf(target, profile, step.Clients*step.Processes))
				continue
			}
			if profile := step.Workloads[target].Command; profile != nil {
				all.Setups = append(all.Setups, setupLayer{target, profile.Setup, profile.WorkingDirectory})
				continue
			}
			all.Layers = append(all.Layers, layerOf(target, step.Workloads[target].Fio))
		}
	}
	// Maps are encoded in the order of their keys, so equal layouts give equal bytes; the types
	// hold nothing that JSON cannot say.
	encoded, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:6])
}

// layer is what decides the bytes that one prepare phase writes on one target, beside the files.
// How fast they are read or written later is no part of it.
type layer struct {
	Target          string
	CompressPercent *int32
	ChunkBytes      int64
	RefillBuffers   bool
	Options         map[string]v1alpha1.FioOptionValue
	JobFile         string
	CompressLike    string `json:",omitempty"`
}

func layerOf(target string, profile *v1alpha1.FioProfile) layer {
	l := layer{
		Target:        target,
		RefillBuffers: profile.RefillBuffers != nil && *profile.RefillBuffers,
		Options:       profile.Options,
		JobFile:       profile.JobFile,
		CompressLike:  profile.CompressLike,
	}
	if c := profile.Compressibility; c != nil {
		l.CompressPercent = &c.Percent
		if c.ChunkSize != nil {
			// As a number: 4Ki and 4096 are the same.
			l.ChunkBytes = c.ChunkSize.Value()
		}
	}
	return l
}
