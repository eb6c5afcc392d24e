package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/golden"
)

// notes returns the notes that helm prints after it has installed a release in a namespace.
func notes(t *testing.T, release, space string, values ...string) string {
	t.Helper()
	arguments := []string{"install", release, folder, "--namespace", space, "--dry-run=client"}
	stdout, stderr, err := helm(t, append(arguments, set(values...)...)...)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	_, said, found := strings.Cut(stdout, "\nNOTES:\n")
	if !found {
		t.Fatalf("helm shows no notes:\n%s", stdout)
	}
	return said
}

// told lists combinations of values that change the notes.
var told = map[string][]string{
	"default":                    nil,
	"no-metrics":                 {`metrics.enabled=false`},
	"another-port":               {`metrics.port=9443`},
	"own-roles":                  {`rbac.aggregateToDefaultRoles=false`},
	"own-roles-no-metrics":       {`rbac.aggregateToDefaultRoles=false`, `metrics.enabled=false`},
	"one-namespace":              {`watch.namespaces=["team-a"]`},
	"two-namespaces":             {`watch.namespaces=["team-a","team-b"]`},
	"no-cluster-reads":           {`watch.namespaces=["team-a"]`, `watch.clusterReads=false`},
	"cluster-reads-off-with-all": {`watch.clusterReads=false`},
	"as-narrow-as-can-be": {
		`watch.namespaces=["team-a","team-b"]`, `watch.clusterReads=false`, `rbac.aggregateToDefaultRoles=false`, `metrics.enabled=false`},
}

// TestNotes compares the notes that a user reads after an installation with golden files, for each combination of
// values in told.
func TestNotes(t *testing.T) {
	t.Parallel()
	for name, values := range told {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden.Check(t, filepath.Join("notes", name), notes(t, "storagebench", namespace, values...))
		})
	}
	t.Run("names", func(t *testing.T) {
		said := notes(t, "mine", "elsewhere")
		for _, want := range []string{"is installed in elsewhere.", "helm test mine --namespace elsewhere --logs", "namespace elsewhere. See docs/install.md"} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not in the notes of release mine in namespace elsewhere:\n%s", want, said)
			}
		}
	})
	// A value that the template reads but that no combination sets could change the notes unnoticed.
	t.Run("values", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join(folder, "templates", "NOTES.txt"))
		if err != nil {
			t.Fatal(err)
		}
		read := regexp.MustCompile(`\.Values\.([A-Za-z.]+)`).FindAllStringSubmatch(string(text), -1)
		if len(read) == 0 {
			t.Error("NOTES.txt reads no values")
		}
		for _, found := range read {
			if !changesNotes(found[1]) {
				t.Errorf("NOTES.txt reads %s, but no combination sets it", found[1])
			}
		}
	})
}

// changesNotes reports whether a combination in told sets the value.
func changesNotes(path string) bool {
	for _, values := range told {
		for _, value := range values {
			if strings.HasPrefix(value, path+"=") {
				return true
			}
		}
	}
	return false
}
