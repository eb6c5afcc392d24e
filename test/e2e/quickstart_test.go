package e2e

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// checkPod checks what Pod Security "restricted" does not enforce. The namespace enforces the rest, so the pod's
// existence proves it.
func checkPod(s *space, pod *corev1.Pod) {
	s.Helper()
	if mounts := pod.Spec.AutomountServiceAccountToken; mounts == nil || *mounts {
		s.Errorf("pod %s: a service account's token is mounted", pod.Name)
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.Projected != nil {
			s.Errorf("pod %s: volume %s is projected, as tokens are", pod.Name, volume.Name)
		}
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if readOnly := container.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
			s.Errorf("pod %s: the root of container %s can be written", pod.Name, container.Name)
		}
		if !strings.HasSuffix(container.Image, ":"+s.version) {
			s.Errorf("pod %s: container %s is of the image %s, not of version %s", pod.Name, container.Name, container.Image, s.version)
		}
	}
}

func checkQuickstart(s *space, run *v1alpha1.BenchmarkRun) {
	s.Helper()
	if len(run.Status.Environments) != 1 || run.Status.Environments[0].Clients != 4 ||
		!strings.HasPrefix(run.Status.Environments[0].ToolVersion, "fio-3") || run.Status.Environments[0].AgentVersion != s.version {
		s.Errorf("the clients are %+v", run.Status.Environments)
	}
	for name, want := range map[string]v1alpha1.Operation{"write": v1alpha1.OperationWrite, "read": v1alpha1.OperationRead} {
		result, operation := figures(s, run, name)
		if operation.Operation != want || result.Clients != 4 {
			s.Errorf("phase %s is %s of %d clients", name, operation.Operation, result.Clients)
		}
		plausible(s, name, result, operation, 64<<10, 8)
	}
	left := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionDataRemoved)
	if left == nil || left.Status != metav1.ConditionTrue || left.Reason != v1alpha1.ReasonRemoved {
		s.Errorf("DataRemoved is %+v", left)
	}
}

// figures returns the figures of a phase with one target and one operation.
func figures(s *space, run *v1alpha1.BenchmarkRun, phase string) (v1alpha1.TargetResult, v1alpha1.OperationResult) {
	s.Helper()
	for _, result := range run.Status.Phases {
		if result.Name == phase && len(result.Targets) == 1 && len(result.Targets[0].Operations) == 1 {
			return result.Targets[0], result.Targets[0].Operations[0]
		}
	}
	s.Fatalf("phase %s has no result of one target and one operation: %+v", phase, run.Status.Phases)
	panic("not reached")
}

// plausible checks that the figures are consistent with each other, which they would not be with a wrong unit or a
// missing client.
func plausible(s *space, phase string, result v1alpha1.TargetResult, operation v1alpha1.OperationResult, blockSize, depth int64) {
	s.Helper()
	if operation.BytesPerSecond == nil || operation.IOPSMilli == nil || operation.Latency == nil {
		s.Fatalf("phase %s lacks figures: %+v", phase, operation)
	}
	// The bytes may include operations that were outstanding when fio noticed the end of the warm-up and that it did not
	// time (docs/limits.md).
	untimed := int64(result.Clients) * depth
	if more := operation.Bytes/blockSize - operation.Operations; operation.Bytes%blockSize != 0 || more < 0 || more > untimed {
		s.Errorf("phase %s: %d operations of %d bytes are not %d bytes", phase, operation.Operations, blockSize, operation.Bytes)
	}
	if operation.Latency.Samples != operation.Operations {
		s.Errorf("phase %s: %d latencies of %d operations", phase, operation.Latency.Samples, operation.Operations)
	}
	bySize := float64(*operation.IOPSMilli) / 1000 * float64(blockSize)
	// fio counts bytes and operations one after the other. If that distorts a dump at an edge of the window by over 5 %,
	// the result has a warning.
	if ratio := float64(*operation.BytesPerSecond) / bySize; (ratio < 0.95 || ratio > 1.05) && !hasWarning(result, v1alpha1.WarningBytesUncertain) {
		s.Errorf("phase %s: %d bytes/s are not %d milli-IOPS of %d bytes", phase, *operation.BytesPerSecond, *operation.IOPSMilli, blockSize)
	}
	latency := operation.Latency
	// A percentile is the middle of a histogram bucket, up to 0.8 % off; minimum and maximum are exact.
	atMost := func(nanoseconds int64) int64 { return nanoseconds + nanoseconds/100 }
	if p50, p99 := latency.P50Nanoseconds, latency.P99Nanoseconds; p50 == nil || p99 == nil ||
		latency.MinNanoseconds <= 0 || latency.MinNanoseconds > atMost(*p50) || *p50 > *p99 || *p99 > atMost(latency.MaxNanoseconds) {
		s.Errorf("phase %s: the latencies are in no order: %+v", phase, latency)
	}
}

// log logs the figures of a run.
func (s *space) log(run *v1alpha1.BenchmarkRun) {
	s.Helper()
	for _, phase := range run.Status.Phases {
		for _, target := range phase.Targets {
			for _, operation := range target.Operations {
				rate := "no rate"
				if operation.BytesPerSecond != nil {
					rate = sprintMB(*operation.BytesPerSecond)
				}
				s.Logf("%s: %s %s of %d clients in %s; warnings %v", phase.Name, operation.Operation, rate, target.Clients,
					time.Duration(target.WindowNanoseconds).Round(time.Millisecond), warningTypes(target.Warnings))
			}
		}
	}
}

func warningTypes(warnings []v1alpha1.Warning) []v1alpha1.WarningType {
	var types []v1alpha1.WarningType
	for _, warning := range warnings {
		types = append(types, warning.Type)
	}
	return types
}

// hasWarning reports whether a result has a warning of a type.
func hasWarning(result v1alpha1.TargetResult, kind v1alpha1.WarningType) bool {
	return slices.Contains(warningTypes(result.Warnings), kind)
}
