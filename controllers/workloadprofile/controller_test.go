package workloadprofile

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

func namespace(t *testing.T) string {
	t.Helper()
	needsCluster(t)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "profiles-"}}
	if err := cluster.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	return made.Name
}

func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := cluster.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The context of the test has ended by now.
		if err := client.IgnoreNotFound(cluster.Delete(context.Background(), object)); err != nil {
			t.Error(err)
		}
	})
}

// judged waits until the status refers to the current generation of the object.
func judged(t *testing.T, object client.Object) *v1alpha1.WorkloadProfileStatus {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		_, found := specAndStatus(object)
		if found.ObservedGeneration == object.GetGeneration() {
			return found
		}
		if time.Now().After(end) {
			t.Fatalf("generation %d is not judged: %+v", object.GetGeneration(), found)
		}
	}
}

// kstatus returns the status that the kstatus library computes for the stored object.
func kstatus(t *testing.T, object client.Object) status.Status {
	t.Helper()
	loose := &unstructured.Unstructured{}
	loose.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.WorkloadProfileKind))
	if _, cluster := object.(*v1alpha1.ClusterWorkloadProfile); cluster {
		loose.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterWorkloadProfileKind))
	}
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(object), loose); err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(loose)
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

func TestValidProfilesAreReady(t *testing.T) {
	space := namespace(t)
	for _, object := range []client.Object{
		builders.Profile(space, "typed", builders.Fio()),
		builders.Profile(space, "job-file", builders.JobFile("[a]\nrw=randread\nbs=4k\nsize=64m\n", "64Mi")),
		builders.Profile(space, "no-files", builders.Fio().Null()),
		builders.ClusterProfile("typed", builders.Fio()),
	} {
		t.Run(object.GetName(), func(t *testing.T) {
			create(t, object)
			found := judged(t, object)
			ready := meta.FindStatusCondition(found.Conditions, v1alpha1.ConditionReady)
			if ready == nil || ready.Status != metav1.ConditionTrue || ready.Reason != v1alpha1.ReasonValidWorkload ||
				ready.ObservedGeneration != object.GetGeneration() {
				t.Errorf("Ready is %+v", ready)
			}
			if len(found.Conditions) != 1 {
				t.Errorf("conditions beside Ready: %+v", found.Conditions)
			}
			if found.Engine != v1alpha1.EngineFio {
				t.Errorf("engine is %q", found.Engine)
			}
			if got := kstatus(t, object); got != status.CurrentStatus {
				t.Errorf("kstatus says %s, want %s", got, status.CurrentStatus)
			}
		})
	}
}

func TestProfilesThatCannotBeRun(t *testing.T) {
	space := namespace(t)
	for name, test := range map[string]struct {
		fio  *builders.FioBuilder
		want []string
	}{
		"option": {
			fio: builders.Fio().Mutate(func(p *v1alpha1.FioProfile) {
				p.Options = map[string]v1alpha1.FioOptionValue{"frobnicate": "1"}
			}),
			want: []string{"spec.fio.options", "frobnicate"},
		},
		"job-file": {
			fio:  builders.JobFile("[a]\nfilename=/dev/sda\n", "64Mi"),
			want: []string{"spec.fio.jobFile", "filename", "line 2"},
		},
		"many-problems": {
			fio:  builders.JobFile("[a]\n"+strings.Repeat("frobnicate=1\n", 2000), "64Mi"),
			want: []string{"spec.fio.jobFile"},
		},
	} {
		for _, object := range []client.Object{
			builders.Profile(space, name, test.fio),
			builders.ClusterProfile(name, test.fio),
		} {
			t.Run(name+"/"+object.GetObjectKind().GroupVersionKind().Kind, func(t *testing.T) {
				create(t, object)
				found := judged(t, object)
				for kind, value := range map[string]metav1.ConditionStatus{
					v1alpha1.ConditionReady: metav1.ConditionFalse, v1alpha1.ConditionStalled: metav1.ConditionTrue,
				} {
					condition := meta.FindStatusCondition(found.Conditions, kind)
					if condition == nil || condition.Status != value || condition.Reason != v1alpha1.ReasonInvalidWorkload ||
						condition.ObservedGeneration != object.GetGeneration() {
						t.Fatalf("%s is %+v", kind, condition)
					}
					for _, want := range test.want {
						if !strings.Contains(condition.Message, want) {
							t.Errorf("the message of %s does not say %q: %s", kind, want, condition.Message)
						}
					}
					if len(condition.Message) > maxMessage {
						t.Errorf("the message of %s has %d bytes", kind, len(condition.Message))
					}
				}
				if got := kstatus(t, object); got != status.FailedStatus {
					t.Errorf("kstatus says %s, want %s", got, status.FailedStatus)
				}
			})
		}
	}
}

