package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/csisim"
	"github.com/storagebench/storagebench/test/csisim/embedded"
	"github.com/storagebench/storagebench/test/soak"
)

// ownClaims returns the UIDs of the claims in the space, by name.
func (s *space) ownClaims() map[string]types.UID {
	s.Helper()
	var list corev1.PersistentVolumeClaimList
	must(s.T, s.api.List(s.Context(), &list, client.InNamespace(s.namespace)))
	all := map[string]types.UID{}
	for _, claim := range list.Items {
		if claim.DeletionTimestamp.IsZero() {
			all[claim.Name] = claim.UID
		}
	}
	return all
}

// again requests another run and waits for its end.
func (s *space) again(benchmark, request string, patience time.Duration) *v1alpha1.BenchmarkRun {
	s.Helper()
	before := map[string]bool{}
	for _, run := range s.runs() {
		before[run.Name] = true
	}
	changed := s.benchmark(benchmark)
	unchanged := changed.DeepCopy()
	changed.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: request}
	must(s.T, s.api.Patch(s.Context(), changed, client.MergeFrom(unchanged)))
	var another *v1alpha1.BenchmarkRun
	s.until("another run is over", patience, func() bool {
		// By name: creation timestamps have a resolution of one second, so both runs may have the same.
		for _, run := range s.runs() {
			if !before[run.Name] && run.Status.EndTime != nil {
				another = &run
			}
		}
		return another != nil
	})
	return another
}

// complete fails the test if a run is not complete.
func (s *space) complete(run *v1alpha1.BenchmarkRun) {
	s.Helper()
	if !meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete) {
		s.Fatalf("run %s: %s", run.Name, conditionLines(run.Status.Conditions))
	}
}

// TestClaimTemplates checks claims made from templates, of a class that waits for its first consumer: a ReadWriteOnce
// claim that both clients share and that the next run uses again, and a claim per client that is deleted with its run.
func TestClaimTemplates(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s := newSpace(t)
	s.apply(builders.Benchmark("made").Clients(2).Spread(v1alpha1.SpreadAny).
		Target("kept").Template(v1alpha1.ClaimShared, v1alpha1.ClaimForBenchmark, builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")).
		Target("own").Template(v1alpha1.ClaimPerClient, v1alpha1.ClaimForRun, builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")).
		Workload(builders.Fio().Dataset("8Mi")).Prepare("layout").Obj())
	var during map[string]types.UID
	s.until("both targets have their claims", wholeRun, func() bool {
		during = s.ownClaims()
		return len(during) == 3
	})
	run := s.ended(3 * time.Minute)
	s.complete(run)
	names := []string{"made-kept-data", run.Name + "-own-data-0", run.Name + "-own-data-1"}
	if got, want := slices.Sorted(maps.Keys(during)), slices.Sorted(slices.Values(names)); !slices.Equal(got, want) {
		t.Errorf("claims %q, want %q", got, want)
	}
	kept, own := run.Status.Storage[0].Volumes[0], run.Status.Storage[1].Volumes[0]
	if !kept.MadeForRun || kept.ClaimName != names[0] || !own.MadeForRun || own.Count != 2 || own.ClaimName != names[1] {
		t.Errorf("storage %+v, %+v", kept, own)
	}
	s.until("the claims of the run are gone", time.Minute, func() bool { return len(s.ownClaims()) == 1 })
	second := s.again("made", "again", 3*time.Minute)
	s.complete(second)
	if found := second.Status.Storage[0].Volumes[0]; found.MadeForRun || found.VolumeName != kept.VolumeName {
		t.Errorf("the second run has %+v, the first had volume %s", found, kept.VolumeName)
	}
	s.until("the claims of the second run are gone", time.Minute, func() bool { return len(s.ownClaims()) == 1 })
	if got := s.ownClaims()[names[0]]; got != during[names[0]] {
		t.Errorf("the claim that should stay was replaced: %s, %s", got, during[names[0]])
	}
	must(t, s.api.Delete(t.Context(), s.benchmark("made")))
	s.until("the claim goes with its benchmark", time.Minute, func() bool { return len(s.ownClaims()) == 0 })
}

// TestClaimsThatAreRefused checks that a run fails before it has pods if a claim does not allow its clients, and if
// requireIdle is set while another pod uses the claim.
func TestClaimsThatAreRefused(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s := newSpace(t)
	s.claim("data", "1Gi")
	user := s.consumer("database", "data")
	yes := true
	s.apply(builders.Benchmark("idle").Spread(v1alpha1.SpreadAny).Target("data").Workload(builders.Fio().Dataset("8Mi")).Prepare("layout").
		Mutate(func(r *v1alpha1.RunSpec) { r.Targets[0].RequireIdle = &yes }).Obj())
	s.refusedFor(s.ended(wholeRun), v1alpha1.ReasonVolumeInUse, "claim data (target data, volume data) is in use by pod database, but requireIdle is true")
	must(t, s.api.Delete(t.Context(), user, client.GracePeriodSeconds(0)))
	s.until("the pod is gone", time.Minute, func() bool { return !s.get(user.Name, &corev1.Pod{}) })
	s.complete(s.again("idle", "again", 2*time.Minute))
	s.apply(builders.Benchmark("spread").Clients(2).Spread(v1alpha1.SpreadOnePerNode).Target("data").Workload(builders.Fio().Dataset("8Mi")).Prepare("layout").Obj())
	s.until("the other benchmark's run is over", wholeRun, func() bool {
		run := s.run()
		return run.Spec.BenchmarkRef.Name == "spread" && run.Status.EndTime != nil
	})
	s.refusedFor(s.run(), v1alpha1.ReasonClaimUnfit, "claim data is ReadWriteOnce", "set spec.run.clients.spread to Any")
}

// idle returns the spec of a pod that does nothing and that the Pod Security level restricted admits.
func idle() corev1.PodSpec {
	no, yes, user := false, true, int64(65532)
	return corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "it", Image: cluster.PauseImage, ImagePullPolicy: corev1.PullNever,
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}},
	}
}

