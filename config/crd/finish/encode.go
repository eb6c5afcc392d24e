package main

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// encode writes a CRD with its innermost maps and lists on one line each:
//
//	jobs: {description: Jobs per client., format: int32, maximum: 1024, type: integer}
//
// In YAML's usual block style, indentation takes up half of a CRD.
func encode(definition map[string]any) ([]byte, error) {
	var root yaml.Node
	if err := root.Encode(definition); err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	flatten(&root)
	finished := bytes.NewBufferString("---\n")
	encoder := yaml.NewEncoder(finished)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(&root); err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return finished.Bytes(), nil
}

// maxFlowLength is the maximum length of a one-line map or list that contains other maps or lists. At half this value,
// a file would be about 2 kB larger, because more of it would be in block style, which needs more indentation.
const maxFlowLength = 12000

// flatten formats each map or list of scalars as a single line. It also formats a map or list of other maps or lists as
// a single line, unless that line would be longer than maxFlowLength. It returns the length of the line, or -1 if the
// node takes up more than one line.
func flatten(node *yaml.Node) int {
	if node.Kind == yaml.ScalarNode {
		if node.Style == yaml.LiteralStyle {
			node.Style = 0
		}
		return len(node.Value)
	}
	length, innermost := 0, len(node.Content) > 0
	for _, child := range node.Content {
		inner := flatten(child)
		innermost = innermost && child.Kind == yaml.ScalarNode
		if inner < 0 || length < 0 {
			length = -1
			continue
		}
		length += inner + len(": ")
	}
	if length < 0 || (!innermost && length > maxFlowLength) {
		return -1
	}
	node.Style = yaml.FlowStyle
	return length
}
