package sim_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/sim"
)

// TestStoredRuns conducts runs that operators stored in each plan format. All stored steps must run once, in their
// order, because a live run continues in this way after an upgrade of the operator.
func TestStoredRuns(t *testing.T) {
	files, err := filepath.Glob("../../internal/plan/testdata/runs/format-*/*.yaml")
	must(t, err)
	conducted := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		run := &v1alpha1.BenchmarkRun{}
		must(t, yaml.UnmarshalStrict(text, run))
		if run.Spec.Run.Workload.Command != nil {
			continue // The model can run only its own program.
		}
		conducted++
		t.Run(filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file)), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				stores, err := sim.StoreOf(run.Spec.Run.Targets[0].Name, model.Config{Latency: model.Latency{Fixed: time.Millisecond},
					Buckets: []model.Bucket{bytes("bucket", 10e6, 60e6, 2e9, 10e6)}}, 4)
				must(t, err)
				w, err := sim.WorldOf(run, stores)
				must(t, err)
				t.Cleanup(w.Close)
				ended := conduct(t, w)
				if ended.Status.Stage != v1alpha1.StageComplete {
					t.Fatalf("%s: %+v", ended.Status.Stage, ended.Status.Conditions)
				}
				var want, got []string
				for i := range run.Spec.Steps {
					want = append(want, run.Spec.Steps[i].ID)
				}
				for i := range ended.Status.Steps {
					got = append(got, ended.Status.Steps[i].ID)
				}
				if !slices.Equal(got, want) {
					t.Errorf("steps %v, stored were %v", got, want)
				}
			})
		})
	}
	if conducted < 8 {
		t.Errorf("only %d stored runs", conducted)
	}
}
