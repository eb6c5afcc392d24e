package tool

import (
	"errors"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/dataset"
)

// TestAdvice checks that the remedy for a volume problem in a pod names what the author of a benchmark can change or
// inspect, and that the problem is unchanged for a local directory.
func TestAdvice(t *testing.T) {
	claim := VolumeConfig{Expect: dataset.Expectation{MustBeMountPoint: true}}
	for reason, want := range map[error]string{
		dataset.ErrPermission:    "clients.template.securityContext.runAsUser, or fsGroup",
		dataset.ErrReadOnly:      "accessModes",
		dataset.ErrNotMountPoint: "events of the pod",
	} {
		refusal := &dataset.Problem{Reason: reason, Path: "/data/data", Remedy: "by hand"}
		if got := claim.Advise(refusal); !errors.Is(got, reason) || !strings.Contains(got.Error(), want) || strings.Contains(got.Error(), "by hand") {
			t.Errorf("got %v", got)
		}
		if got := (VolumeConfig{}).Advise(refusal); !errors.Is(got, refusal) {
			t.Errorf("in a directory: %v", got)
		}
	}
	if claim.Advise(nil) != nil {
		t.Error("advice without a problem")
	}
}
