package objects_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
)

// nasty returns a random name that contains what could be mistaken for later parts of an object's name.
func nasty(random *rand.Rand, longest int) string {
	pieces := []string{"a", "b", "0", "1", "00", "-", "--", "-0", "-1", "data", "0123456789"}
	var name string
	for range 1 + random.IntN(5) {
		name += pieces[random.IntN(len(pieces))]
	}
	if random.IntN(20) == 0 {
		name = strings.Repeat("x", longest)
	}
	if name = strings.Trim(name, "-"); name == "" {
		return "a"
	}
	return name[:min(len(name), longest)]
}

// owners maps each kind and name to its owner.
type owners map[string]string

// take assigns a name to the owner that parts identify. It fails if the name is invalid or belongs to another owner.
func (o owners) take(t *testing.T, kind, name string, parts ...any) {
	t.Helper()
	owner := fmt.Sprintf("%q", parts)
	if other, taken := o[kind+" "+name]; taken && other != owner {
		t.Fatalf("%s %s is that of %s and of %s", kind, name, owner, other)
	}
	o[kind+" "+name] = owner
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		t.Fatalf("%s %q is not a valid name: %v", kind, name, problems)
	}
}

// TestNames checks that no two clients share a name and that every name is valid.
func TestNames(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	run := runOf(usual())
	owners := owners{}
	for range 50_000 {
		target, index, attempt := nasty(random, 40), random.IntN(12), 1+random.IntN(3)
		client := objects.Client{Target: target, Index: index, Attempt: attempt}
		owners.take(t, "pod", objects.PodName(run, client), target, index, attempt)
	}
}

// TestClaimNames checks that claims do not share a name, for several benchmarks and every scope and lifetime.
func TestClaimNames(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	owners := owners{}
	run := runOf(usual())
	for range 50_000 {
		run.Spec.BenchmarkRef.Name = nasty(random, 40)
		target := v1alpha1.Target{Name: nasty(random, 40)}
		scope := []v1alpha1.ClaimScope{v1alpha1.ClaimShared, v1alpha1.ClaimPerClient}[random.IntN(2)]
		volume := v1alpha1.Volume{Name: nasty(random, 40), ClaimTemplate: &v1alpha1.ClaimTemplate{Scope: scope, Lifetime: v1alpha1.ClaimForBenchmark}}
		index := random.IntN(12)
		if scope == v1alpha1.ClaimShared {
			index = 0
		}
		owners.take(t, "claim", objects.ClaimName(run, target, volume, index), run.Spec.BenchmarkRef.Name, target.Name, volume.Name, scope, index)
	}
}

// TestReadableNames checks the usual names, which people type.
func TestReadableNames(t *testing.T) {
	run := runOf(usual().Mutate(made(v1alpha1.ClaimPerClient, v1alpha1.ClaimForRun)))
	target := run.Spec.Run.Targets[0]
	stays := target.Volumes[0]
	stays.ClaimTemplate = &v1alpha1.ClaimTemplate{Scope: v1alpha1.ClaimShared, Lifetime: v1alpha1.ClaimForBenchmark}
	dashed := v1alpha1.Target{Name: "fsx-smb"}
	for _, test := range []struct{ got, want string }{
		{objects.PodName(run, objects.Client{Target: "data", Index: 3, Attempt: 2}), "quickstart-0a1b2c3d-data-3-2"},
		{objects.NetworkPolicyName(run), "quickstart-0a1b2c3d"},
		{objects.ClaimName(run, target, target.Volumes[0], 1), "quickstart-0a1b2c3d-data-data-1"},
		{objects.ClaimName(run, target, stays, 1), "quickstart-data-data"},
		{objects.ClaimName(run, dashed, stays, 1), "quickstart-fsx-smb-data-7456e60cfc"},
		{objects.ClaimName(run, target, v1alpha1.Volume{Name: "data", ClaimName: "mine"}, 1), "mine"},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}

// TestLongNames checks that names stay valid and distinct if the name of the run is very long.
func TestLongNames(t *testing.T) {
	run := runOf(usual())
	run.Name = strings.Repeat("r", 250)
	names := owners{}
	for index := range 20 {
		client := objects.Client{Target: "data", Index: index, Attempt: 1}
		names.take(t, "pod", objects.PodName(run, client), index)
		pod := objects.Pod(settings, run, client, objects.Storage{})
		names.take(t, "hostname", pod.Spec.Hostname, index)
		if problems := validation.IsDNS1123Label(pod.Spec.Hostname); len(problems) > 0 {
			t.Errorf("hostname %q: %v", pod.Spec.Hostname, problems)
		}
		for key, value := range pod.Labels {
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				t.Errorf("label %s: %v", key, problems)
			}
		}
	}
	run.Name = "short-0a1b2c3d"
	if pod := objects.Pod(settings, run, objects.Client{Target: "data", Attempt: 1}, objects.Storage{}); pod.Spec.Hostname != "" {
		t.Errorf("hostname %q of a pod whose name is one", pod.Spec.Hostname)
	}
	run.Name = "long.with.dots"
	if pod := objects.Pod(settings, run, objects.Client{Target: "data", Attempt: 1}, objects.Storage{}); strings.Contains(pod.Spec.Hostname, ".") || pod.Spec.Hostname == "" {
		t.Errorf("hostname %q of pod %s", pod.Spec.Hostname, pod.Name)
	}
}
