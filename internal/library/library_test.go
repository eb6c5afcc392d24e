package library_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/library"
	"github.com/storagebench/storagebench/internal/plan"
)

// TestProfiles checks that an API server accepts every profile, that each states its purpose and the source of its
// numbers, and that each can be planned without changes.
func TestProfiles(t *testing.T) {
	all, err := library.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Errorf("there are %d profiles", len(all))
	}
	for _, one := range all {
		t.Run(one.Name, func(t *testing.T) {
			if one.About() == "" || one.Source() == "" {
				t.Error("it does not say what it is for, or where its numbers are from")
			}
			if !strings.Contains(one.Source(), "https://") {
				t.Errorf("its source has no address where anybody could look it up: %s", one.Source())
			}
			if len(one.Annotations) != 2 || len(one.Labels) > 0 {
				t.Errorf("labels %v and annotations %v are the operator's to set", one.Labels, one.Annotations)
			}
			benchmark := fmt.Sprintf(`apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: of-the-library}
spec:
  run:
    targets: [{name: data, volumes: [{name: data, claimName: data}]}]
    clients: {count: 2%s}
    workload: {profileRef: {kind: ClusterWorkloadProfile, name: %s}}
    phases:%s
    - {name: measure, steady: {duration: 5m}}
`, ranks(one.Spec.EngineKind()), one.Name, layout(one.Spec.EngineKind()))
			objects, err := admission.Decode([]byte(one.Text + "---\n" + benchmark))
			if err != nil {
				t.Fatal(err)
			}
			run, problems := plan.Resolve(&objects[1].Benchmark.Spec.Run, func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
				found, is := library.Find(ref.Name)
				return found.Spec.Engine, is
			})
			_, more := plan.Make(run, 1)
			if problems = append(problems, more...); len(problems) > 0 {
				t.Error(problems.ToAggregate())
			}
		})
	}
}

func ranks(engine v1alpha1.EngineKind) string {
	if engine == v1alpha1.EngineFio {
		return ""
	}
	return ", processesPerClient: 2"
}

// layout returns a phase that writes the dataset. It is empty for mdtest, which creates its own files.
func layout(engine v1alpha1.EngineKind) string {
	if engine == v1alpha1.EngineMdtest {
		return ""
	}
	return "\n    - {name: layout, prepare: {}}"
}

// TestObject checks that the object to apply has the spec of the file, with integers as on an API server.
func TestObject(t *testing.T) {
	profile, found := library.Find("rand-read-4k")
	if !found {
		t.Fatal("there is no rand-read-4k")
	}
	object, err := profile.Object()
	if err != nil {
		t.Fatal(err)
	}
	fio := object.Object["spec"].(map[string]any)["fio"].(map[string]any)
	if depth, is := fio["queueDepth"].(int64); !is || depth != 256 {
		t.Errorf("queueDepth is %T %v", fio["queueDepth"], fio["queueDepth"])
	}
	if _, found := library.Find("of-yesterday"); found {
		t.Error("a profile is found that is not there")
	}
}
