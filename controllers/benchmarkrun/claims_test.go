package benchmarkrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// bound creates a claim that is bound to a new volume, as a provisioner and the cluster's controllers would. The volume
// is deleted when the test ends.
func (w *world) bound(name string, mode corev1.PersistentVolumeAccessMode, change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolumeClaim {
	w.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")}
	modes := []corev1.PersistentVolumeAccessMode{mode}
	class := w.namespace + "-gp2"
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: &class, VolumeName: w.namespace + "-" + name,
			Resources: corev1.VolumeResourceRequirements{Requests: size}},
	}
	must(w.T, api.Create(w.Context(), claim))
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: modes, Capacity: size}
	must(w.T, api.Status().Update(w.Context(), claim))
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: class,
			ClaimRef:               &corev1.ObjectReference{Namespace: w.namespace, Name: name, UID: claim.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-" + w.namespace}},
		},
	}
	for _, one := range change {
		one(volume)
	}
	w.temporary(volume)
	return claim
}

// temporary creates a cluster-scoped object, which is deleted when the test ends.
func (w *world) temporary(object client.Object) {
	w.Helper()
	must(w.T, api.Create(w.Context(), object))
	w.Cleanup(func() {
		object.SetFinalizers(nil)
		if err := api.Delete(context.Background(), object, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			w.Error(err)
		}
	})
}

// user creates a pod that uses a claim, is scheduled to a node, and does not belong to a run.
func (w *world) user(namespace, name, claim string) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
		NodeName:   "far",
		Containers: []corev1.Container{{Name: "it", Image: "none"}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}},
	}}
	w.temporary(pod)
	return pod
}

// refused waits until a run ends, and checks that it never had a pod.
func (w *world) refused(run *v1alpha1.BenchmarkRun, want string, parts ...string) {
	w.Helper()
	pods := false
	w.until(run, "over", func() bool {
		var list corev1.PodList
		must(w.T, api.List(w.Context(), &list, client.InNamespace(w.namespace), client.HasLabels{v1alpha1.LabelRun}))
		pods = pods || len(list.Items) > 0
		return over(run)()
	})
	got := reason(run, v1alpha1.ConditionFailed)
	if !is(run, v1alpha1.ConditionFailed, metav1.ConditionTrue) || !strings.HasPrefix(got, want+": ") {
		w.Errorf("failed: %s", got)
	}
	for _, part := range parts {
		if !strings.Contains(got, part) {
			w.Errorf("%q is not in %q", part, got)
		}
	}
	if pods || !is(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue) {
		w.Errorf("it had pods: %t; DataRemoved: %s", pods, reason(run, v1alpha1.ConditionDataRemoved))
	}
}

// TestClaimsThatDoNotAllowIt checks that an unsuitable claim ends a run before any pod is created.
func TestClaimsThatDoNotAllowIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode   corev1.PersistentVolumeAccessMode
		change func(*corev1.PersistentVolume)
		spread v1alpha1.Spread
		says   []string
	}{
		"one node, two nodes wanted": {corev1.ReadWriteOnce, nil, v1alpha1.SpreadOnePerNode,
			[]string{"spec.run.targets[0].volumes[0].claimName", "claim data is ReadWriteOnce", "set spec.run.clients.spread to Any"}},
		"one pod, two wanted": {corev1.ReadWriteOncePod, nil, v1alpha1.SpreadAny, []string{"is ReadWriteOncePod, but 2 clients would use it"}},
		"only for reading":    {corev1.ReadOnlyMany, nil, v1alpha1.SpreadAny, []string{"claim data is ReadOnlyMany, but phase layout writes to it", "use a claim that is ReadWriteMany"}},
		"mounted read-only": {corev1.ReadWriteMany, func(v *corev1.PersistentVolume) { v.Spec.CSI.ReadOnly = true }, v1alpha1.SpreadAny,
			[]string{"is mounted read-only (readOnly is true in PersistentVolume"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			change := c.change
			if change == nil {
				change = func(*corev1.PersistentVolume) {}
			}
			w.bound("data", c.mode, change)
			w.refused(w.start(small().Spread(c.spread)), v1alpha1.ReasonClaimUnfit, c.says...)
		})
	}
}

