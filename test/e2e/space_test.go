package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// space is a test's own namespace. It enforces the Pod Security level "restricted".
type space struct {
	*testing.T
	*installation

	namespace string
}

func newSpace(t *testing.T) *space {
	t.Helper()
	in := require(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: map[string]string{
		spaceLabel:                                   "yes",
		"pod-security.kubernetes.io/enforce":         "restricted",
		"pod-security.kubernetes.io/enforce-version": "latest",
	}}}
	must(t, in.api.Create(t.Context(), namespace))
	s := &space{T: t, installation: in, namespace: namespace.Name}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.describe())
		}
		// Do not wait until the namespace is gone.
		if err := in.api.Delete(context.Background(), namespace); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	s.until("the namespace's service account is there", hang, func() bool {
		return s.get("default", &corev1.ServiceAccount{})
	})
	return s
}

// get reads an object of the space and reports whether it exists.
func (s *space) get(name string, into client.Object) bool {
	s.Helper()
	err := s.api.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, into)
	if client.IgnoreNotFound(err) != nil {
		s.Fatal(err)
	}
	return err == nil
}

// claim creates a claim of the default storage class. All users can write to its volume.
func (s *space) claim(name, size string) {
	s.Helper()
	s.create(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	})
}

// staticClaim creates a volume of a directory of the node and a claim bound to it: ReadWriteOnce unless modes are
// given.
func (s *space) staticClaim(name, folder string, modes ...corev1.PersistentVolumeAccessMode) {
	s.Helper()
	none, mustBe := "", corev1.HostPathDirectory
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	if len(modes) == 0 {
		modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: &none, VolumeName: s.namespace + "-" + name,
			Resources: corev1.VolumeResourceRequirements{Requests: size}},
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef: &corev1.ObjectReference{Namespace: s.namespace, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: folder, Type: &mustBe}},
		},
	}
	must(s.T, s.api.Create(s.Context(), volume))
	s.Cleanup(func() {
		if err := s.api.Delete(context.Background(), volume); client.IgnoreNotFound(err) != nil {
			s.Error(err)
		}
	})
	s.create(claim)
}

// create creates an object in the space.
func (s *space) create(object client.Object) {
	s.Helper()
	object.SetNamespace(s.namespace)
	must(s.T, s.api.Create(s.Context(), object))
}

// apply creates a benchmark in the space.
func (s *space) apply(benchmark *v1alpha1.StorageBenchmark) *v1alpha1.StorageBenchmark {
	s.Helper()
	s.create(benchmark)
	return benchmark
}

// benchmark returns the current state of a benchmark of the space, or nil if it does not exist.
func (s *space) benchmark(name string) *v1alpha1.StorageBenchmark {
	s.Helper()
	found := &v1alpha1.StorageBenchmark{}
	if !s.get(name, found) {
		return nil
	}
	return found
}

// run returns the newest run in the space, or nil if there is none.
func (s *space) run() *v1alpha1.BenchmarkRun {
	s.Helper()
	runs := s.runs()
	if len(runs) == 0 {
		return nil
	}
	return &runs[len(runs)-1]
}

// runs returns the runs in the space, oldest first.
func (s *space) runs() []v1alpha1.BenchmarkRun {
	s.Helper()
	var list v1alpha1.BenchmarkRunList
	must(s.T, s.api.List(s.Context(), &list, client.InNamespace(s.namespace)))
	slices.SortStableFunc(list.Items, func(a, b v1alpha1.BenchmarkRun) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return list.Items
}

// pods returns the clients' pods in the space.
func (s *space) pods() []corev1.Pod {
	s.Helper()
	var list corev1.PodList
	must(s.T, s.api.List(s.Context(), &list, client.InNamespace(s.namespace), client.HasLabels{v1alpha1.LabelRun}))
	return list.Items
}

// ended waits until the newest run has ended and returns it.
func (s *space) ended(patience time.Duration) *v1alpha1.BenchmarkRun {
	s.Helper()
	var run *v1alpha1.BenchmarkRun
	s.until("the run is over", patience, func() bool {
		run = s.run()
		return run != nil && run.Status.EndTime != nil
	})
	return run
}

func (s *space) until(what string, patience time.Duration, holds func() bool) {
	s.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("after %s not yet: %s", patience, what)
		}
	}
}

