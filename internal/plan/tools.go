package plan

import "slices"

// Tools returns the names of the programs that a target's clients need, sorted.
func (p Plan) Tools(target string) []string {
	var tools []string
	for i := range p.Steps {
		tools = append(tools, p.Steps[i].Load(target).Tools...)
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}
