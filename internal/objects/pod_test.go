package objects_test

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/builders"
)

// TestPortsDiffer checks that clients have different ports on the host network. With an address of its own, each pod
// has the same port.
func TestPortsDiffer(t *testing.T) {
	benchmark := builders.Benchmark("b").Target("a").Target("a-1").Target("c").Clients(3).Steady("write", "1m")
	run, seen := runOf(benchmark.Mutate(templated(v1alpha1.PodTemplate{HostNetwork: yes()}))), map[int32]bool{}
	for _, target := range run.Spec.Run.Targets {
		for index := range 3 {
			port := objects.Port(run, objects.Client{Target: target.Name, Index: index, Attempt: 1})
			if seen[port] || port < objects.AgentPort || port >= objects.AgentPort+9 {
				t.Errorf("client %d of %s has port %d", index, target.Name, port)
			}
			seen[port] = true
		}
	}
	run.Spec.Run.Clients.Template = nil
	if port := objects.Port(run, objects.Client{Target: "c", Index: 2}); port != objects.AgentPort {
		t.Errorf("port %d", port)
	}
}

// TestPullSecrets checks that a pod gets the operator's pull Secrets for the registries of its images, in addition to
// those of the benchmark.
func TestPullSecrets(t *testing.T) {
	with, client := settings, objects.Client{Target: "data", Attempt: 1}
	with.AgentImage, with.FioImage = "registry.example/mirror/operator:v1", "other.example/fio:v1"
	with.PullSecrets = []objects.PullSecret{{Name: "any"}, {Name: "mirror", Registry: "registry.example/mirror/"},
		{Name: "like-it", Registry: "registry.example/mir"}, {Name: "else", Registry: "third.example"}, {Name: "registry", Registry: "other.example"}}
	names := func(run *v1alpha1.BenchmarkRun) []string {
		var all []string
		for _, secret := range objects.Pod(with, run, client, objects.Storage{}).Spec.ImagePullSecrets {
			all = append(all, secret.Name)
		}
		return all
	}
	if got, want := names(runOf(usual())), []string{"any", "mirror", "registry"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	named := runOf(usual().Mutate(templated(everything())))
	if got, want := names(named), []string{"registry", "any", "mirror"}; !slices.Equal(got, want) {
		t.Errorf("with one that the benchmark names: got %v, want %v", got, want)
	}
	named.Spec.Run.Clients.Image = "third.example/own:1"
	if got, want := names(named), []string{"registry", "any", "mirror", "else"}; !slices.Equal(got, want) {
		t.Errorf("with an image that the benchmark names: got %v, want %v", got, want)
	}
}

// TestClientLabels checks that the labels of a benchmark override those of the operator, and that the labels that this
// package sets override both.
func TestClientLabels(t *testing.T) {
	with := settings
	with.ClientLabels = map[string]string{"cost-center": "7", "team": "platform", v1alpha1.LabelTarget: "elsewhere"}
	run := runOf(usual().Mutate(templated(v1alpha1.PodTemplate{Labels: map[string]string{"team": "storage"}})))
	labels := objects.Pod(with, run, objects.Client{Target: "data", Attempt: 1}, objects.Storage{}).Labels
	if labels["cost-center"] != "7" || labels["team"] != "storage" || labels[v1alpha1.LabelTarget] != "data" {
		t.Errorf("labels %v", labels)
	}
	if len(with.ClientLabels) != 3 {
		t.Errorf("the operator's own were changed: %v", with.ClientLabels)
	}
}

// TestNothingIsShared checks that changing a pod changes neither the run nor the next pod.
func TestNothingIsShared(t *testing.T) {
	run := runOf(usual().Mutate(templated(everything())))
	before := run.DeepCopy()
	client := objects.Client{Target: "data", Attempt: 1}
	first := objects.Pod(settings, run, client, objects.Storage{})
	want := first.DeepCopy()
	first.Spec.Affinity.PodAntiAffinity = nil
	first.Spec.Tolerations[0].Key = "changed"
	first.Spec.Containers[0].Resources.Limits["cpu"] = first.Spec.Containers[0].Resources.Limits["memory"]
	first.Spec.NodeSelector["pool"] = "changed"
	*first.Spec.SecurityContext.FSGroup = 1
	first.Spec.SecurityContext.SELinuxOptions.Level = "changed"
	if !reflect.DeepEqual(run, before) {
		t.Error("the run was changed")
	}
	if !reflect.DeepEqual(objects.Pod(settings, run, client, objects.Storage{}), want) {
		t.Error("the next pod differs")
	}
}

// TestGuaranteed checks that a pod with limits for all resources gets the QoS class Guaranteed, which depends on every
// container.
func TestGuaranteed(t *testing.T) {
	pod := objects.Pod(settings, runOf(usual().Mutate(templated(everything()))), objects.Client{Target: "data", Attempt: 1}, objects.Storage{})
	for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, request := container.Resources.Limits[name], container.Resources.Requests[name]
			if limit.IsZero() || limit.Cmp(request) != 0 {
				t.Errorf("container %s: %s is %s of %s", container.Name, name, request.String(), limit.String())
			}
		}
	}
}

// TestOneSpreadConstraint checks that there is only one constraint per kind and topology, because the API server
// refuses duplicates.
func TestOneSpreadConstraint(t *testing.T) {
	own := corev1.TopologySpreadConstraint{MaxSkew: 3, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway}
	run := runOf(usual().Mutate(templated(v1alpha1.PodTemplate{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{own}})))
	got := objects.Pod(settings, run, objects.Client{Target: "data", Attempt: 1}, objects.Storage{}).Spec.TopologySpreadConstraints
	if !reflect.DeepEqual(got, []corev1.TopologySpreadConstraint{own}) {
		t.Errorf("got %+v", got)
	}
}

// TestDeadline checks that the deadline of a pod, which is a backstop, is later than the timeouts of the run.
func TestDeadline(t *testing.T) {
	for name, test := range map[string]struct {
		active, orphan v1alpha1.Duration
		seconds        int64
	}{
		"defaults": {"", "", (48+1)*3600 + 900},
		"longest":  {"168h", "168h", 2*168*3600 + 900},
		"short":    {"1m", "10s", 60 + 10 + 900},
	} {
		run := runOf(usual().Mutate(func(r *v1alpha1.RunSpec) { r.ActiveDeadline, r.OrphanTimeout = test.active, test.orphan }))
		if got := *objects.Pod(settings, run, objects.Client{Target: "data"}, objects.Storage{}).Spec.ActiveDeadlineSeconds; got != test.seconds {
			t.Errorf("%s: %d s, want %d", name, got, test.seconds)
		}
	}
}
