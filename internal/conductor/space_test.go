package conductor_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestLoadRequestAsksForSpace checks that writing steps request the disk usage of their files, except for mdtest, whose
// files are gone at the end. All steps except those of a ramp or a sweep wait until the usage is up to date.
func TestLoadRequestAsksForSpace(t *testing.T) {
	t.Parallel()
	fio := func(profile *v1alpha1.FioProfile) v1alpha1.Engine { return v1alpha1.Engine{Fio: profile} }
	tests := map[string]struct {
		engine  v1alpha1.Engine
		kind    v1alpha1.PhaseKind
		purpose plan.Purpose
		asks    bool
		waits   time.Duration
	}{
		"prepare":      {fio(builders.Fio().Reads().Obj()), v1alpha1.PhasePrepare, plan.Prepare, true, 8 * time.Second},
		"writes":       {fio(builders.Fio().Obj()), v1alpha1.PhaseSteady, plan.Measure, true, 8 * time.Second},
		"drain":        {fio(builders.Fio().Obj()), v1alpha1.PhaseBurstDrain, plan.Drain, true, 8 * time.Second},
		"cell":         {fio(builders.Fio().Obj()), v1alpha1.PhaseSweep, plan.Measure, true, 0},
		"step of ramp": {fio(builders.Fio().Obj()), v1alpha1.PhaseRamp, plan.Measure, true, 0},
		"reads":        {fio(builders.Fio().Reads().Obj()), v1alpha1.PhaseSteady, plan.Measure, false, 0},
		"ior writes":   {builders.IOR().Engine(), v1alpha1.PhaseSteady, plan.Measure, true, 8 * time.Second},
		"ior reads":    {builders.IOR().Reads().Engine(), v1alpha1.PhaseSteady, plan.Measure, false, 0},
		"mdtest":       {builders.Mdtest(), v1alpha1.PhaseSteady, plan.Measure, false, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := plan.Step{
				ID: "01-a", PhaseIndex: 1, Kind: test.kind, Purpose: test.purpose, Duration: 10 * time.Second, Targets: []string{"target"},
				Clients: 1, Processes: 2, Workloads: map[string]*v1alpha1.Engine{"target": &test.engine}, NewBytes: map[string]uint64{"target": 5},
				Striping: map[string]plan.Striping{"target": {Count: -1, SizeBytes: 1 << 20}, "other": {Count: 3}},
			}
			if step.WorkBound() || test.engine.Mdtest != nil {
				step.Duration = 0
			}
			request, err := conductor.LoadRequest(step, clientKey(0), 42, conductor.Job{Shared: true, Version: "4.0.0"})
			must(t, err)
			dataset := request.GetDataset()
			if dataset.GetMeasureUsage() != test.asks || time.Duration(dataset.GetUsagePatienceNanoseconds()) != test.waits {
				t.Errorf("it asks: %t, and waits for %d", dataset.GetMeasureUsage(), dataset.GetUsagePatienceNanoseconds())
			}
			if !proto.Equal(dataset.GetStriping(), &agentapi.Striping{Count: -1, SizeBytes: 1 << 20}) {
				t.Errorf("striping %v", dataset.GetStriping())
			}
			step.Striping = nil
			if request, err = conductor.LoadRequest(step, clientKey(0), 42, conductor.Job{Shared: true}); err != nil || request.GetDataset().GetStriping() != nil {
				t.Errorf("without striping: %v, %v", request, err)
			}
		})
	}
}
