package objects_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/library"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// FuzzAdmittedPods merges a patch into the spec of a sample. If the API server would admit the result and it can be
// planned, the pods of its run must comply with "restricted" and have nothing else that a client does not need. The
// exceptions are running as root and the host network, which a benchmark may request.
func FuzzAdmittedPods(f *testing.F) {
	samples := benchmarksOfSamples(f)
	for _, patch := range []string{
		`{}`,
		`{"run":{"clients":{"count":3,"image":"example.com/fio@sha256:0"}}}`,
		`{"run":{"clients":{"template":{"hostNetwork":true,"securityContext":{"runAsUser":0}}}}}`,
		`{"run":{"clients":{"template":{"securityContext":{"runAsUser":1,"runAsGroup":0,"fsGroup":0,"fsGroupChangePolicy":"Always","supplementalGroups":[0,-1]}}}}}`,
		`{"run":{"clients":{"template":{"securityContext":{"seLinuxOptions":{"level":"s0:c1"}}}}}}`,
		`{"run":{"clients":{"template":{"securityContext":{"seLinuxOptions":{"type":"container_t","user":"","role":""}}}}}}`,
		`{"run":{"clients":{"template":{"securityContext":{"seLinuxOptions":{"type":"spc_t"}}}}}}`,
		`{"run":{"clients":{"template":{"securityContext":{"seLinuxOptions":{"user":"system_u"}}}}}}`,
		`{"run":{"clients":{"template":{"securityContext":{"seLinuxOptions":{"role":"system_r"}}}}}}`,
		`{"run":{"clients":{"template":{"securityContext":{"privileged":true,"sysctls":[{"name":"a","value":"b"}]}}}}}`,
		`{"run":{"clients":{"template":{"annotations":{"container.apparmor.security.beta.kubernetes.io/client":"unconfined"}}}}}`,
		`{"run":{"clients":{"template":{"annotations":{"seccomp.security.alpha.kubernetes.io/pod":"unconfined"},"labels":{"a":"b"}}}}}`,
		`{"run":{"clients":{"template":{"resources":{"limits":{"cpu":"1"}},"nodeSelector":{"a":"b"},"tolerations":[{"operator":"Exists"}],"priorityClassName":"high","imagePullSecrets":[{"name":"a"}]}}}}`,
		`{"run":{"clients":{"spread":"OnePerNode","template":{"affinity":{"podAffinity":{}},"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway"}]}}}}`,
		`{"run":{"targets":[{"name":"a","path":"../..","volumes":[{"name":"d","claimName":"c"}]}]}}`,
		`{"run":{"targets":[{"name":"a","volumes":[{"name":"d","claimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"c","resources":{"requests":{"storage":"1Gi"}}}}}]}]}}`,
		`{"run":{"allowRawDeviceWrites":true}}`,
	} {
		for at := range samples {
			f.Add(uint(at), true, []byte(patch))
		}
		f.Add(uint(0), false, []byte(patch))
	}
	f.Fuzz(func(t *testing.T, at uint, provisioned bool, patch []byte) {
		run := admitted(t, samples[at%uint(len(samples))], patch)
		if run == nil {
			return
		}
		for _, target := range run.Spec.Run.Targets {
			var names []string
			for _, volume := range target.Volumes {
				names = append(names, volume.Name)
			}
			storage := objects.Storage{Devices: names, ReadOnly: names, Node: "node"}
			if provisioned {
				storage = objects.Storage{Provisioned: names, SameNodeTargets: []string{target.Name}}
			}
			checkAdmitted(t, run, objects.Client{Target: target.Name, Attempt: 1}, storage)
		}
	})
}

func checkAdmitted(t *testing.T, run *v1alpha1.BenchmarkRun, client objects.Client, storage objects.Storage) {
	t.Helper()
	pod := objects.Pod(settings, run, client, storage)
	asked := v1alpha1.PodTemplate{}
	if template := run.Spec.Run.Clients.Template; template != nil {
		asked = *template
	}
	onNode := asked.HostNetwork != nil && *asked.HostNetwork
	if wrong := beyond(pod, onNode); len(wrong) > 0 {
		t.Errorf("a pod has more than it needs: %s", strings.Join(wrong, "; "))
	}
	// Undo what the benchmark requested, including the ports of the host network, and check the rest against "restricted".
	if onNode {
		pod.Spec.HostNetwork, pod.Spec.Containers[0].Ports[0].HostPort = false, 0
	}
	if asked.SecurityContext != nil && asked.SecurityContext.RunAsUser != nil && *asked.SecurityContext.RunAsUser == 0 {
		pod.Spec.SecurityContext.RunAsUser, pod.Spec.SecurityContext.RunAsNonRoot = nil, yes()
	}
	if complaint := restricted(t, pod); complaint != "" {
		t.Errorf("an admitted benchmark has a pod that is not restricted: %s", complaint)
	}
}

// benchmarksOfSamples returns the StorageBenchmarks of all samples, as JSON documents.
func benchmarksOfSamples(f *testing.F) []map[string]any {
	f.Helper()
	var found []map[string]any
	for _, pattern := range []string{"*.yaml", "twins/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("../../config/samples", pattern))
		if err != nil || len(files) == 0 {
			f.Fatalf("no samples: %v", err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			for _, document := range strings.Split(string(text), "\n---\n") {
				object := map[string]any{}
				encoded, err := yaml.YAMLToJSON([]byte(document))
				if err == nil {
					err = utiljson.Unmarshal(encoded, &object)
				}
				if err != nil {
					f.Fatalf("%s: %v", file, err)
				}
				if object["kind"] == v1alpha1.StorageBenchmarkKind {
					found = append(found, object)
				}
			}
		}
	}
	return found
}

// admitted returns the run of a sample with a patched spec, or nil if the API server or the planner refuses it.
func admitted(t *testing.T, sample map[string]any, patch []byte) *v1alpha1.BenchmarkRun {
	t.Helper()
	var change map[string]any
	if utiljson.Unmarshal(patch, &change) != nil {
		return nil
	}
	object := runtime.DeepCopyJSON(sample)
	object["spec"] = merged(object["spec"], change)
	problems, err := admission.Check(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		return nil
	}
	benchmark := &v1alpha1.StorageBenchmark{}
	encoded, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(encoded, benchmark)
	}
	if err != nil {
		t.Fatalf("what is admitted cannot be read: %v", err)
	}
	run, refused := plan.Resolve(&benchmark.Spec.Run, func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
		if profile, found := library.Find(ref.Name); found {
			return profile.Spec.Engine, true
		}
		return builders.IOR().Engine(), true
	})
	if len(refused) == 0 {
		_, refused = plan.Make(run, 1, plan.InCluster(plan.Cluster{Namespace: "storage", PriorityClass: plan.OperatorPriorityClass}))
	}
	if len(refused) > 0 {
		return nil
	}
	made := runOf(usual())
	made.Spec.Run = *run
	return made
}

// merged applies a JSON merge patch (RFC 7386).
func merged(into, patch any) any {
	change, isObject := patch.(map[string]any)
	if !isObject {
		return patch
	}
	object, isObject := into.(map[string]any)
	if !isObject {
		object = map[string]any{}
	}
	for _, name := range slices.Sorted(maps.Keys(change)) {
		if change[name] == nil {
			delete(object, name)
			continue
		}
		object[name] = merged(object[name], change[name])
	}
	return object
}
