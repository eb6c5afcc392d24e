package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/invariants"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/stillness"
)

const (
	// toStart is the startTimeout of benchmarks that fail because of something that a container finds or misses. On a busy
	// machine, it takes some ten seconds to create a volume, schedule a pod and start two containers.
	toStart = 30 * time.Second
	// grace is the time that a run may take to fail after startTimeout, counted from the start of the run: one turn of the
	// operator, or a few on a busy machine.
	grace = 10 * time.Second
	// forVerdict is additional time for the verdict: with two cores and a dozen tests in parallel, the cluster is slow
	// before the run and after its failure.
	forVerdict = time.Minute
)

// failures are the failures that TestCore does not cover.
var failures = map[string]failing{
	"an image that cannot be pulled": {
		arrange: func(s *space, b *builders.BenchmarkBuilder) {
			s.claim("data", "1Gi")
			b.Mutate(func(run *v1alpha1.RunSpec) { run.Clients.Image = "registry.invalid/fio:9.9" })
		},
		needsPod: true,
		reason:   v1alpha1.ReasonStartTimeout,
		says:     []string{"data/0", "pull", "image", "registry.invalid/fio:9.9"},
	},
	"no node for the pod": {
		arrange: func(s *space, b *builders.BenchmarkBuilder) {
			s.claim("data", "1Gi")
			b.Mutate(func(run *v1alpha1.RunSpec) {
				run.Clients.Template = &v1alpha1.PodTemplate{NodeSelector: map[string]string{"disk": "nvme"}}
			})
		},
		reason: v1alpha1.ReasonStartTimeout,
		says:   []string{"data/0", "Unschedulable", "node affinity/selector"},
	},
	"too few nodes for OnePerNode": {
		arrange: func(_ *space, b *builders.BenchmarkBuilder) {
			// A claim that only one node can use would be refused at once.
			b.Clients(2).Spread(v1alpha1.SpreadOnePerNode).Template(v1alpha1.ClaimPerClient, v1alpha1.ClaimForRun, builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi"))
		},
		reason: v1alpha1.ReasonStartTimeout,
		says:   []string{"spec.run.clients.spread is OnePerNode", "needs 2 free nodes", "PreferOnePerNode or Any lets clients share nodes"},
	},
	"a volume that cannot be mounted": {
		arrange: func(s *space, _ *builders.BenchmarkBuilder) {
			s.staticClaim("data", "/var/storagebench-e2e/is-not-there")
		},
		needsPod: true, // the kubelet must have tried and reported it
		reason:   v1alpha1.ReasonStartTimeout,
		says:     []string{"data/0", "/var/storagebench-e2e/is-not-there"},
	},
	"a full volume": {
		arrange: func(s *space, _ *builders.BenchmarkBuilder) {
			s.staticClaim("data", s.memory("size=8m,mode=777"))
		},
		needsPod: true,
		reason:   v1alpha1.ReasonNotEnoughSpace,
		says:     []string{"data/0", "too little free space", "needs 64.0 MiB", "8.0 MiB"},
	},
	"a read-only volume": {
		arrange: func(s *space, _ *builders.BenchmarkBuilder) {
			s.staticClaim("data", s.memory("size=200m,mode=777,ro"))
		},
		needsPod: true,
		reason:   v1alpha1.ReasonMountNotFound,
		says:     []string{"data/0", "read-only"},
	},
	"a volume of another user": {
		arrange: func(s *space, _ *builders.BenchmarkBuilder) {
			s.staticClaim("data", s.memory("size=200m,mode=755"))
		},
		needsPod: true,
		reason:   v1alpha1.ReasonMountNotFound,
		says:     []string{"data/0", "permission denied", "fsGroup"},
	},
	"a quota": {
		arrange: func(s *space, _ *builders.BenchmarkBuilder) {
			s.claim("data", "1Gi")
			s.create(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "no-pods"}, Spec: corev1.ResourceQuotaSpec{
				Hard: corev1.ResourceList{"pods": resource.MustParse("0")}}})
			s.until("the quota is enforced", 20*time.Second, func() bool {
				var quota corev1.ResourceQuota
				return s.get("no-pods", &quota) && quota.Status.Hard != nil
			})
		},
		reason: v1alpha1.ReasonStartTimeout,
		says:   []string{"data/0", "exceeded quota: no-pods"},
	},
	"Pod Security": {
		arrange: func(s *space, b *builders.BenchmarkBuilder) {
			s.claim("data", "1Gi")
			yes := true
			b.Mutate(func(run *v1alpha1.RunSpec) { run.Clients.Template = &v1alpha1.PodTemplate{HostNetwork: &yes} })
		},
		reason: v1alpha1.ReasonStartTimeout,
		says:   []string{"data/0", `violates PodSecurity "restricted`, "host namespaces (hostNetwork=true)"},
	},
}

