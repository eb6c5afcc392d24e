package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

type reason struct {
	constant, value, meaning string
}

// objects maps each package to the kind of object on which it emits events.
var objects = map[string]string{
	"controllers/benchmarkrun":     "BenchmarkRun",
	"controllers/storagebenchmark": "StorageBenchmark",
	"controllers/catalog":          "ConfigMap",
	"controllers/library":          "ClusterWorkloadProfile",
	"controllers/workloadprofile":  "WorkloadProfile",
}

const head = `# Events

Generated from api/v1alpha1/events.go by ` + "`make generate`" + `. Do not edit.

Each event is recorded once, after the change that it reports has been stored. To see them, use ` + "`kubectl describe`" + ` or
` + "`kubectl get events --field-selector involvedObject.name=NAME`" + `. The cluster deletes events, usually after an hour. The status of a
run keeps its history (` + "`kubectl get benchmarkrun NAME -o yaml`" + `). [Troubleshooting](../troubleshooting.md#events) has a remedy for each.

| reason | object | meaning |
| --- | --- | --- |
`

// render generates the reference for the repository at root. It fails if a reason has no comment with its meaning, or
// is never emitted.
func render(root string) ([]byte, error) {
	reasons, err := declared(filepath.Join(root, "api", "v1alpha1", "events.go"))
	if err != nil {
		return nil, err
	}
	at, err := told(root)
	if err != nil {
		return nil, err
	}
	text := bytes.NewBufferString(head)
	for _, one := range reasons {
		if one.meaning == "" {
			return nil, fmt.Errorf("%s has no comment that begins with %q: add one that says what the event means", one.constant, one.constant+": ")
		}
		where := slices.Sorted(maps.Keys(at[one.constant]))
		if len(where) == 0 {
			return nil, fmt.Errorf("event %s is never recorded: record it, or remove the constant", one.constant)
		}
		fmt.Fprintf(text, "| `%s` | %s | %s |\n", one.value, strings.Join(where, ", "), one.meaning)
	}
	return text.Bytes(), nil
}

// declared returns the reasons with their comments, in file order.
func declared(file string) ([]reason, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read the event reasons: %w", err)
	}
	var all []reason
	for _, declaration := range parsed.Decls {
		constants, ok := declaration.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			constant := spec.(*ast.ValueSpec)
			value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", constant.Names[0], err)
			}
			comment := strings.Join(strings.Fields(constant.Doc.Text()), " ")
			meaning, found := strings.CutPrefix(comment, constant.Names[0].Name+": ")
			if !found {
				meaning = ""
			}
			all = append(all, reason{constant: constant.Names[0].Name, value: value, meaning: meaning})
		}
	}
	return all, nil
}

// told maps the constant of each event reason to the kinds of objects on which events with this reason are emitted.
func told(root string) (map[string]map[string]bool, error) {
	at := map[string]map[string]bool{}
	for folder, object := range objects {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(node ast.Node) bool {
				if used, ok := node.(*ast.SelectorExpr); ok && strings.HasPrefix(used.Sel.Name, "Event") {
					if from, ok := used.X.(*ast.Ident); ok && from.Name == "v1alpha1" {
						if at[used.Sel.Name] == nil {
							at[used.Sel.Name] = map[string]bool{}
						}
						at[used.Sel.Name][object] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("find the events emitted in %s: %w", folder, err)
		}
	}
	return at, nil
}
