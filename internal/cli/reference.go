package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Reference writes the reference of all commands in Markdown. Flags and examples are the same as in --help.
func Reference(w io.Writer) error {
	root := newRoot(Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, nil)
	var b strings.Builder
	b.WriteString("# Command-line reference\n\nGenerated from the program by `make generate`. For a guide, see [The command line](../cli.md).\n")
	describe(&b, root)
	_, err := io.WriteString(w, b.String())
	return err
}

func describe(b *strings.Builder, command *cobra.Command) {
	if command.Hidden || command.Name() == "help" {
		return
	}
	// The usage line depends on whether the command has flags. Add --help here, because cobra adds it only when it runs
	// the command.
	command.InitDefaultHelpFlag()
	fmt.Fprintf(b, "\n## %s\n\n%s\n", command.CommandPath(), escaped(cmp.Or(command.Long, command.Short)))
	if command.Runnable() {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", command.UseLine())
	}
	if command.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n\n```sh\n%s\n```\n", unindented(command.Example))
	}
	var flags []string
	command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" {
			return
		}
		name := "--" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand + ", " + name
		}
		standard := ""
		if flag.DefValue != "" && flag.DefValue != "[]" && flag.DefValue != "false" && flag.DefValue != "0" {
			standard = "`" + flag.DefValue + "`"
		}
		flags = append(flags, fmt.Sprintf("| `%s` | %s | %s |\n", name, strings.ReplaceAll(flag.Usage, "|", "\\|"), standard))
	})
	if len(flags) > 0 {
		b.WriteString("\n| flag | meaning | default |\n| --- | --- | --- |\n" + strings.Join(flags, ""))
	}
	children := slices.Clone(command.Commands())
	slices.SortFunc(children, func(a, b *cobra.Command) int { return strings.Compare(a.Name(), b.Name()) })
	for _, child := range children {
		describe(b, child)
	}
}

// escaped escapes the characters that Markdown would interpret. It keeps line breaks.
func escaped(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", "\\*", "_", "\\_").Replace(text)
}

func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}
