package limits

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// strictly decodes a part of a document; fields that nobody knows and keys that come twice are errors.
// Decoding a node by itself would let unknown fields pass.
func strictly(node *yaml.Node, into any) error {
	text, err := yaml.Marshal(node)
	if err != nil {
		return fmt.Errorf("take a part of the document: %w", err)
	}
	return strictBytes(text, into)
}

// strictBytes decodes one whole document.
func strictBytes(text []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("it is empty; write catalog, sources and rows")
		}
		return plainly(err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one document in it; write one")
	}
	return nil
}

// plainly takes what Go calls the types out of a message of the parser.
func plainly(err error) error {
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
			line = before + " is not known; correct its spelling or remove it"
		}
		lines = append(lines, line)
	}
	return errors.New(strings.Join(lines, "; "))
}