// TestRawClaim checks that a claim for a raw device is accepted only for a single client, without a path or striping.
func TestRawClaim(t *testing.T) {
	t.Parallel()
	block := corev1.PersistentVolumeBlock
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
	claim.Spec = builders.ClaimSpec(corev1.ReadWriteMany, "10Gi")
	claim.Spec.VolumeMode = &block
	for name, c := range map[string]struct {
		pods   int
		target v1alpha1.Target
		want   string
	}{
		"one client":      {1, v1alpha1.Target{}, ""},
		"several clients": {2, v1alpha1.Target{}, "volume.claimName: Invalid value: \"disk\": claim disk is a raw device, on which 2 clients would overwrite each other"},
		"a directory":     {1, v1alpha1.Target{Path: "bench"}, "target.path: Forbidden: claim disk is a raw device, which has no directories"},
		"striping":        {1, v1alpha1.Target{Lustre: &v1alpha1.LustreStriping{}}, "target.lustre: Forbidden: claim disk is a raw device, which has no file system"},
	} {
		use := volumeUse{target: &c.target, volume: &v1alpha1.Volume{ClaimName: "disk"},
			targetPath: field.NewPath("target"), path: field.NewPath("volume")}
		used := &usedClaim{claim: claim, pods: c.pods, volumes: []volumeUse{use}}
		got := refusal(&v1alpha1.BenchmarkRun{}, []*usedClaim{used}, plan.Plan{})
		if (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, got, c.want)
		}
	}
}

// TestClaimsOfOneShare checks that two claims of the same storage are refused if clients would write to the same
// directory.
func TestClaimsOfOneShare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paths, handles [2]string
		readOnly       bool
		want           bool
	}{
		"without a path":  {handles: [2]string{"fs-1", "fs-1"}, want: true},
		"the same path":   {handles: [2]string{"fs-1", "fs-1"}, paths: [2]string{"bench", "bench"}, want: true},
		"different paths": {handles: [2]string{"fs-1", "fs-1"}, paths: [2]string{"bench/a", "bench/b"}},
		"two shares":      {handles: [2]string{"fs-1", "fs-2"}},
		"only read":       {handles: [2]string{"fs-1", "fs-1"}, readOnly: true},
	} {
		var all []*usedClaim
		for i := range 2 {
			at := field.NewPath("spec", "run", "targets").Index(i)
			used := &usedClaim{pods: 1, claim: &corev1.PersistentVolumeClaim{}, volume: &corev1.PersistentVolume{}}
			used.claim.Name, used.volume.Name = fmt.Sprintf("claim-%d", i), fmt.Sprintf("volume-%d", i)
			used.claim.Spec = builders.ClaimSpec(corev1.ReadWriteMany, "10Gi")
			used.volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{
				Driver: "efs.csi.aws.com", VolumeHandle: c.handles[i], ReadOnly: c.readOnly}
			used.volumes = []volumeUse{{target: &v1alpha1.Target{Name: "t", Path: c.paths[i]},
				volume: &v1alpha1.Volume{ClaimName: used.claim.Name}, targetPath: at, path: at.Child("volumes").Index(0)}}
			all = append(all, used)
		}
		got := refusal(&v1alpha1.BenchmarkRun{}, all, plan.Plan{})
		const want = "claim claim-1 refers to the same storage as claim claim-0 of spec.run.targets[0].volumes[0]"
		if (got != nil) != c.want ||
			got != nil && (got.Field != "spec.run.targets[1].path" || !strings.Contains(got.Detail, want)) {
			t.Errorf("%s: got %v", name, got)
		}
		all[1].volumes = all[0].volumes
		if got := refusal(&v1alpha1.BenchmarkRun{}, all, plan.Plan{}); got != nil {
			t.Errorf("%s, as the claims of two clients: %v", name, got)
		}
	}
}

// TestOneNode checks that clients share a node if their claim template allows one node to mount read-write. They do so
// even if they only read, because they mount the claim read-write.
func TestOneNode(t *testing.T) {
	t.Parallel()
	const rwo, rox = corev1.ReadWriteOnce, corev1.ReadOnlyMany
	for name, c := range map[string]struct {
		modes  []corev1.PersistentVolumeAccessMode
		exists bool
		want   bool
	}{
		"one node writes, many read":         {modes: []corev1.PersistentVolumeAccessMode{rwo, rox}, want: true},
		"one node writes, many read, exists": {modes: []corev1.PersistentVolumeAccessMode{rwo, rox}, exists: true, want: true},
		"many read":                          {modes: []corev1.PersistentVolumeAccessMode{rox}},
		"many read, exists":                  {modes: []corev1.PersistentVolumeAccessMode{rox}, exists: true},
	} {
		template := &v1alpha1.ClaimTemplate{Scope: v1alpha1.ClaimShared, Spec: corev1.PersistentVolumeClaimSpec{AccessModes: c.modes}}
		target := &v1alpha1.Target{Name: "data", Volumes: []v1alpha1.Volume{{Name: "data", ClaimTemplate: template}}}
		run := &v1alpha1.BenchmarkRun{}
		run.Spec.Run.Clients.Count = 2
		var all []*usedClaim
		if c.exists {
			claim := &corev1.PersistentVolumeClaim{Spec: template.Spec}
			all = append(all, &usedClaim{claim: claim, pods: 2, volumes: []volumeUse{{target: target, volume: &target.Volumes[0]}}})
		}
		found := &claimed{storage: map[string]objects.Storage{"data": storageOf(run, target, all, plan.Plan{})}}
		found.placePods(all, nil)
		if got := len(found.storage["data"].SameNodeTargets) > 0; got != c.want {
			t.Errorf("%s: on one node: %t, want %t", name, got, c.want)
		}
	}
}

