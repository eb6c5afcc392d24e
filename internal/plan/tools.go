package plan

import (
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// ToolMPI is the program that starts jobs of MPI.
const ToolMPI = "mpirun"

// Tools are the programs that a target's clients need, by name, in order: engines, and what starts them.
func (p Plan) Tools(target string) []string {
	var tools []string
	for i := range p.Steps {
		engine := p.Steps[i].Workloads[target]
		if engine == nil || engine.Command != nil {
			continue // a program of the user's is looked for when its step is loaded
		}
		tools = with(tools, string(engine.EngineKind()))
		if engine.SpansClients() {
			tools = with(tools, ToolMPI)
		}
	}
	order := []string{string(v1alpha1.EngineFio), string(v1alpha1.EngineIOR), string(v1alpha1.EngineMdtest), ToolMPI}
	slices.SortFunc(tools, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return tools
}
