package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// troubleshooting is the page that explains each condition, reason, stage, warning and event to users.
const troubleshooting = "../../docs/troubleshooting.md"

// TestTroubleshooting checks that each condition, reason, stage, warning and event of the API has a complete row under
// the matching heading of the page, and that the page lists nothing else.
func TestTroubleshooting(t *testing.T) {
	page, err := os.ReadFile(troubleshooting)
	if err != nil {
		t.Fatal(err)
	}
	rows := documented(t, string(page))
	constants := words(t)
	for kind, headings := range map[string]func(string) bool{
		"Condition": func(heading string) bool { return heading == "Conditions" },
		"Reason":    func(heading string) bool { return strings.HasPrefix(heading, "Reasons of ") || heading == "Profiles" },
		"Stage":     func(heading string) bool { return heading == "Stages" },
		"Warning":   func(heading string) bool { return heading == "Warnings" },
		"Event":     func(heading string) bool { return heading == "Events" },
	} {
		found := map[string]bool{}
		for heading, words := range rows {
			if headings(heading) {
				maps.Copy(found, words)
			}
		}
		for _, word := range constants[kind] {
			if !found[word] {
				t.Errorf("%s %s is not on the page: add its cause and remedy", kind, word)
			}
			delete(found, word)
		}
		for word := range found {
			t.Errorf("the page has the %s %s, which is not in the API", strings.ToLower(kind), word)
		}
		if len(constants[kind]) < 8 {
			t.Errorf("only %d %ss were found in the code: %v", len(constants[kind]), kind, constants[kind])
		}
	}
}

// wordRow matches the row of a table that explains a word; the word is its first cell.
var wordRow = regexp.MustCompile("^\\| `([A-Za-z]+)` \\|")

// documented returns the words in the page's tables, by the heading above the table. An empty cell is an error, except
// in the table of conditions, where it means that the condition never has that status.
func documented(t *testing.T, page string) map[string]map[string]bool {
	t.Helper()
	rows, heading := map[string]map[string]bool{}, ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
			rows[heading] = map[string]bool{}
			continue
		}
		row := wordRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			if strings.TrimSpace(cell) == "" && heading != "Conditions" {
				t.Errorf("%s: the row of %s has an empty cell", heading, row[1])
			}
		}
		rows[heading][row[1]] = true
	}
	return rows
}

// words returns the values of the package's constants, by the first word of their names.
func words(t *testing.T) map[string][]string {
	t.Helper()
	kind := regexp.MustCompile(`^(Condition|Reason|Stage|Warning|Event)[A-Z]`)
	found := map[string][]string{}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), "_types.go") && file.Name() != "conditions.go" && file.Name() != "events.go" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			constant, ok := node.(*ast.ValueSpec)
			if !ok || len(constant.Names) != 1 || len(constant.Values) != 1 {
				return true
			}
			match, literal := kind.FindStringSubmatch(constant.Names[0].Name), constant.Values[0]
			basic, isText := literal.(*ast.BasicLit)
			if match == nil || !isText || basic.Kind != token.STRING {
				return true
			}
			value, err := strconv.Unquote(basic.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(found[match[1]], value) {
				found[match[1]] = append(found[match[1]], value)
			}
			return true
		})
	}
	return found
}
