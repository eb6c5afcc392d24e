package e2e

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/version"
	"github.com/storagebench/storagebench/test/builders"
)

// startTimeout is the startTimeout of benchmarks that must fail because of it.
const startTimeout = 15 * time.Second

// failing is a benchmark that cannot work, and the message that its user must get.
type failing struct {
	// arrange creates what the benchmark needs, and breaks something.
	arrange func(*space, *builders.BenchmarkBuilder)
	// needsPod says that a container must be started, or tried, before the cause is known.
	needsPod bool
	// reason is that of the benchmark's Ready condition, which is False, and of the run's Failed condition.
	reason string
	// says are parts of the message that name the cause.
	says []string
}

// coreFailures are the failures that TestCore covers.
var coreFailures = map[string]failing{
	"an image without the tool": {
		arrange: func(s *space, b *builders.BenchmarkBuilder) {
			s.claim("data", "1Gi")
			b.Mutate(func(run *v1alpha1.RunSpec) { run.Clients.Image = version.Image("operator", s.version) })
		},
		needsPod: true,
		reason:   v1alpha1.ReasonToolFailed,
		says:     []string{"data/0", "fio"},
	},
	"a volume too small for all clients": {
		arrange: func(s *space, b *builders.BenchmarkBuilder) {
			s.staticClaim("data", s.memory("size=96m,mode=777"))
			b.Clients(2)
		},
		needsPod: true,
		reason:   v1alpha1.ReasonNotEnoughSpace,
		says:     []string{"client data/", "too little free space", "needs 128.0 MiB", "96.0 MiB"},
	},
	"a storage class that is missing": {
		arrange: func(s *space, _ *builders.BenchmarkBuilder) {
			class := "gone"
			s.create(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}}}})
		},
		reason: v1alpha1.ReasonStartTimeout,
		says:   []string{"data/0", "claim data is Pending (class gone): ProvisioningFailed", `"gone" not found`},
	},
}

func failingBenchmark(timeout time.Duration) *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("data").StartTimeout(v1alpha1.DurationOf(timeout)).
		Prepare("layout").Steady("write", "1s")
}

// names checks that a message names a cause.
func (s *space) names(message string, parts ...string) {
	s.Helper()
	for _, part := range parts {
		if !strings.Contains(message, part) {
			s.Errorf("the message does not say %q: %s", part, message)
		}
	}
}

// memory mounts a memory file system on the node until the test ends, and returns its directory.
func (s *space) memory(options string) string {
	s.Helper()
	folder := "/var/storagebench-e2e/" + s.namespace
	for _, command := range [][]string{{"mkdir", "-p", folder}, {"mount", "-t", "tmpfs", "-o", options, "tmpfs", folder}} {
		if _, err := s.inNode(s.Context(), command...); err != nil {
			s.Fatal(err)
		}
	}
	s.Cleanup(func() {
		for _, command := range [][]string{{"umount", "--lazy", folder}, {"rmdir", folder}} {
			if _, err := s.inNode(context.Background(), command...); err != nil {
				s.Error(err)
			}
		}
	})
	return folder
}