// describe returns what a person would look at first. It is logged when a test has failed.
func (s *space) describe() string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var text strings.Builder
	within := client.InNamespace(s.namespace)
	var benchmarks v1alpha1.StorageBenchmarkList
	_ = s.api.List(ctx, &benchmarks, within) // objects that cannot be read are left out
	for _, benchmark := range benchmarks.Items {
		fmt.Fprintf(&text, "benchmark %s:%s\n", benchmark.Name, conditionLines(benchmark.Status.Conditions))
	}
	var runs v1alpha1.BenchmarkRunList
	_ = s.api.List(ctx, &runs, within)
	for _, run := range runs.Items {
		fmt.Fprintf(&text, "run %s: %s: %s%s\n", run.Name, run.Status.Stage, run.Status.Message, conditionLines(run.Status.Conditions))
		for _, step := range run.Status.Steps {
			fmt.Fprintf(&text, "  step %s, attempt %d: %s %s\n", step.ID, step.Attempt, step.State, step.Message)
		}
		for _, lost := range run.Status.LostClients {
			fmt.Fprintf(&text, "  lost %s/%d in %s: %s\n", lost.Target, lost.Client, lost.Step, lost.Reason)
		}
		for _, phase := range run.Status.Phases {
			for _, target := range phase.Targets {
				fmt.Fprintf(&text, "  phase %s, %s: window %s, warnings %+v\n", phase.Name, target.Target,
					time.Duration(target.WindowNanoseconds), target.Warnings)
			}
		}
	}
	var pods corev1.PodList
	_ = s.api.List(ctx, &pods, within)
	fmt.Fprintf(&text, "pods:%s\n", podLines(pods.Items))
	var events corev1.EventList
	_ = s.api.List(ctx, &events, within)
	for _, event := range events.Items {
		fmt.Fprintf(&text, "event %s %s/%s %s: %s\n", event.CreationTimestamp.Format(time.TimeOnly), event.InvolvedObject.Kind,
			event.InvolvedObject.Name, event.Reason, event.Message)
	}
	text.WriteString(s.ownLines(s.operatorLog(1000)))
	return text.String()
}

// ownLines returns the last lines of a log that mention the space. They are short, so that the end of a test's output
// still shows the failures before them.
func (s *space) ownLines(log string) string {
	const most, length = 12, 400
	var own []string
	for line := range strings.SplitSeq(log, "\n") {
		if strings.Contains(line, s.namespace) {
			own = append(own, line[:min(len(line), length)]+"\n")
		}
	}
	return strings.Join(own[max(0, len(own)-most):], "")
}

func conditionLines(conditions []metav1.Condition) string {
	var text strings.Builder
	for _, c := range conditions {
		fmt.Fprintf(&text, "\n  %s is %s, %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text.String()
}

func podLines(pods []corev1.Pod) string {
	var text strings.Builder
	for _, pod := range pods {
		fmt.Fprintf(&text, "\n  %s: %s %s %s", pod.Name, pod.Status.Phase, pod.Status.PodIP, pod.Status.Message)
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if waiting := status.State.Waiting; waiting != nil {
				fmt.Fprintf(&text, "; %s waits: %s %s", status.Name, waiting.Reason, waiting.Message)
			}
			if ended := status.State.Terminated; ended != nil {
				fmt.Fprintf(&text, "; %s ended: %d %s %s", status.Name, ended.ExitCode, ended.Reason, ended.Message)
			}
		}
	}
	return text.String()
}
