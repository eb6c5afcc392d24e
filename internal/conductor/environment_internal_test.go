package conductor

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestTogether checks that clients that differ only in free space form one group, and that clients with different
// kernels do not.
func TestTogether(t *testing.T) {
	one := func(kernel string, free int64) v1alpha1.Environment {
		return v1alpha1.Environment{Target: "data", Kernel: kernel, Volumes: []v1alpha1.MountedVolume{{Name: "data", SizeBytes: 100, FreeBytes: free}}}
	}
	got := groupEnvironments([]v1alpha1.Environment{one("6.1", 51), one("6.12", 60), one("6.1", 50), one("6.1", 52)})
	if len(got) != 2 || got[0].Clients != 3 || got[0].Volumes[0].FreeBytes != 50 || got[1].Clients != 1 || got[1].Volumes[0].FreeBytes != 60 {
		t.Errorf("got %+v", got)
	}
}
