package docs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/storagebench/storagebench/internal/cli"
	"github.com/storagebench/storagebench/internal/version"
)

// outside lists programs of others, whose commands are not checked.
var outside = []string{
	"awk", "cat", "chmod", "cp", "date", "docker", "echo", "fio", "git", "grep", "head", "ior", "jq", "kind", "mkdir", "podman", "printf", "skopeo", "sort", "tail",
}

// textTools may be combined with commands of this project that are run.
var textTools = []string{"awk", "cat", "echo", "grep", "head", "mkdir", "printf", "sort", "tail"}

type statement struct {
	text string
	line int
	// calls holds its commands, each with its arguments.
	calls [][]string
}

// statements parses a script. Every variable expands to x and every command substitution to one word.
func statements(script string) ([]statement, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}
	config := &expand.Config{Env: expand.FuncEnviron(func(string) string { return "x" }), CmdSubst: nil}
	var all []statement
	for _, one := range file.Stmts {
		found := statement{text: script[one.Pos().Offset():one.End().Offset()], line: int(one.Pos().Line())}
		var problem error
		syntax.Walk(one, func(node syntax.Node) bool {
			// The commands of a substitution are calls of their own. In the outer command, a single word replaces them.
			call, is := node.(*syntax.CallExpr)
			if !is || len(call.Args) == 0 {
				return true
			}
			fields, err := expand.Fields(config, withoutSubstitutions(call.Args)...)
			problem = errors.Join(problem, err)
			found.calls = append(found.calls, fields)
			return true
		})
		if problem != nil {
			return nil, problem
		}
		all = append(all, found)
	}
	return all, nil
}

// withoutSubstitutions replaces each command substitution by a word.
func withoutSubstitutions(words []*syntax.Word) []*syntax.Word {
	replaced := func(parts []syntax.WordPart) []syntax.WordPart {
		made := slices.Clone(parts)
		for i := range made {
			if _, is := made[i].(*syntax.CmdSubst); is {
				made[i] = &syntax.Lit{Value: "x"}
			}
		}
		return made
	}
	var made []*syntax.Word
	for _, word := range words {
		parts := replaced(word.Parts)
		for i := range parts {
			if quoted, is := parts[i].(*syntax.DblQuoted); is {
				parts[i] = &syntax.DblQuoted{Parts: replaced(quoted.Parts)}
			}
		}
		made = append(made, &syntax.Word{Parts: parts})
	}
	return made
}

// checkShell checks the commands of a block and runs those that need no cluster.
func (s *scratch) checkShell(t *testing.T, block *block) {
	t.Helper()
	all, err := statements(block.text)
	if err != nil {
		t.Errorf("%s: %v", block, err)
		return
	}
	for _, one := range all {
		at := fmt.Sprintf("%s:%d", block.page, block.line+one.line)
		for _, call := range one.calls {
			if err := checkCall(t, call); err != nil {
				t.Errorf("%s: %s\n%v", at, strings.Join(call, " "), err)
			}
		}
		if !offline(one.calls) {
			continue
		}
		if output, err := s.run(one.text); err != nil {
			t.Errorf("%s: %s\n%v\n%s", at, one.text, err, output)
		}
	}
}

// shownCommand is a command of a console and its documented output.
type shownCommand struct{ command, output string }

func shownCommands(block *block) []shownCommand {
	var all []shownCommand
	for _, part := range strings.Split("\n"+block.text, "\n$ ")[1:] {
		command, output, _ := strings.Cut(part, "\n")
		all = append(all, shownCommand{command: command, output: output})
	}
	return all
}

// checkConsole runs the command after each $ and compares its output with the lines that follow.
func (s *scratch) checkConsole(t *testing.T, block *block) {
	t.Helper()
	for _, one := range s.checkCommands(t, block) {
		output, err := s.run(one.command)
		if err != nil {
			t.Errorf("%s: %s\n%v\n%s", block, one.command, err, output)
			continue
		}
		if missing, found := inOrder(one.output, output, false); !found {
			t.Errorf("%s: %s\ndoes not print this line here:\n%s\nbut\n%s", block, one.command, missing, output)
		}
	}
}

// checkCommands checks the commands of a console and returns those that can be run.
func (s *scratch) checkCommands(t *testing.T, block *block) []shownCommand {
	t.Helper()
	var runnable []shownCommand
	for _, one := range shownCommands(block) {
		all, err := statements(one.command)
		if err != nil {
			t.Errorf("%s: %v", block, err)
			continue
		}
		local := true
		for _, statement := range all {
			for _, call := range statement.calls {
				if err := checkCall(t, call); err != nil {
					t.Errorf("%s: %s\n%v", block, one.command, err)
				}
			}
			local = local && offline(statement.calls)
		}
		switch {
		case local:
			runnable = append(runnable, one)
		case exempt(block) < 0:
			t.Errorf("%s: %s\nnothing checks what this prints, since it needs a cluster: give a reason in test/docs/unchecked_test.go", block, one.command)
		}
	}
	return runnable
}

// ours returns the arguments of a command line of this project's program, and whether it is one.
func ours(call []string) ([]string, bool) {
	if len(call) > 1 && call[0] == "kubectl" && call[1] == "storagebench" {
		return call[2:], true
	}
	if call[0] == "bin/kubectl-storagebench" || call[0] == "kubectl-storagebench" {
		return call[1:], true
	}
	return nil, false
}

