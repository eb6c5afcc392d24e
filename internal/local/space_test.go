package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/plan"
)

// TestSpaceBesideOtherData checks that only data of the same benchmark and layout, which the run may reuse, makes the
// space that the run needs unknown.
func TestSpaceBesideOtherData(t *testing.T) {
	for existing, want := range map[string]uint64{"other/h": 8 << 20, "u/other": 8 << 20, "u/h": 0} {
		directory := t.TempDir()
		if err := os.MkdirAll(filepath.Join(directory, v1alpha1.DataDirectory, existing), 0o700); err != nil {
			t.Fatal(err)
		}
		planned := plan.Plan{ClientsPerTarget: 8, DatasetHash: "h", Steps: []plan.Step{{NewBytes: map[string]uint64{"a": 1 << 20}}}}
		one := &volume{mount: dataset.Mount{Path: directory}}
		r := &runner{options: Options{Plan: planned}}
		r.setNewBytes(&target{name: "a", uid: "u", volumes: []*volume{one}})
		if one.newBytes != want {
			t.Errorf("beside %s: the run adds %d bytes, want %d", existing, one.newBytes, want)
		}
	}
}
