package objects_test

import (
	"bytes"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/builders"
)

// runs are those whose objects are shown whole.
var runs = map[string]*builders.BenchmarkBuilder{
	"claim": usual().Mutate(func(r *v1alpha1.RunSpec) {
		r.Clients.Spread, r.Targets[0].Path = v1alpha1.SpreadOnePerNode, "bench/a"
	}),
	"any-spread":     usual(),
	"claim-a-client": usual().Mutate(made(v1alpha1.ClaimPerClient, v1alpha1.ClaimForRun)),
	"claim-stays":    usual().Mutate(made(v1alpha1.ClaimShared, v1alpha1.ClaimForBenchmark)),
	"everything-said": usual().Mutate(templated(everything())).Mutate(func(r *v1alpha1.RunSpec) {
		r.Clients.Spread = v1alpha1.SpreadOnePerNode
		r.Clients.Image = "example.com/fio:3.41"
	}),
	"host-network": builders.Benchmark("quickstart").Target("a").Target("b").Clients(2).Steady("write", "1m").
		Mutate(templated(v1alpha1.PodTemplate{HostNetwork: yes()})),
}

// TestObjects shows all that a run puts into a cluster: everything once, and of the pods and Secrets
// those of the last client, for they differ in nothing but the index.
func TestObjects(t *testing.T) {
	for name, benchmark := range runs {
		t.Run(name, func(t *testing.T) {
			run := runOf(benchmark)
			target, last := run.Spec.Run.Targets[len(run.Spec.Run.Targets)-1].Name, int(run.Spec.Run.Clients.Count)-1
			pod := objects.Pod(settings, run, objects.Client{Target: target, Index: last, Attempt: 1})
			stored := pod.DeepCopy()
			stored.UID = "7f1d7e9a-0000-4000-8000-000000000001"
			all := []any{objects.NetworkPolicy(settings, run), objects.Secret(stored, []byte(`{"key":"private"}`))}
			for _, claim := range objects.Claims(run) {
				all = append(all, claim)
			}
			all = append(all, pod)
			var text bytes.Buffer
			for _, object := range all {
				encoded, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				text.WriteString("---\n")
				text.Write(encoded)
			}
			golden(t, name+".yaml", text.Bytes())
		})
	}
}

func yes() *bool {
	value := true
	return &value
}