// offline reports whether all commands can run here: one of them is this project's, and none needs a cluster, loads
// storage or waits for input.
func offline(calls [][]string) bool {
	some := false
	for _, call := range calls {
		arguments, is := ours(call)
		if !is {
			if !slices.Contains(textTools, call[0]) {
				return false
			}
			continue
		}
		if len(arguments) == 0 {
			return false
		}
		switch arguments[0] {
		case "plan", "merge", "parse", "analyze", "convert", "profiles":
		case "report", "compare":
			if !slices.ContainsFunc(arguments, func(word string) bool { return strings.Contains(word, ".json") }) {
				return false
			}
		case "init":
			if slices.Contains(arguments, "--file") {
				return false // the directory has files of these names, which init does not overwrite
			}
		default:
			return false
		}
		if slices.ContainsFunc(arguments, placeholder) {
			return false
		}
		some = true
	}
	return some
}

// placeholder reports whether the reader must replace a word.
func placeholder(word string) bool { return regexp.MustCompile(`^[A-Z][A-Z-]+$`).MatchString(word) }

func checkCall(t *testing.T, call []string) error {
	t.Helper()
	if err := checkPaths(call); err != nil {
		return err
	}
	if arguments, is := ours(call); is {
		return cli.Accepts(arguments)
	}
	switch name := call[0]; {
	case name == "kubectl":
		return checkKubectl(t, call[1:])
	case name == "make":
		return checkMake(call[1:])
	case name == "helm":
		return checkHelm(t, call[1:])
	case name == "go" && len(call) > 2 && slices.Contains([]string{"run", "test", "build"}, call[1]),
		name == "sh" && len(call) > 1, strings.HasPrefix(name, "hack/"), name == "bin/cluster", name == "bin/operator":
		return nil // their paths are checked above
	case slices.Contains(outside, name):
		return nil
	}
	return fmt.Errorf("nothing checks %s: see outside in test/docs/shell_test.go", call[0])
}

// top lists the top-level directories of the repository.
const top = `api|charts|cmd|config|controllers|docs|hack|images|internal|test`

var ourPath = regexp.MustCompile(`^(?:\./)?(?:` + top + `)/[\w./*-]*$`)

// checkPaths checks that the repository's files that a command names exist.
func checkPaths(call []string) error {
	for _, word := range call {
		if _, value, is := strings.Cut(word, "="); is {
			word = value
		}
		if !ourPath.MatchString(word) || strings.HasSuffix(word, "/...") {
			continue
		}
		if found, err := filepath.Glob(filepath.Join(root, word)); err != nil || len(found) == 0 {
			return fmt.Errorf("there is no %s", word)
		}
	}
	return nil
}

func checkMake(arguments []string) error {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return err
	}
	for _, word := range arguments {
		if name, _, sets := strings.Cut(word, "="); sets {
			if !regexp.MustCompile(`(?m)^(export )?` + name + ` \?=`).Match(makefile) {
				return fmt.Errorf("the Makefile has no variable %s", name)
			}
			continue
		}
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(word) + `:`).Match(makefile) {
			return fmt.Errorf("the Makefile has no target %s", word)
		}
	}
	return nil
}

// checkHelm checks the flags of a command against helm's own help, and renders what it would install.
func checkHelm(t *testing.T, arguments []string) error {
	t.Helper()
	if len(arguments) == 0 {
		return errors.New("helm needs a command")
	}
	help, err := exec.CommandContext(t.Context(), helmProgram(t), arguments[0], "--help").Output()
	if err != nil {
		return fmt.Errorf("helm has no command %s", arguments[0])
	}
	for _, word := range arguments[1:] {
		flag, _, _ := strings.Cut(word, "=")
		if !strings.HasPrefix(flag, "-") {
			continue
		}
		if !regexp.MustCompile(`(^|[ ,])` + flag + `[ ,=]`).Match(help) {
			return fmt.Errorf("helm %s has no flag %s", arguments[0], flag)
		}
	}
	if arguments[0] != "install" && arguments[0] != "upgrade" {
		return nil
	}
	rendered := []string{"template"}
	for i, word := range arguments[1:] {
		switch flag, _, _ := strings.Cut(word, "="); {
		case slices.Contains([]string{"--reuse-values", "--reset-then-reuse-values"}, flag):
			rendered = append(rendered, "--set", "image.registry="+version.Registry) // the installed release has it
		case slices.Contains([]string{"--create-namespace", "--install", "--wait", "--atomic"}, flag):
		case strings.HasPrefix(word, "charts/"):
			rendered = append(rendered, filepath.Join(root, word))
		case strings.HasSuffix(word, ".yaml") && slices.Contains([]string{"-f", "--values"}, arguments[i]):
			// A file of the reader. Its content is checked as a block of its own.
			rendered = append(rendered[:len(rendered)-1], "--set", "image.registry="+version.Registry)
		default:
			rendered = append(rendered, word)
		}
	}
	return helm(t, rendered...)
}

// helm runs helm without the user's own configuration.
func helm(t *testing.T, arguments ...string) error {
	t.Helper()
	command := exec.CommandContext(t.Context(), helmProgram(t), arguments...)
	home := t.TempDir()
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "KUBECONFIG="+home+"/none")
	var problem bytes.Buffer
	command.Stderr = &problem
	if err := command.Run(); err != nil {
		return fmt.Errorf("helm %s: %w: %s", strings.Join(arguments, " "), err, problem.String())
	}
	return nil
}
