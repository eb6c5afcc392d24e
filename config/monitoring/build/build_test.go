package build_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/config/monitoring/build"
	"github.com/storagebench/storagebench/internal/metrics"
	"github.com/storagebench/storagebench/test/golden"
	"github.com/storagebench/storagebench/test/prometheus"
)

// TestFilesAreCurrent checks that the files in config/monitoring match the output of this package.
func TestFilesAreCurrent(t *testing.T) {
	files, err := build.Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		golden.File(t, filepath.Join("..", filepath.FromSlash(name)), string(want))
	}
	left, err := filepath.Glob("../dashboards/*")
	if err != nil || len(left) != len(build.Dashboards()) {
		t.Errorf("dashboards %v, %v", left, err)
	}
}

// queries returns the queries of all alerts and dashboards, by location.
func queries() map[string]string {
	all := map[string]string{}
	for _, alert := range build.Alerts() {
		all["alert "+alert.Name] = alert.Expression
	}
	for _, board := range build.Dashboards() {
		for _, panel := range board.Panels {
			for _, target := range panel.Targets {
				all[board.Title+", "+panel.Title+", "+target.RefID] = target.Expr
			}
		}
		for _, variable := range board.Templating.List {
			if variable.Type == "query" {
				all[board.Title+", variable "+variable.Name] = variable.Query
			}
		}
	}
	return all
}

// TestQueriesAskForWhatThereIs checks that queries use only existing metrics, and only labels that these metrics have.
func TestQueriesAskForWhatThereIs(t *testing.T) {
	labels := map[string][]string{"storagebench_limits_catalog_valid": nil}
	for _, family := range metrics.Families() {
		labels[family.FullName()] = family.Labels
	}
	selector := regexp.MustCompile(`(storagebench_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher := regexp.MustCompile(`([a-z]+)(?:=~|!~|!=|=)"`)
	for where, expression := range queries() {
		found := selector.FindAllStringSubmatch(expression, -1)
		if len(found) == 0 {
			t.Errorf("%s uses none of our metrics: %s", where, expression)
		}
		for _, one := range found {
			has, known := labels[one[1]]
			if !known {
				t.Errorf("%s uses %s, which does not exist", where, one[1])
				continue
			}
			for _, by := range matcher.FindAllStringSubmatch(one[2], -1) {
				if !slices.Contains(has, by[1]) {
					t.Errorf("%s selects %s by label %s, want one of %v", where, one[1], by[1], has)
				}
			}
		}
	}
	// Verify that the pattern matches a query.
	if selector.FindStringSubmatch("rate(storagebench_run_bytes_total{run=\"a\"}[5m])")[1] != "storagebench_run_bytes_total" {
		t.Error("the names of metrics are not found")
	}
}

// TestDashboards checks that the panels of a dashboard have unique IDs and do not overlap, as Grafana requires, and
// that queries use only declared variables.
func TestDashboards(t *testing.T) {
	uids := map[string]bool{}
	for _, board := range build.Dashboards() {
		if uids[board.UID] {
			t.Errorf("two dashboards have the UID %s", board.UID)
		}
		uids[board.UID] = true
		declared := map[string]bool{"__rate_interval": true}
		for _, variable := range board.Templating.List {
			declared[variable.Name] = true
		}
		taken := map[[2]int]string{}
		for i, panel := range board.Panels {
			if panel.ID != i+1 || len(panel.Targets) == 0 || panel.Datasource == nil {
				t.Errorf("%s: panel %+v", board.Title, panel)
			}
			at := panel.GridPos
			if at.X+at.W > 24 {
				t.Errorf("%s: %s is too wide", board.Title, panel.Title)
			}
			for x := at.X; x < at.X+at.W; x++ {
				for y := at.Y; y < at.Y+at.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: %s lies on %s", board.Title, panel.Title, other)
					}
					taken[[2]int{x, y}] = panel.Title
				}
			}
			for _, target := range panel.Targets {
				for _, variable := range regexp.MustCompile(`\$([a-z_]+)`).FindAllStringSubmatch(target.Expr, -1) {
					if !declared[variable[1]] {
						t.Errorf("%s, %s: variable $%s is not declared", board.Title, panel.Title, variable[1])
					}
				}
			}
		}
	}
}

// TestRules checks the alerts with promtool, and runs the cases in testdata/rules_test.yaml.
func TestRules(t *testing.T) {
	promtool := prometheus.Program(t, "promtool")
	folder := t.TempDir()
	rules, err := yaml.Marshal(build.Rules().Spec)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := os.ReadFile("testdata/rules_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"rules.yaml": rules, "rules_test.yaml": cases} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		command := exec.Command(promtool, arguments...)
		command.Dir = folder
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, output)
		}
	}
	for _, alert := range build.Alerts() {
		if !bytes.Contains(cases, []byte("alertname: "+alert.Name+"\n")) {
			t.Errorf("testdata/rules_test.yaml has no case for %s", alert.Name)
		}
	}
}