// TestClaimOfAnotherTemplate checks that an existing claim of the benchmark is neither used nor changed if it no longer
// matches its template.
func TestClaimOfAnotherTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := builders.ClaimSpec(corev1.ReadWriteMany, "100Gi")
	owner := metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.StorageBenchmarkKind, Name: "b", UID: types.UID("6b0f7f0c-0000-4000-8000-000000000001")}
	made := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "b-data-data", Labels: map[string]string{v1alpha1.LabelBenchmark: "b"}, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec:       builders.ClaimSpec(corev1.ReadWriteMany, "50Gi"),
	}
	must(t, (&Reconciler{client: api, options: Options{Master: master}}).addProof(made, owner.UID))
	must(t, api.Create(t.Context(), made))
	run := w.start(small().Template(v1alpha1.ClaimShared, v1alpha1.ClaimForBenchmark, spec))
	w.refused(run, v1alpha1.ReasonClaimUnfit, "claimTemplate.spec.resources.requests.storage", `"100Gi"`, "claim b-data-data", "has 50Gi: use that value, rename the volume, or delete the claim")
	var claim corev1.PersistentVolumeClaim
	must(t, api.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "b-data-data"}, &claim))
	if size := claim.Spec.Resources.Requests[corev1.ResourceStorage]; size.String() != "50Gi" || !claim.DeletionTimestamp.IsZero() {
		t.Errorf("the claim was touched: %+v", claim)
	}
}

// TestVolumeInUse checks that a run warns of other users of its storage, and ends if it requires idle storage. A
// warning does not name users in other namespaces.
func TestVolumeInUse(t *testing.T) {
	t.Parallel()
	idle := func(r *v1alpha1.RunSpec) { yes := true; r.Targets[0].RequireIdle = &yes }
	t.Run("by a pod", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.bound("data", corev1.ReadWriteMany)
		done := w.user(w.namespace, "done", "data")
		done.Status.Phase = corev1.PodSucceeded
		must(t, api.Status().Update(t.Context(), done))
		w.user(w.namespace, "database", "data")
		w.refused(w.start(small().Spread(v1alpha1.SpreadAny).Mutate(idle)), v1alpha1.ReasonVolumeInUse,
			"claim data (target data, volume data) is in use by pod database, but requireIdle is true")
	})
	t.Run("by nobody any more", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.bound("data", corev1.ReadWriteMany)
		done := w.user(w.namespace, "done", "data")
		done.Status.Phase = corev1.PodFailed
		must(t, api.Status().Update(t.Context(), done))
		run := w.start(brief().Spread(v1alpha1.SpreadAny).Mutate(idle))
		w.until(run, "running", func() bool { return len(run.Status.Steps) > 0 })
		if len(run.Status.Warnings) > 0 {
			t.Errorf("warnings %+v", run.Status.Warnings)
		}
	})
	t.Run("from another namespace", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.bound("data", corev1.ReadWriteMany)
		elsewhere := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "elsewhere-"}}
		must(t, api.Create(t.Context(), elsewhere))
		again := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-again"},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
				ClaimRef:               &corev1.ObjectReference{Namespace: elsewhere.Name, Name: "theirs"},
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-" + w.namespace}},
			},
		}
		w.temporary(again)
		again.Status.Phase = corev1.VolumeBound
		must(t, api.Status().Update(t.Context(), again))
		w.user(elsewhere.Name, "secret-project", "theirs")
		run := w.start(brief().Spread(v1alpha1.SpreadAny))
		w.until(run, "running", func() bool { return len(run.Status.Steps) > 0 })
		if len(run.Status.Warnings) != 1 || run.Status.Warnings[0].Type != v1alpha1.WarningVolumeInUse ||
			!strings.Contains(run.Status.Warnings[0].Message, "is in use by another namespace") || strings.Contains(run.Status.Warnings[0].Message, "secret") {
			t.Errorf("warnings %+v", run.Status.Warnings)
		}
	})
}

// node creates the Node of the stand-in kubelet, with the labels of a cloud.
func (w *world) node() {
	w.Helper()
	err := api.Create(w.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "standin", Labels: map[string]string{
		corev1.LabelInstanceTypeStable: "m5n.8xlarge", corev1.LabelTopologyRegion: "us-east-1"}}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		w.Fatal(err)
	}
}

