package admission

import (
	"strconv"
	"strings"
)

// pathStep is one step of a path: the name of a field or key, or an index.
type pathStep struct {
	name    string
	index   int
	isIndex bool
}

// parsePath splits a path in the API server's format: names separated by dots, and list indexes or map keys in
// brackets.
func parsePath(path string) []pathStep {
	var steps []pathStep
	for path != "" {
		if path[0] == '[' {
			inner, rest, _ := strings.Cut(path[1:], "]")
			path = rest
			if index, err := strconv.Atoi(inner); err == nil && index >= 0 {
				steps = append(steps, pathStep{index: index, isIndex: true})
				continue
			}
			steps = append(steps, pathStep{name: strings.Trim(inner, `"`)})
			continue
		}
		end := strings.IndexAny(path[1:], ".[")
		name := path
		if end >= 0 {
			name = path[:end+1]
		}
		path = path[len(name):]
		if name = strings.TrimPrefix(name, "."); name != "" {
			steps = append(steps, pathStep{name: name})
		}
	}
	return steps
}
