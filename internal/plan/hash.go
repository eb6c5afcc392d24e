package plan

import "github.com/storagebench/storagebench/internal/engine"

// datasetHash returns a hash of the files and the content that the prepare phases lay out. If two layouts have equal
// hashes, a phase that reads can use either of them.
func (m *maker) datasetHash() string {
	files, layers := map[string]map[string]uint64{}, map[string][]any{"Layers": nil}
	for target, data := range m.datasets {
		if len(data.laidOut) > 0 {
			files[target] = data.laidOut
		}
	}
	for i := range m.plan.Steps {
		step := &m.plan.Steps[i]
		if step.Purpose != Prepare {
			continue
		}
		for _, target := range step.Targets {
			if made, err := m.demands.describe(step.Workloads[target], step.For(target)); err == nil && made.Layer != nil {
				name := step.Load(target).Layers
				layers[name] = append(layers[name], made.Layer(target))
			}
		}
	}
	all := map[string]any{"Files": files}
	for name, of := range layers {
		all[name] = of
	}
	if len(m.striping) > 0 {
		all["Lustre"] = m.striping
	}
	if volumes := m.severalVolumes(); len(volumes) > 0 {
		all["Volumes"] = volumes
	}
	return engine.NameOf(all)
}
