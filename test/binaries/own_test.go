package binaries

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Tests of one package open their stores in parallel, and each puts the store's program in place first.
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
