package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// formFlag adds -o to a command that writes a document; the first format is the default. The root command rejects other
// formats.
func formFlag(command *cobra.Command, output *string, forms ...string) {
	command.Flags().StringVarP(output, "output", "o", forms[0], alternatives(forms))
	fixedValues(command, "output", forms...)
}

// alternatives joins words as "a, b or c".
func alternatives(words []string) string { return joined(words, "or") }

// joined joins words with commas, and the last two with a conjunction.
func joined(words []string, conjunction string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// printAs writes a document as JSON or YAML. For any other format, it calls the function text instead.
func printAs(w io.Writer, output string, document any, text func(io.Writer) error) error {
	switch output {
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(document)
	case "yaml":
		written, err := yaml.Marshal(document)
		if err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
		_, err = w.Write(written)
		return err
	}
	return text(w)
}
