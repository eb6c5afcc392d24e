package admission

import (
	"go.yaml.in/yaml/v3"
)

// lineOf returns the line of the field at a path, counted within the document. If the document does not contain the
// field, it returns the line of the nearest enclosing field.
func lineOf(document *yaml.Node, path string) int {
	if document == nil {
		return 1
	}
	node := document
	if node.Kind == yaml.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	line := node.Line
	for _, step := range parsePath(path) {
		node = dealiased(node)
		child, at := childOf(node, step)
		if child == nil {
			return line
		}
		node, line = child, at
	}
	return line
}

// childOf returns the child node that a step of a path selects, and the line on which it begins. A field begins on the
// line of its key.
func childOf(node *yaml.Node, step pathStep) (*yaml.Node, int) {
	switch {
	case node.Kind == yaml.SequenceNode && step.isIndex && step.index < len(node.Content):
		child := node.Content[step.index]
		return child, child.Line
	case node.Kind == yaml.MappingNode && !step.isIndex:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i]; key.Value == step.name {
				return node.Content[i+1], key.Line
			}
		}
	}
	return nil, 0
}

func dealiased(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
