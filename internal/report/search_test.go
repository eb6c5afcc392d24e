package report_test

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/golden"
)

// searched returns the document of a run with a search. Its steps include ones that met the objective, missed it, and
// confirmed the highest rate.
func searched(t *testing.T) report.Document {
	t.Helper()
	spec := builders.Benchmark("usual").Target("data").Workload(builders.Fio().BlockSize("4Ki").Reads().Mutate(func(p *v1alpha1.FioProfile) {
		p.FileSharing = v1alpha1.FilesShared
	})).Prepare("layout").Search("capacity", "99", "5ms", 4000, "1m").Run()
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	run := record.New(record.Identity{Name: "usual-3f2a91", Namespace: "default", UID: "0-1",
		Benchmark: v1alpha1.BenchmarkReference{Name: "usual", UID: "0-0"}, Hash: "abc", Seed: 7}, spec, planned)
	record.Begin(run, builders.Start)
	target := v1alpha1.TargetResult{Target: "data", Clients: 1, WindowNanoseconds: 300e9}
	for i, one := range []struct {
		offered, achieved, slowerPPM, p50, p99 int64
		confirms                               bool
	}{
		{500, 500_120, 120, 210_000, 410_000, false}, {1000, 999_300, 1900, 260_000, 1_900_000, false}, {2000, 1_410_000, 998_000, 80e6, 95e6, false},
		{1410, 1_409_100, 16_200, 700_000, 6_100_000, false}, {1180, 1_179_000, 8100, 310_000, 4_400_000, false},
		{1180, 1_181_000, 7800, 310_000, 4_300_000, true}, {1180, 1_180_100, 8000, 310_000, 4_350_000, true},
	} {
		step := v1alpha1.StepResult{Cell: int32(i), Clients: 1, OfferedIOPS: &one.offered, SlowerPPM: &one.slowerPPM, Operations: []v1alpha1.StepOperation{{
			Operation: v1alpha1.OperationRead, BytesPerSecond: one.achieved * 4096 / 1000, IOPSMilli: one.achieved, MeanNanoseconds: one.p50, P50Nanoseconds: &one.p50,
			P99Nanoseconds: &one.p99}}}
		if one.confirms {
			step.Confirms = new(true)
		}
		target.Steps = append(target.Steps, step)
	}
	target.Operations = []v1alpha1.OperationResult{{Operation: v1alpha1.OperationRead, Operations: 141_600, Bytes: 141_600 * 4096, BytesPerSecond: new(int64(4_833_280)),
		IOPSMilli: new(int64(1_180_500)), Latency: &v1alpha1.LatencyResult{Samples: 141_600, MeanNanoseconds: 330_000, P50Nanoseconds: new(int64(310_000)), P99Nanoseconds: new(int64(4_320_000))}}}
	target.Search = &v1alpha1.SearchResult{Found: true, OfferedIOPS: new(int64(1180)), Message: "1,180 IOPS is the highest rate"}
	target.Knee = &v1alpha1.KneeResult{Message: "the curve bends most at an offered rate of 1410"}
	for _, step := range planned.Steps {
		run.Status.Steps = append(run.Status.Steps, v1alpha1.StepStatus{ID: step.ID, Attempt: 1, State: v1alpha1.StepSkipped, EndTime: &metav1.MicroTime{Time: builders.Start}})
	}
	run.Status.Phases = []v1alpha1.PhaseResult{{Name: "capacity", Kind: v1alpha1.PhaseSearch, Targets: []v1alpha1.TargetResult{target}}}
	finished()(run)
	return report.NewDocument(run, "v0.1.0")
}

func TestSearch(t *testing.T) {
	document := searched(t)
	golden.File(t, "testdata/search.golden.txt",
		text(t, document, report.TextOptions{})+"\n== with -v\n\n"+text(t, document, verbose))
	var page bytes.Buffer
	if err := report.HTML(&page, document); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Searches", "1,180 IOPS is the highest rate", "confirms", `data-chart="search-0"`, `data-chart="search-1"`,
		"data at 500: 500.1 IOPS. data at 1000: 999.3 IOPS. data at 1180: 1,179 IOPS. data at 1410: 1,409 IOPS. data at 2000: 1,410 IOPS. highest rate of data: 1180."} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}