// TestFailures checks that a benchmark that cannot work soon gets a condition that names the cause, and that nothing is
// left.
func TestFailures(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	for name, f := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireNode(t)
			s := newSpace(t)
			still := stillness.During(t)
			timeout := startTimeout
			if f.needsPod {
				timeout = toStart
			}
			benchmark := failingBenchmark(timeout)
			f.arrange(s, benchmark)
			applied := s.apply(benchmark.Obj())
			began := time.Now()
			var ready *metav1.Condition
			s.until("Ready is False", timeout+forVerdict, func() bool {
				ready = meta.FindStatusCondition(s.benchmark(applied.Name).Status.Conditions, v1alpha1.ConditionReady)
				return ready != nil && ready.Status == metav1.ConditionFalse
			})
			t.Logf("after %.1f s: %s: %s", time.Since(began).Seconds(), ready.Reason, ready.Message)
			run := s.ended(time.Minute)
			failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
			if ready.Reason != f.reason || failed.Reason != f.reason {
				t.Errorf("Ready has the reason %s, Failed %s, want %s", ready.Reason, failed.Reason, f.reason)
			}
			took := failed.LastTransitionTime.Sub(run.Status.StartTime.Time)
			s.names(ready.Message, f.says...)
			s.names(failed.Message, f.says...)
			new(invariants.Checker).Check(t, run)
			invariants.CheckObject(t, run)
			s.clean()
			within(t, still, fmt.Sprintf("the run, with a startTimeout of %s,", timeout), took, timeout+grace)
		})
	}
}

// TestClaimThatDoesNotExist checks that a benchmark reports a missing claim at once and is Stalled after startTimeout,
// and that it runs when the claim appears.
func TestClaimThatDoesNotExist(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s := newSpace(t)
	// The pod has the same timeout once the claim exists.
	benchmark := s.apply(failingBenchmark(toStart).Obj())
	ready := func(kind string) *metav1.Condition {
		return meta.FindStatusCondition(s.benchmark(benchmark.Name).Status.Conditions, kind)
	}
	s.until("Ready says it", toStart/2, func() bool {
		c := ready(v1alpha1.ConditionReady)
		return c != nil && c.Reason == v1alpha1.ReasonClaimNotFound
	})
	if stalled := ready(v1alpha1.ConditionStalled); stalled != nil {
		t.Errorf("it is called stalled at once: %s", stalled.Message)
	}
	s.until("Stalled says it", toStart+forVerdict, func() bool { return ready(v1alpha1.ConditionStalled) != nil })
	stalled := ready(v1alpha1.ConditionStalled)
	t.Logf("%s: %s", stalled.Reason, stalled.Message)
	s.names(stalled.Message, "spec.run.targets[0].volumes[0].claimName", `"data"`, "no such PersistentVolumeClaim in namespace "+s.namespace)
	if runs := s.runs(); len(runs) > 0 {
		t.Errorf("run %s was made for a claim that is not there", runs[0].Name)
	}
	s.clean()
	s.claim("data", "1Gi")
	s.until("the benchmark is Ready", wholeRun, func() bool {
		return meta.IsStatusConditionTrue(s.benchmark(benchmark.Name).Status.Conditions, v1alpha1.ConditionReady)
	})
	s.clean()
}

// TestBadOptions checks that forbidden fio options are refused before a run is created, with the field and the option.
func TestBadOptions(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s := newSpace(t)
	s.claim("data", "1Gi")
	for option, value := range map[string]string{
		"filename": "/etc/passwd", "exec_prerun": "id", "ioengine": "external:/tmp/x.so", "no_such_option": "1",
	} {
		fio := builders.Fio().Mutate(func(profile *v1alpha1.FioProfile) {
			profile.Options = map[string]v1alpha1.FioOptionValue{option: v1alpha1.FioOptionValue(value)}
		})
		benchmark := failingBenchmark(startTimeout).Workload(fio).Obj()
		benchmark.Name = "b-" + strings.ReplaceAll(option, "_", "-")
		benchmark.Namespace = s.namespace
		err := s.api.Create(t.Context(), benchmark)
		if apierrors.IsInvalid(err) {
			t.Logf("%s is refused at admission: %v", option, err)
			s.names(err.Error(), "spec.run.workload.fio.options", option)
			continue
		}
		must(t, err)
		var stalled *metav1.Condition
		s.until("the benchmark is stalled", time.Minute, func() bool {
			stalled = meta.FindStatusCondition(s.benchmark(benchmark.Name).Status.Conditions, v1alpha1.ConditionStalled)
			return stalled != nil
		})
		t.Logf("%s is refused by the operator: %s: %s", option, stalled.Reason, stalled.Message)
		if stalled.Reason != v1alpha1.ReasonInvalidWorkload {
			t.Errorf("the reason is %s", stalled.Reason)
		}
		s.names(stalled.Message, "spec.run.workload.fio", option)
	}
	if runs := s.runs(); len(runs) > 0 {
		t.Errorf("run %s was made", runs[0].Name)
	}
	s.clean()
}
