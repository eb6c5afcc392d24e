package e2e

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/soak"
)

// TestLibraryProfile checks that a benchmark can name a profile of the library and override its dataset size.
func TestLibraryProfile(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s := newSpace(t)
	s.claim("data", "1Gi")
	benchmark := builders.Benchmark("bench").Target("data").Prepare("layout").Steady("read", "3s").WarmUp("1s").Obj()
	size := resource.MustParse("16Mi")
	benchmark.Spec.Run.Workload = &v1alpha1.Workload{ProfileRef: &v1alpha1.ProfileRef{
		Kind: v1alpha1.ClusterWorkloadProfileKind, Name: "rand-read-4k-qd1", DatasetSize: &size}}
	s.apply(benchmark)
	run := s.ended(2 * time.Minute)
	s.complete(run)
	target, operation := figures(s, run, "read")
	if operation.Operation != v1alpha1.OperationRead {
		t.Errorf("operation %s of a profile that reads", operation.Operation)
	}
	plausible(s, "read", target, operation, 4096, 1)
	// Look at the newest attempt: the start command of an earlier one may have come too late.
	if layout := stepOf(run, "00-layout"); layout == nil || len(layout.IO) != 1 || layout.IO[0].Bytes != size.Value() {
		t.Errorf("laid out %+v, want %s", layout, size.String())
	}
	s.clean()
}
