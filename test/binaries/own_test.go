package binaries

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestSeveralPutOneOwnProgramInPlace checks that concurrent calls of BuildOwn can build the same program, as parallel
// tests do when each of them mounts a store.
func TestSeveralPutOneOwnProgramInPlace(t *testing.T) {
	target := filepath.Join(t.TempDir(), "new", "testsummary")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := BuildOwn(t.Context(), "./hack/testsummary", target); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	entries, err := os.ReadDir(filepath.Dir(target))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != "testsummary" {
		t.Errorf("the folder holds %v, want testsummary alone", entries)
	}
}
