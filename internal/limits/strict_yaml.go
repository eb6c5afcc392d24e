package limits

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// strictly decodes a node of a YAML document and returns an error for unknown fields and duplicate keys. Decoding the
// node directly would accept unknown fields.
func strictly(node *yaml.Node, into any) error {
	text, err := yaml.Marshal(node)
	if err != nil {
		return fmt.Errorf("decode a part of the document: %w", err)
	}
	return strictBytes(text, into)
}

// strictBytes decodes a text that must contain exactly one YAML document. It makes the same checks as the function
// strictly.
func strictBytes(text []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("the file is empty: set catalog, sources and rows")
		}
		return withoutGoTypes(err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return errors.New("the file has more than one document: keep one")
	}
	return nil
}

// withoutGoTypes removes the names of Go types from a parser's error message.
func withoutGoTypes(err error) error {
	var typed *yaml.TypeError
	if !errors.As(err, &typed) {
		return err
	}
	lines := make([]string, 0, len(typed.Errors))
	for _, line := range typed.Errors {
		if _, after, found := strings.Cut(line, ": "); found && strings.HasPrefix(line, "line ") {
			line = after
		}
		if before, _, found := strings.Cut(line, " not found in type"); found {
			line = before + " is unknown; correct its spelling or remove it"
		}
		lines = append(lines, line)
	}
	return errors.New(strings.Join(lines, "; "))
}
