package record

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestUsageTypesGiveWay checks that a status that is too large loses the disk usage by file type rather than figures.
func TestUsageTypesGiveWay(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	ratio := int64(2000)
	for range 32 {
		var phase v1alpha1.PhaseResult
		for range 16 {
			usage := &v1alpha1.UsageResult{Files: 1, ApparentBytes: 1 << 40, AllocatedBytes: 1 << 39, CompressionRatioMilli: &ratio}
			for range 16 {
				usage.Types = append(usage.Types, v1alpha1.TypeUsage{Extension: "exr", Files: 1 << 20, ApparentBytes: 1 << 40, CompressionRatioMilli: &ratio})
			}
			phase.Targets = append(phase.Targets, v1alpha1.TargetResult{Target: "a", Usage: usage})
		}
		run.Status.Phases = append(run.Status.Phases, phase)
	}
	fit(run)
	for _, phase := range run.Status.Phases {
		for _, target := range phase.Targets {
			if target.Usage.Types != nil || target.Usage.AllocatedBytes != 1<<39 || *target.Usage.CompressionRatioMilli != ratio {
				t.Fatalf("got %+v", target.Usage)
			}
		}
	}
	small := &v1alpha1.BenchmarkRun{Status: v1alpha1.BenchmarkRunStatus{Phases: []v1alpha1.PhaseResult{{Targets: []v1alpha1.TargetResult{{
		Usage: &v1alpha1.UsageResult{Types: []v1alpha1.TypeUsage{{}, {}}}}}}}}}
	if fit(small); len(small.Status.Phases[0].Targets[0].Usage.Types) != 2 {
		t.Error("a small status loses them too")
	}
}
