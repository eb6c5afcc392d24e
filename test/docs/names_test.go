package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/config/crd"
	"github.com/storagebench/storagebench/internal/cli"
)

// kinds returns all names by which kubectl knows the project's kinds, in lower case.
func kinds(t *testing.T) []string {
	t.Helper()
	files, err := crd.Bases.ReadDir("bases")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"storagebench"} // the category
	for _, file := range files {
		text, err := crd.Bases.ReadFile("bases/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		of := definition.Spec.Names
		names = append(names, of.Plural, of.Singular, of.Plural+"."+definition.Spec.Group)
		names = append(names, of.ShortNames...)
	}
	return names
}

// constants returns the strings in the API's source that match a pattern.
func constants(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "api/v1alpha1/*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of the API: %v", err)
	}
	var found []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, match[1])
		}
	}
	if len(found) == 0 {
		t.Fatalf("no constant is like %s", pattern)
	}
	return found
}

func conditions(t *testing.T) []string {
	t.Helper()
	return constants(t, `\tCondition\w+ += "(\w+)"`)
}

// notKeys follow the API group in the text but are no labels, annotations or finalizers.
var notKeys = []string{"v1alpha1", "operator", "fio", "ior", "local"}

// TestLinks checks that every link leads to an existing file and heading.
func TestLinks(t *testing.T) {
	byName := map[string]*page{}
	all := pages(t)
	for _, page := range all {
		byName[page.name] = page
	}
	for _, page := range all {
		for _, link := range page.links {
			target, anchor, _ := strings.Cut(link.target, "#")
			if regexp.MustCompile(`^(https?|mailto):`).MatchString(target) {
				continue
			}
			name := page.name
			if target != "" {
				name = filepath.Join(filepath.Dir(page.name), target)
			}
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("%s:%d: %s leads nowhere", page.name, link.line, link.target)
				continue
			}
			if anchor == "" || strings.HasPrefix(anchor, "L") && filepath.Ext(name) != ".md" {
				continue
			}
			if byName[name] == nil && filepath.Ext(name) == ".md" {
				byName[name] = read(t, name)
			}
			if byName[name] == nil || !byName[name].anchors[anchor] {
				t.Errorf("%s:%d: %s has no heading #%s", page.name, link.line, name, anchor)
			}
		}
	}
}

// TestNames checks that files, commands, make targets, labels and metrics that the text names exist.
func TestNames(t *testing.T) {
	keys := append(constants(t, `Group \+ "/([a-z-]+)"`), notKeys...)
	metrics, err := os.ReadFile(filepath.Join(root, "docs/reference/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		for _, code := range page.codes {
			if problem := checkCode(code.text); problem != "" {
				t.Errorf("%s:%d: `%s`: %s", page.name, code.line, code.text, problem)
			}
		}
		for number, line := range strings.Split(string(page.source), "\n") {
			for _, match := range regexp.MustCompile(`\bstoragebench\.dev/([a-z0-9-]+)`).FindAllStringSubmatch(line, -1) {
				if !slices.Contains(keys, match[1]) {
					t.Errorf("%s:%d: nothing is called %s", page.name, number+1, match[0])
				}
			}
			for _, name := range regexp.MustCompile(`\bstoragebench_[a-z0-9_]+[a-z0-9]\b`).FindAllString(line, -1) {
				if page.name != "docs/reference/metrics.md" && !strings.Contains(string(metrics), "`"+name+"`") {
					t.Errorf("%s:%d: there is no metric %s", page.name, number+1, name)
				}
			}
		}
	}
}

// checkCode checks a code span that is a path, a command of the project or a make target. It returns the problem, or
// "".
func checkCode(span string) string {
	if ourPath.MatchString(span) {
		if err := checkPaths([]string{span}); err != nil {
			return err.Error()
		}
		return ""
	}
	words := strings.Fields(span)
	if len(words) < 2 || strings.ContainsAny(span, "[]|<>…") || strings.Contains(span, "...") {
		return "" // a pattern, not a command
	}
	all, err := statements(span)
	if err != nil || len(all) != 1 || len(all[0].calls) != 1 {
		return ""
	}
	call := all[0].calls[0]
	if arguments, is := ours(call); is && len(arguments) > 0 {
		if err := cli.Accepts(arguments); err != nil && !regexp.MustCompile(`^too few arguments|requires |required flag|^specify one tool`).MatchString(err.Error()) {
			return err.Error() // the text may name a command without its arguments
		}
		return ""
	}
	if call[0] == "make" && !strings.HasPrefix(words[1], "-") {
		if err := checkMake(call[1:]); err != nil {
			return err.Error()
		}
	}
	return ""
}
