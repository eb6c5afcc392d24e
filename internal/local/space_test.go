package local

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/plan"
)

// TestSpaceBesideOtherData checks that a run needs space beside data of other benchmarks and layouts. Only data that
// the run may reuse makes the space that it needs unknown.
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

// TestSpaceOfSubvolumes checks that btrfs subvolumes of the same device share their free space, although their device
// numbers differ.
func TestSpaceOfSubvolumes(t *testing.T) {
	for source, full := range map[string]bool{"/dev/sda": true, "/dev/sdb": false} {
		on := func(device uint64, source string) *target {
			mount := dataset.Mount{Device: device, FilesystemType: "btrfs", Source: source, AvailableBytes: 100}
			return &target{volumes: []*volume{{mount: mount, newBytes: 60}}}
		}
		r := &runner{targets: map[string]*target{"a": on(1, "/dev/sda"), "b": on(2, source)}}
		err := r.checkSpace(&v1alpha1.Target{Name: "a"})
		var space *dataset.SpaceError
		if errors.As(err, &space) != full || full && space.NeedBytes != 120 {
			t.Errorf("beside a subvolume of %s: %v", source, err)
		}
	}
}