func TestVerdictFollowsTheSpec(t *testing.T) {
	object := builders.Profile(namespace(t), "edited", builders.JobFile("[a]\nfilename=x\n", "64Mi"))
	create(t, object)
	if !meta.IsStatusConditionFalse(judged(t, object).Conditions, v1alpha1.ConditionReady) {
		t.Fatal("a refused option makes the profile ready")
	}

	object.Spec.Fio.JobFile = "[a]\nrw=write\nbs=4k\nsize=64m\n"
	if err := cluster.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	found := judged(t, object)
	if !meta.IsStatusConditionTrue(found.Conditions, v1alpha1.ConditionReady) ||
		meta.FindStatusCondition(found.Conditions, v1alpha1.ConditionStalled) != nil {
		t.Errorf("after the correction: %+v", found.Conditions)
	}

	// A change of only labels must not cause a write of the status.
	version := object.ResourceVersion
	object.Labels = map[string]string{"a": "b"}
	if err := cluster.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if object.ResourceVersion == version {
		t.Fatal("the labels were not changed")
	}
	version = object.ResourceVersion
	other := builders.Profile(object.Namespace, "after", builders.Fio())
	create(t, other)
	judged(t, other)
	if judged(t, object); object.ResourceVersion != version {
		t.Error("a change of labels alone has led to a write")
	}
}

// TestProfilesOfMPI checks that profiles of IOR and mdtest are evaluated like those of fio.
func TestProfilesOfMPI(t *testing.T) {
	for name, test := range map[string]struct {
		engine v1alpha1.Engine
		want   string
	}{
		"ior":               {builders.IOR().Engine(), ""},
		"ior of the post":   {builders.Post().Engine(), ""},
		"ior that verifies": {builders.IOR().Mutate(func(p *v1alpha1.IORProfile) { p.Verify = new(true) }).Engine(), ""},
		"mdtest":            {builders.Mdtest(), ""},
		"path":              {builders.IOR().Mutate(func(p *v1alpha1.IORProfile) { p.Args = []string{"-o", "/etc/passwd"} }).Engine(), "spec.ior.args"},
		"old pattern":       {builders.IOR().Mutate(func(p *v1alpha1.IORProfile) { p.DataPattern = "Incompressible" }).Engine(), ""},
		"old and new": {builders.IOR().Mutate(func(p *v1alpha1.IORProfile) {
			p.DataPattern, p.Args = "Incompressible", []string{"--random-offset-seed=1"}
		}).Engine(), "use Random: change the profile"},
	} {
		t.Run(name, func(t *testing.T) {
			var found v1alpha1.WorkloadProfileStatus
			report(&v1alpha1.WorkloadProfileSpec{Engine: test.engine}, &found, 3)
			ready := meta.FindStatusCondition(found.Conditions, v1alpha1.ConditionReady)
			if ready == nil || (ready.Status == metav1.ConditionTrue) != (test.want == "") || !strings.Contains(ready.Message, test.want) || found.Engine != test.engine.EngineKind() {
				t.Errorf("Ready is %+v", ready)
			}
		})
	}
}

// TestWhatAdmissionWouldRefuse checks that the status explains why a profile cannot run that today's admission would
// refuse. A version with other rules may have stored such a profile.
func TestWhatAdmissionWouldRefuse(t *testing.T) {
	for name, test := range map[string]struct {
		engine v1alpha1.Engine
		want   string
	}{
		"nothing": {v1alpha1.Engine{}, "no engine: set fio, ior, mdtest or command"},
		"ior":     {v1alpha1.Engine{IOR: &v1alpha1.IORProfile{}}, "spec.ior.transferSize"},
		"mdtest":  {v1alpha1.Engine{Mdtest: &v1alpha1.MdtestProfile{}}, "spec.mdtest.filesPerProcess"},
		"command": {v1alpha1.Engine{Command: &v1alpha1.CommandProfile{}}, "spec.command.command: Required value: set the program"},
	} {
		t.Run(name, func(t *testing.T) {
			var found v1alpha1.WorkloadProfileStatus
			report(&v1alpha1.WorkloadProfileSpec{Engine: test.engine}, &found, 3)
			ready := meta.FindStatusCondition(found.Conditions, v1alpha1.ConditionReady)
			if ready == nil || ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, test.want) {
				t.Errorf("Ready is %+v", ready)
			}
		})
	}
}
