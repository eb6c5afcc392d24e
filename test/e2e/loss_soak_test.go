package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/soak"
)

// losses are the ways to lose a client.
var losses = map[string]func(*space, *corev1.Pod){
	// As when memory runs out or the agent crashes: nothing in the pod can clean up.
	"killed": func(s *space, pod *corev1.Pod) {
		s.Helper()
		must(s.T, syscall.Kill(agentProcess(s.T, pod), syscall.SIGKILL))
	},
	// As when a node is drained, or by kubectl delete. The agent gets a signal, removes its data and exits.
	"deleted": func(s *space, pod *corev1.Pod) {
		s.Helper()
		must(s.T, s.api.Delete(s.Context(), pod))
	},
	// As by kubectl delete --force: the pod is gone from the API before it is gone from the node.
	"deleted by force": func(s *space, pod *corev1.Pod) {
		s.Helper()
		must(s.T, s.api.Delete(s.Context(), pod, client.GracePeriodSeconds(0)))
	},
}

// lossSeconds is the time for which the clients measure. If they start two seconds apart, as on a busy machine, enough
// time is common to all for a valid result.
const lossSeconds = 12

// TestLostClient checks that a run follows onLoss in whatever way it lost a client, and that nothing is left of the
// client.
func TestLostClient(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	requireNode(t)
	for _, test := range []struct {
		policy v1alpha1.OnLoss
		loss   string
		check  func(*testing.T, *v1alpha1.BenchmarkRun)
	}{
		{policy: v1alpha1.OnLossRestartStep, loss: "killed", check: stepWasRepeated},
		{policy: v1alpha1.OnLossRestartStep, loss: "deleted", check: stepWasRepeated},
		{policy: v1alpha1.OnLossRestartStep, loss: "deleted by force", check: stepWasRepeated},
		{policy: v1alpha1.OnLossFailRun, loss: "killed", check: runHasFailed("ended: container client: exit code 137")},
		{policy: v1alpha1.OnLossFailRun, loss: "deleted", check: runHasFailed("was deleted")},
		{policy: v1alpha1.OnLossFailRun, loss: "deleted by force", check: runHasFailed("was deleted")},
		{policy: v1alpha1.OnLossContinueDegraded, loss: "killed", check: runWentOn},
		{policy: v1alpha1.OnLossContinueDegraded, loss: "deleted", check: runWentOn},
		{policy: v1alpha1.OnLossContinueDegraded, loss: "deleted by force", check: runWentOn},
	} {
		t.Run(string(test.policy)+", "+test.loss, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.claim("data", "1Gi")
			s.apply(small(lossSeconds).OnLoss(test.policy, 2).Obj())
			run := s.busy("01-write")
			pod := &corev1.Pod{}
			if !s.get(run.Name+"-data-1-1", pod) {
				t.Fatalf("there is no pod of client 1")
			}
			losses[test.loss](s, pod)
			run = s.ended(wholeRun)
			test.check(t, run)
			if len(run.Status.LostClients) != 1 || run.Status.LostClients[0].Client != 1 || run.Status.LostClients[0].Step != "01-write" {
				t.Errorf("lost clients %+v", run.Status.LostClients)
			}
			if !meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionDataRemoved) {
				t.Errorf("DataRemoved is %s", told(run.Status.Conditions, v1alpha1.ConditionDataRemoved))
			}
			s.clean()
		})
	}
}

// stepWasRepeated checks that the client and its dataset were replaced, that the step was repeated, and that the result
// says so.
func stepWasRepeated(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	isComplete(t, run)
	want := []string{"00-layout Succeeded", "00-layout Succeeded", "01-write Failed a client was lost", "01-write Succeeded"}
	if got := attempts(run); !slices.Equal(got, want) {
		t.Errorf("steps\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := warned(run, "write"); !slices.Contains(got, v1alpha1.WarningClientReplaced) {
		t.Errorf("the result does not say that a client was replaced: %v", got)
	}
	if lost := run.Status.LostClients; len(lost) > 0 && !lost[0].Replaced {
		t.Errorf("lost clients %+v", lost)
	}
	didAll(t, run, "write", 2, lossSeconds, 55)
}

// runHasFailed checks that the run failed and names the lost client and the cause.
func runHasFailed(why string) func(*testing.T, *v1alpha1.BenchmarkRun) {
	return func(t *testing.T, run *v1alpha1.BenchmarkRun) {
		t.Helper()
		failed := told(run.Status.Conditions, v1alpha1.ConditionFailed)
		if !strings.HasPrefix(failed, "True ClientLost: client data/1 was lost: pod "+run.Name+"-data-1-1 ") || !strings.Contains(failed, why) {
			t.Errorf("Failed is %s; %q is not in it", failed, why)
		}
	}
}

// runWentOn checks that the run continued with the remaining clients, and that the result names the missing one.
func runWentOn(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	isComplete(t, run)
	if got := warned(run, "write"); !slices.Contains(got, v1alpha1.WarningClientsMissing) {
		t.Errorf("the result does not say that a client is missing: %v", got)
	}
	if lost := run.Status.LostClients; len(lost) > 0 && lost[0].Replaced {
		t.Errorf("lost clients %+v", lost)
	}
	didAll(t, run, "write", 1, lossSeconds, 55)
}

// busy waits until a step does I/O, and returns the run.
func (s *space) busy(step string) *v1alpha1.BenchmarkRun {
	s.Helper()
	var run *v1alpha1.BenchmarkRun
	s.until("step "+step+" does I/O", wholeRun, func() bool {
		if run = s.run(); run == nil {
			return false
		}
		if run.Status.EndTime != nil {
			s.Fatalf("the run is over already")
		}
		// A start that some clients missed is given up within a second and repeated.
		begun := beginOf(run, step)
		return !begun.IsZero() && time.Since(begun) > time.Second
	})
	return run
}