// consumer creates a foreign pod that mounts a claim.
func (s *space) consumer(name, claim string) *corev1.Pod {
	s.Helper()
	pod := &corev1.Pod{Spec: idle()}
	pod.Name = name
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	s.create(pod)
	s.until("the pod has a node", time.Minute, func() bool { return s.get(name, pod) && pod.Spec.NodeName != "" })
	return pod
}

func (s *space) refusedFor(run *v1alpha1.BenchmarkRun, reason string, parts ...string) {
	s.Helper()
	failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
	if failed == nil || failed.Reason != reason {
		s.Fatalf("run %s: %s", run.Name, conditionLines(run.Status.Conditions))
	}
	for _, part := range parts {
		if !strings.Contains(failed.Message, part) {
			s.Errorf("%q is not in %q", part, failed.Message)
		}
	}
}

// TestDiscoveryOfRealDrivers checks, through a real kubelet, that a run reports the storage that it found and the
// documented limits of it, for storage classes as users of EBS and Azure Files have them.
func TestDiscoveryOfRealDrivers(t *testing.T) {
	soak.Only(t)
	const ebs, files = "ebs.csi.aws.com", "file.csi.azure.com"
	in := requireNode(t)
	// Start it before the space is created, so that its pods and claims are deleted first.
	embedded.Run(t, in.State, ebs, files)
	in.instanceType(t, "m5n.8xlarge")
	s := newSpace(t)
	s.simulatedClaim("disk", ebs, "100Gi", corev1.ReadWriteOnce, map[string]string{
		"type": "gp2", "csi.storage.k8s.io/fstype": "ext4", csisim.ScenarioParameter: "ebs-gp2"})
	s.simulatedClaim("share", files, "1000Gi", corev1.ReadWriteMany, map[string]string{
		"skuName": "Premium_LRS", "secretName": "hidden", csisim.ScenarioParameter: "azure-files"})
	s.apply(builders.Benchmark("found").Spread(v1alpha1.SpreadAny).Target("disk").Target("share").Workload(builders.Fio().Dataset("8Mi")).Prepare("layout").Obj())
	run := s.ended(2 * time.Minute)
	s.complete(run)
	if len(run.Status.Storage) != 2 {
		t.Fatalf("storage %+v", run.Status.Storage)
	}
	for i, want := range []struct {
		driver, parameter, value, row, arithmetic string
		bytes, baseline                           int64
	}{
		{ebs, "type", "gp2", "aws-ebs/gp2", "100 GiB x 3 IOPS/GiB = 300 IOPS", 100 << 30, 300},
		{files, "skuName", "Premium_LRS", "azure-files/ssd-v1", "1,000 GiB", 1000 << 30, 4000},
	} {
		found := run.Status.Storage[i]
		volume := found.Volumes[0]
		if volume.Driver != want.driver || volume.Parameters[want.parameter] != want.value || volume.SizeBytes != want.bytes ||
			volume.VolumeHandle == "" || volume.StorageClass == "" || volume.FileSystem == "" || volume.StorageClassGone || volume.MadeForRun {
			t.Errorf("volume %+v", volume)
		}
		if strings.Contains(fmt.Sprint(volume), "hidden") {
			t.Errorf("a Secret is named: %+v", volume)
		}
		if !slices.ContainsFunc(found.Limits, func(l v1alpha1.DocumentedLimit) bool {
			return l.Row == want.row && l.Baseline == want.baseline && strings.Contains(l.Arithmetic, want.arithmetic)
		}) {
			t.Errorf("limits %+v", found.Limits)
		}
		if len(found.Machines) != 1 || found.Machines[0].InstanceType != "m5n.8xlarge" {
			t.Errorf("machines %+v", found.Machines)
		}
	}
}

// instanceType labels the node with the instance type of a cloud machine until the test ends.
func (in *installation) instanceType(t *testing.T, kind string) {
	t.Helper()
	label := func(value string) error {
		node := &corev1.Node{}
		node.Name = cluster.NodeName
		return in.api.Patch(context.Background(), node, client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, corev1.LabelInstanceTypeStable, value)))
	}
	must(t, label(fmt.Sprintf("%q", kind)))
	t.Cleanup(func() { must(t, label("null")) })
}
