package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// FieldDifference is a field that has different values in the two compared objects. The value is "absent" in an object
// that does not have the field.
type FieldDifference struct {
	Field    string `json:"field"`
	Baseline string `json:"baseline"`
	Other    string `json:"other"`
}

// maxUnlike limits the number of fields listed. A longer list would not help to explain a difference.
const maxUnlike = 64

// Differences lists the fields in which two values differ. Fields are identified by their JSON paths and sorted by
// name.
func Differences(a, b any) []FieldDifference {
	var all []FieldDifference
	walk("", toJSON(a), toJSON(b), &all)
	return all[:min(len(all), maxUnlike)]
}

// toJSON converts a value to its JSON representation, or returns nil if it has none.
func toJSON(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var read any
	if json.Unmarshal(text, &read) != nil {
		return nil
	}
	return read
}

func walk(path string, a, b any, all *[]FieldDifference) {
	left, leftMap := a.(map[string]any)
	right, rightMap := b.(map[string]any)
	if leftMap && rightMap {
		names := maps.Clone(left)
		maps.Copy(names, right)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			under := name
			if path != "" {
				under = path + "." + name
			}
			walk(under, left[name], right[name], all)
		}
		return
	}
	leftList, isLeft := a.([]any)
	rightList, isRight := b.([]any)
	if isLeft && isRight {
		for i := range max(len(leftList), len(rightList)) {
			var x, y any
			if i < len(leftList) {
				x = leftList[i]
			}
			if i < len(rightList) {
				y = rightList[i]
			}
			walk(fmt.Sprintf("%s[%d]", path, i), x, y, all)
		}
		return
	}
	if x, y := written(a), written(b); x != y {
		*all = append(*all, FieldDifference{Field: path, Baseline: v1alpha1.Truncate(x, 120), Other: v1alpha1.Truncate(y, 120)})
	}
}

func written(value any) string {
	if value == nil {
		return "absent"
	}
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "unreadable"
	}
	return string(text)
}

// EnvironmentDifferences lists the differences between the environments of two runs: tools, kernels, machines and
// storage.
func EnvironmentDifferences(a, b *v1alpha1.BenchmarkRunStatus) []FieldDifference {
	about := func(s *v1alpha1.BenchmarkRunStatus) any {
		type volume struct{ FileSystem, Options string }
		type client struct {
			Clients                                         int32
			AgentVersion, ToolVersion, Kernel, Architecture string
			CPUMilli, MemoryBytes                           int64
			Volumes                                         []volume
		}
		found := map[string]any{}
		for i := range s.Environments {
			e := &s.Environments[i]
			made := client{e.Clients, e.AgentVersion, e.ToolVersion, e.Kernel, e.Architecture, e.CPUMilli, e.MemoryBytes, nil}
			for _, v := range e.Volumes {
				made.Volumes = append(made.Volumes, volume{v.FileSystem, v.Options})
			}
			found[fmt.Sprintf("clients of %s", e.Target)] = made
		}
		for i := range s.Storage {
			d := &s.Storage[i]
			var limits, volumes []any
			for j := range d.Limits {
				limits = append(limits, map[string]any{"name": d.Limits[j].Name, "baseline": d.Limits[j].Baseline, "burst": d.Limits[j].Burst})
			}
			for j := range d.Volumes {
				v := &d.Volumes[j]
				volumes = append(volumes, map[string]any{"driver": v.Driver, "storageClass": v.StorageClass, "sizeBytes": v.SizeBytes, "parameters": v.Parameters})
			}
			found["storage of "+d.Target] = map[string]any{"limits": limits, "volumes": volumes, "machines": d.Machines}
		}
		return found
	}
	return Differences(about(a), about(b))
}

// WorkloadDifferences lists the differences between the workloads of two runs. Runs with the same hash can have
// different workloads, because the hash does not cover the contents of profiles.
func WorkloadDifferences(a, b *v1alpha1.RunSpec) []FieldDifference {
	workloads := func(run *v1alpha1.RunSpec) any {
		found := map[string]*v1alpha1.Workload{}
		for i := range run.Phases {
			phase := &run.Phases[i]
			for j := range run.Targets {
				target := run.Targets[j].Name
				found[phase.Name+" on "+target] = run.WorkloadOf(phase, target)
			}
		}
		return found
	}
	return Differences(workloads(a), workloads(b))
}
