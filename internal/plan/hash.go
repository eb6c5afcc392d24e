package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// datasetHash is a short name for the files and the content that the prepare phases lay out.
func (m *maker) datasetHash() string {
	type content struct {
		Files    map[string]map[string]uint64
		Contents []any
	}
	all := content{Files: m.laidOut}
	for _, step := range m.plan.Steps {
		if step.Purpose != Prepare {
			continue
		}
		for _, target := range step.Targets {
			profile := step.Workloads[target].Fio
			all.Contents = append(all.Contents, target, profile.Compressibility, profile.RefillBuffers, profile.JobFile)
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
