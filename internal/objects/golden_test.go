package objects_test

import (
	"bytes"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/golden"
)

// runs holds the benchmarks that have golden files of their objects.
var runs = map[string]*builders.BenchmarkBuilder{
	"claim": usual().Mutate(func(r *v1alpha1.RunSpec) {
		r.Clients.Spread, r.Targets[0].Path = v1alpha1.SpreadOnePerNode, "bench/a"
	}),
	"any-spread":     usual(),
	"prefer-spread":  usual().Spread(v1alpha1.SpreadPreferOnePerNode),
	"claim-a-client": usual().Mutate(made(v1alpha1.ClaimPerClient, v1alpha1.ClaimForRun)),
	"claim-stays":    usual().Mutate(made(v1alpha1.ClaimShared, v1alpha1.ClaimForBenchmark)),
	"claim-of-existing-volume": usual().Mutate(made(v1alpha1.ClaimShared, v1alpha1.ClaimForRun)).Mutate(func(r *v1alpha1.RunSpec) {
		template := r.Targets[0].Volumes[0].ClaimTemplate
		template.AllowExistingVolumes, template.Spec.StorageClassName, template.Spec.VolumeName = yes(), new(""), "pv-1"
	}),
	"everything-said": usual().Mutate(templated(everything())).Mutate(func(r *v1alpha1.RunSpec) {
		r.Clients.Spread = v1alpha1.SpreadOnePerNode
		r.Clients.Image = "example.com/fio:3.41"
	}),
	"mpi": usual().Processes(8).Steady("ior", "1m").WithLoad(builders.IOR().Engine()).
		Ramp("ranks", v1alpha1.RampProcesses, "30s", 1, 32).WithLoad(builders.IOR().Engine()),
	"mpi-own-image": usual().Steady("meta", "1m").ForLoad("data", builders.Mdtest()).Mutate(func(r *v1alpha1.RunSpec) {
		r.Clients.Image = "example.com/ior:4.0.0"
	}),
	"devices": usual().Spread(v1alpha1.SpreadAny).Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Volumes = []v1alpha1.Volume{{Name: "one", ClaimName: "disk-1"}, {Name: "two", ClaimName: "disk-2"}}
	}),
	"read-only": usual().Mutate(func(r *v1alpha1.RunSpec) { r.Phases = r.Phases[1:] }),
	"kueue": builders.Benchmark("quickstart").Target("a").Target("b").Clients(2).Steady("write", "1m").
		Mutate(templated(v1alpha1.PodTemplate{Labels: map[string]string{v1alpha1.LabelKueueQueue: "storage-tests"}})),
	"host-network": builders.Benchmark("quickstart").Target("a").Target("b").Clients(2).Steady("write", "1m").
		Mutate(templated(v1alpha1.PodTemplate{HostNetwork: yes()})),
}

// found holds the discovered storage of these runs, where it matters.
var found = map[string]objects.Storage{
	"claim-a-client": {Provisioned: []string{"data"}},
	"claim-stays":    {Provisioned: []string{"data"}},
	"devices":        {Devices: []string{"one", "two"}, SameNodeTargets: []string{"data"}, Node: "node-7"},
	"read-only":      {ReadOnly: []string{"data"}},
}

// TestObjects checks everything that a run creates in a cluster. Only the pod and the Secret of the last client are in
// the golden file, because those of the others differ only in the index.
func TestObjects(t *testing.T) {
	for name, benchmark := range runs {
		t.Run(name, func(t *testing.T) {
			run := runOf(benchmark)
			target, last := run.Spec.Run.Targets[len(run.Spec.Run.Targets)-1].Name, int(run.Spec.Run.Clients.Count)-1
			pod := objects.Pod(settings, run, objects.Client{Target: target, Index: last, Attempt: 1}, found[name])
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
			golden.File(t, "testdata/"+name+".yaml", text.String())
		})
	}
}

func yes() *bool {
	value := true
	return &value
}