// TestStorageIsDescribed checks that a run records its storage and the documented limits before its first step.
func TestStorageIsDescribed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.node()
	w.temporary(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-gp2"}, Provisioner: "ebs.csi.aws.com",
		Parameters: map[string]string{"type": "gp2", "csi.storage.k8s.io/provisioner-secret-name": "hidden"}})
	w.nextSecond() // the volume must be younger than its class
	w.bound("data", corev1.ReadWriteOnce)
	run := w.start(brief().Spread(v1alpha1.SpreadAny))
	w.until(run, "described", func() bool { return len(run.Status.Storage) > 0 })
	found := run.Status.Storage[0]
	volume := found.Volumes[0]
	if found.Target != "data" || volume.Driver != "ebs.csi.aws.com" || volume.VolumeHandle != "vol-"+w.namespace || volume.ClaimName != "data" ||
		volume.Parameters["type"] != "gp2" || volume.SizeBytes != 100<<30 || volume.FileSystem == "" || volume.MadeForRun {
		t.Errorf("%+v", volume)
	}
	if len(found.Machines) != 1 || found.Machines[0] != (v1alpha1.MachineDescription{InstanceType: "m5n.8xlarge", Nodes: 1}) {
		t.Errorf("machines %+v", found.Machines)
	}
	if !slices.ContainsFunc(found.Limits, func(l v1alpha1.DocumentedLimit) bool {
		return l.Row == "aws-ebs/gp2" && l.Baseline == 300 && l.Burst != nil && *l.Burst == 3000 && strings.Contains(l.Arithmetic, "100 GiB x 3 IOPS/GiB")
	}) {
		t.Errorf("limits %+v", found.Limits)
	}
	// Changes in the cluster do not alter what was recorded.
	must(t, api.Delete(t.Context(), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-gp2"}}))
	w.stop()
	w.operate()
	w.until(run, "over", over(run))
	if len(run.Status.Storage) != 1 || run.Status.Storage[0].Volumes[0].StorageClassGone {
		t.Errorf("%+v", run.Status.Storage)
	}
}

// TestVolumeOfAnotherClaim checks that a run on a claim that names another claim's volume starts, but records nothing
// about that volume.
func TestVolumeOfAnotherClaim(t *testing.T) {
	t.Parallel()
	for _, phase := range []corev1.PersistentVolumeClaimPhase{corev1.ClaimPending, corev1.ClaimBound} {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			w, theirs := newWorld(t), newQuietWorld(t)
			w.node()
			theirs.bound("data", corev1.ReadOnlyMany, func(v *corev1.PersistentVolume) { v.Spec.CSI.ReadOnly = true })
			w.naming(w.namespace, "data", theirs.namespace+"-data", phase)
			run := w.start(brief().Spread(v1alpha1.SpreadAny))
			w.until(run, "described", func() bool { return len(run.Status.Storage) > 0 })
			volume := run.Status.Storage[0].Volumes[0]
			if volume.ClaimName != "data" || volume.VolumeName != "" || volume.VolumeHandle != "" || volume.Driver != "" || volume.StorageClass != "" {
				t.Errorf("the volume of another namespace is described: %+v", volume)
			}
		})
	}
}

// withoutVolumes revokes the right of the next operator to read volumes, classes and nodes.
func (w *world) withoutVolumes() {
	w.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group, "networking.k8s.io", "events.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"pods", "secrets", "persistentvolumeclaims", "events"}, Verbs: []string{"*"}},
	}}
	w.temporary(role)
	w.temporary(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: w.namespace}}})
	w.rest = rest.CopyConfig(restConfig)
	w.rest.Impersonate = rest.ImpersonationConfig{UserName: w.namespace}
}

// TestWithoutRights checks that an operator without the right to read volumes, classes and nodes conducts runs, and
// reports which rights it lacks.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	w.withoutVolumes()
	w.operate()
	w.node()
	w.bound("data", corev1.ReadWriteMany)
	run := w.start(brief().Spread(v1alpha1.SpreadAny))
	w.until(run, "described", func() bool { return len(run.Status.Storage) > 0 })
	missing := fmt.Sprint(run.Status.Storage[0].Missing)
	for _, kind := range []string{"persistentvolumes", "storageclasses", "nodes"} {
		if !strings.Contains(missing, "the operator cannot read "+kind+" (permission denied)") {
			t.Errorf("nothing of %s in %s", kind, missing)
		}
	}
	w.until(run, "over", over(run))
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) {
		t.Errorf("failed: %s", reason(run, v1alpha1.ConditionFailed))
	}
}
