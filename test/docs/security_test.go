package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTestsOfSecurity checks that each test that docs/security.md names exists in the package that the page gives, or
// in any package if it gives none.
func TestTestsOfSecurity(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	everywhere := strings.Join(testSources(t), "\n")
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")
	found := named.FindAllStringSubmatch(string(text), -1)
	if len(found) < 100 {
		t.Errorf("the page names only %d tests", len(found))
	}
	for _, name := range found {
		if !strings.Contains(everywhere, "func "+name[1]+"(") {
			t.Errorf("%s does not exist", name[1])
		}
	}
	placed := regexp.MustCompile("((?:`(?:Test|Fuzz)[A-Z]\\w+`(?:,|,? and)?\\s+)+)in\\s+`((?:internal|controllers|test|cmd|hack)/[a-z0-9/]+)`")
	for _, group := range placed.FindAllStringSubmatch(string(text), -1) {
		files, err := filepath.Glob(filepath.Join(root, group[2], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var sources strings.Builder
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(source)
		}
		for _, name := range named.FindAllStringSubmatch(group[1], -1) {
			if !strings.Contains(sources.String(), "func "+name[1]+"(") {
				t.Errorf("%s is not in %s", name[1], group[2])
			}
		}
	}
}
