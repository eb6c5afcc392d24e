package docs_test

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMap checks that AGENTS.md names every directory with packages, or its parent, that the directories it names
// exist, and that the tests that hold its recipes exist.
func TestMap(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "AGENTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, span := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(text), -1) {
		for word := range strings.FieldsSeq(span[1]) {
			named[word] = true
		}
	}
	for _, pattern := range []string{"api/*", "cmd/*", "controllers/*", "internal/*", "test/*", "config", "images", "hack"} {
		folders, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(folders) == 0 {
			t.Fatalf("%s: nothing found, %v", pattern, err)
		}
		for _, folder := range folders {
			name, err := filepath.Rel(root, folder)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(folder); err != nil || !info.IsDir() || named[name] || inside(named, name) {
				continue
			}
			t.Errorf("AGENTS.md does not say what %s holds", name)
		}
	}
	sources := testSources(t)
	for name := range named {
		if strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "test/") || strings.HasPrefix(name, "controllers/") {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("AGENTS.md names %s, which is not there", name)
			}
		}
		if regexp.MustCompile(`^Test[A-Z]\w+$`).MatchString(name) && !slices.ContainsFunc(sources, func(source string) bool { return strings.Contains(source, "func "+name+"(") }) {
			t.Errorf("AGENTS.md names the test %s, which does not exist", name)
		}
	}
}

// TestPictures checks that every line of a picture's source is in the picture. It does not run Graphviz, whose output
// differs between versions.
func TestPictures(t *testing.T) {
	sources, err := filepath.Glob(filepath.Join(root, "docs/pictures/*.dot"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no pictures: %v", err)
	}
	for _, name := range sources {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := os.ReadFile(strings.TrimSuffix(name, ".dot") + ".svg")
		if err != nil {
			t.Fatal(err)
		}
		for _, label := range regexp.MustCompile(`label="([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
			for line := range strings.SplitSeq(label[1], `\n`) {
				if !strings.Contains(string(picture), ">"+html.EscapeString(line)+"</text>") {
					t.Errorf("%s has not the line %q: run `make pictures`", filepath.Base(name), line)
				}
			}
		}
	}
}

// inside reports whether named has something in the folder, such as config/crd in config.
func inside(named map[string]bool, folder string) bool {
	for name := range named {
		if strings.HasPrefix(name, folder+"/") {
			return !strings.HasPrefix(folder, "internal/") && !strings.HasPrefix(folder, "controllers/")
		}
	}
	return false
}

func testSources(t *testing.T) []string {
	t.Helper()
	var sources []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		sources = append(sources, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}
