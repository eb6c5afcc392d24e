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

// kstatus is what Flux, and everybody else who uses that library, makes of a benchmark.
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

// seen is a state of a benchmark as gates see it: the status, and whether a run goes on.
func (s *space) seen() string {
	s.Helper()
	benchmark := s.benchmark("bench")
	text := string(kstatus(s.T, benchmark))
	if meta.IsStatusConditionTrue(benchmark.Status.Conditions, v1alpha1.ConditionRunning) {
		text += ", running"
	}
	return text
}

// sees follows a benchmark until it is in a state, and gives all states on the way, each once in a row.
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

// TestGatesWait: whoever waits for a benchmark by kstatus waits from the moment it is applied until it is
// judged, is told the verdict, and is not disturbed by a re-run.
func TestGatesWait(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s := newSpace(t)
	s.claim("data", "1Gi")
	// One client: two of them may begin so far apart that a short run is not valid, on a busy machine.
	// As the API server stores it, before any operator has looked.
	if applied := kstatus(t, s.apply(small(6).Clients(1).Obj())); applied != status.InProgressStatus {
		t.Errorf("just applied it is %s", applied)
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

	// Another spec.run is another thing to wait for, at once: the generation has moved on.
	changed := s.change("bench", func(benchmark *v1alpha1.StorageBenchmark) { benchmark.Spec.Run.Phases[1].Steady.Duration = "1s" })
	if edited := kstatus(t, changed); edited != status.InProgressStatus {
		t.Errorf("just edited it is %s", edited)
	}
	life = s.sees("Current")
	if !slices.Contains(life, "InProgress, running") {
		t.Errorf("after the edit its life was %q", life)
	}
}

// change changes a benchmark and gives it as it is then. The operator may write to it at the same moment, so it is no update of
// what was read.
func (s *space) change(name string, how func(*v1alpha1.StorageBenchmark)) *v1alpha1.StorageBenchmark {
	s.Helper()
	changed := s.benchmark(name)
	before := changed.DeepCopy()
	how(changed)
	must(s.T, s.api.Patch(s.Context(), changed, client.MergeFrom(before)))
	return changed
}

// withoutFirst leaves out a state at the beginning, which may be too short to be seen.
func withoutFirst(states []string, first string) []string {
	if len(states) > 0 && states[0] == first {
		return states[1:]
	}
	return states
}

// TestGatesFail: a verdict that is bad ends the waiting, and so does a reference that does not come within
// startTimeout.
func TestGatesFail(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	t.Run("the run fails", func(t *testing.T) {
		t.Parallel()
		s := newSpace(t)
		s.claim("data", "1Gi")
		// No volume of this machine has a pebibyte.
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
		// More patience is another spec.run. What was missing before startTimeout was over still is, and
		// is waited for.
		s.change("bench", func(benchmark *v1alpha1.StorageBenchmark) { benchmark.Spec.Run.StartTimeout = "10m" })
		s.sees("InProgress")
		s.claim("data", "1Gi")
		if life := s.sees("Current"); !slices.Contains(life, "InProgress, running") {
			t.Errorf("with its claim its life was %q", life)
		}
	})
}
