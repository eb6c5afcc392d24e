package report

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
	kubeyaml "sigs.k8s.io/yaml"
)

// asJSON converts a YAML mapping to JSON. It returns any other text unchanged.
func asJSON(text []byte) ([]byte, error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return text, nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil || document.Content[0].Kind != yaml.MappingNode {
		return text, nil //nolint:nilerr // If this is no JSON either, the JSON decoder says so.
	}
	if hasAlias(&document) {
		// Reject aliases, which can make a small file expand to terabytes. Results do not contain aliases.
		return nil, noResult("the input has a YAML alias: replace the alias with its value")
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errMoreData
	}
	converted, err := kubeyaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, noResult("%w", err)
	}
	return converted, nil
}

func hasAlias(node *yaml.Node) bool {
	return node.Kind == yaml.AliasNode || slices.ContainsFunc(node.Content, hasAlias)
}
