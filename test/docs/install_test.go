package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUninstallWaitsForRuns checks that instructions to remove the operator first wait until its runs are deleted. A
// live run has a finalizer: without its operator, it would never go away.
func TestUninstallWaitsForRuns(t *testing.T) {
	waits := regexp.MustCompile(`wait --for=delete benchmarkruns|wait until their runs are gone`)
	for name, uninstall := range map[string]string{
		"docs/install.md":                         "helm uninstall storagebench",
		"docs/quick-start.md":                     "kubectl delete -k config/default",
		"config/README.md":                        "kubectl delete -k config/default",
		"charts/storagebench/README.md":           "helm uninstall",
		"charts/storagebench/templates/NOTES.txt": "helm uninstall",
	} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		before, _, found := strings.Cut(string(text), uninstall)
		if !found || !waits.MatchString(before) {
			t.Errorf("%s does not wait for the runs before %q", name, uninstall)
		}
	}
}

// TestUpgradeNamesTheTag checks that the upgrade instructions set image.tag, because `--reset-then-reuse-values` keeps
// the old one.
func TestUpgradeNamesTheTag(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/install.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, upgrading, _ := strings.Cut(string(text), "\n## Upgrading\n")
	upgrading, _, _ = strings.Cut(upgrading, "\n## ")
	if !strings.Contains(upgrading, "--reset-then-reuse-values") || !strings.Contains(upgrading, "--set image.tag=") {
		t.Error("the upgrade keeps the old image.tag")
	}
}
