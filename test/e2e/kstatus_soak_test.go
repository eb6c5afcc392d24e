package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/soak"
)

// kstatus returns the status that kstatus computes for a benchmark, as Flux and other users of the library see it.
func kstatus(t *testing.T, benchmark *v1alpha1.StorageBenchmark) status.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(benchmark)
	must(t, err)
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.StorageBenchmarkKind))
	result, err := status.Compute(object)
	must(t, err)
	return result.Status
}

// seen returns the benchmark's status as gates see it, and whether a run is live.
func (s *space) seen() string {
	s.Helper()
	benchmark := s.benchmark("bench")
	text := string(kstatus(s.T, benchmark))
	if meta.IsStatusConditionTrue(benchmark.Status.Conditions, v1alpha1.ConditionRunning) {
		text += ", running"
	}
	return text
}

// sees follows a benchmark until it reaches a state, and returns all states on the way without repetitions.
func (s *space) sees(last string) []string {
	s.Helper()
	var states []string
	s.until("the benchmark is "+last, wholeRun, func() bool {
		now := s.seen()
		if len(states) == 0 || states[len(states)-1] != now {
			states = append(states, now)
		}
		return now == last
	})
	return states
}

// TestGatesWait checks that kstatus reports InProgress from the moment a benchmark is applied until its verdict, and
// that a re-run does not change the verdict. A new specification is in progress at once.
func TestGatesWait(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s := newSpace(t)
	s.claim("data", "1Gi")
	// Use one client: on a busy machine, two may start so far apart that a short run is not valid. The state is that of
	// the stored object, before any operator has seen it.
	if applied := kstatus(t, s.apply(small(6).Clients(1).Obj())); applied != status.InProgressStatus {
		t.Errorf("just after it was applied, the benchmark is %s", applied)
	}
	life := s.sees("Current")
	if want := []string{"InProgress", "InProgress, running", "Current"}; !slices.Equal(withoutFirst(life, "InProgress"), withoutFirst(want, "InProgress")) {
		t.Errorf("its life was %q, want %q", life, want)
	}

	s.change("bench", func(benchmark *v1alpha1.StorageBenchmark) {
		benchmark.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: "again"}
	})
	s.until("it runs again", time.Minute, func() bool { return len(s.runs()) == 2 })
	again := append(s.sees("Current, running"), s.sees("Current")...)
	for _, state := range again {
		if !strings.HasPrefix(state, string(status.CurrentStatus)) {
			t.Errorf("while it runs again the verdict is not kept: %q", again)
			break
		}
	}

	// An edited spec.run is in progress at once, because it increases the generation.
	changed := s.change("bench", func(benchmark *v1alpha1.StorageBenchmark) { benchmark.Spec.Run.Phases[1].Steady.Duration = "1s" })
	if edited := kstatus(t, changed); edited != status.InProgressStatus {
		t.Errorf("just after its edit, the benchmark is %s", edited)
	}
	life = s.sees("Current")
	if !slices.Contains(life, "InProgress, running") {
		t.Errorf("after the edit its life was %q", life)
	}
}

// change edits a benchmark and returns it. It sends a patch, because the operator may write to the benchmark at the
// same time.
func (s *space) change(name string, how func(*v1alpha1.StorageBenchmark)) *v1alpha1.StorageBenchmark {
	s.Helper()
	changed := s.benchmark(name)
	before := changed.DeepCopy()
	how(changed)
	must(s.T, s.api.Patch(s.Context(), changed, client.MergeFrom(before)))
	return changed
}

// withoutFirst omits a first state that may be too short to be observed.
func withoutFirst(states []string, first string) []string {
	if len(states) > 0 && states[0] == first {
		return states[1:]
	}
	return states
}

// TestGatesFail checks that kstatus reports Failed when a run fails, and when a referenced claim is still missing after
// startTimeout.
func TestGatesFail(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	t.Run("the run fails", func(t *testing.T) {
		t.Parallel()
		s := newSpace(t)
		s.claim("data", "1Gi")
		// No volume of this machine has 1 PiB.
		s.apply(small(1).Workload(paced().Dataset("1Pi")).Obj())
		if life := s.sees("Failed"); !slices.Contains(life, "InProgress, running") {
			t.Errorf("its life was %q", life)
		}
		conditions := s.benchmark("bench").Status.Conditions
		ready, stalled := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled)
		if ready == nil || stalled == nil || ready.Reason != v1alpha1.ReasonNotEnoughSpace || stalled.Reason != ready.Reason {
			t.Errorf("Ready is %s; Stalled is %s", told(conditions, v1alpha1.ConditionReady), told(conditions, v1alpha1.ConditionStalled))
		}
	})
	t.Run("a claim is missing", func(t *testing.T) {
		t.Parallel()
		s := newSpace(t)
		s.apply(small(1).Clients(1).StartTimeout("3s").Obj())
		if life := s.sees("Failed"); !slices.Equal(life, []string{"InProgress", "Failed"}) {
			t.Errorf("its life was %q", life)
		}
		if ready := told(s.benchmark("bench").Status.Conditions, v1alpha1.ConditionReady); !strings.HasPrefix(ready, "Unknown ClaimNotFound: ") {
			t.Errorf("Ready is %s", ready)
		}
		// A longer startTimeout is a new spec.run. The operator waits again for the claim, which has been missing since
		// before the edit.
		s.change("bench", func(benchmark *v1alpha1.StorageBenchmark) { benchmark.Spec.Run.StartTimeout = "10m" })
		s.sees("InProgress")
		s.claim("data", "1Gi")
		if life := s.sees("Current"); !slices.Contains(life, "InProgress, running") {
			t.Errorf("with its claim its life was %q", life)
		}
	})
}
