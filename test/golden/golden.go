// Package golden compares the output of tests with files. `go test PACKAGE -update` writes the files again.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update makes Check and File write the files before they compare.
var Update = flag.Bool("update", false, "write the golden files anew")

// Check compares got with the file testdata/NAME.golden.
func Check(t *testing.T, name, got string) {
	t.Helper()
	File(t, filepath.Join("testdata", name+".golden"), got)
}

// File compares got with a file whose path is relative to the test's package.
func File(t *testing.T, path, got string) {
	t.Helper()
	if *Update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got; go test -update writes it):\n%s", path, diff)
	}
}
