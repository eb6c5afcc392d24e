package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/chart"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/series"
)

// TestChartsOfManySteps checks that a phase with many steps has no latency distribution and no chart of clients for
// each step, so that later phases still have theirs.
func TestChartsOfManySteps(t *testing.T) {
	for kind, want := range map[v1alpha1.PhaseKind]int{v1alpha1.PhaseSearch: 0, v1alpha1.PhaseInterference: 0, v1alpha1.PhaseRamp: 0, v1alpha1.PhaseSteady: 1} {
		d := Document{}
		d.Series = &series.Log{}
		add := func(phase string, kind v1alpha1.PhaseKind, steps int) {
			for i := range steps {
				id := fmt.Sprintf("%s-%d", phase, i)
				d.Spec.Steps = append(d.Spec.Steps, v1alpha1.ResolvedStep{ID: id, Phase: phase, Kind: kind, Purpose: v1alpha1.StepMeasure})
				d.Series.Add(series.Step{ID: id, Targets: []series.Target{{
					Name: "data", Clients: []series.ClientRate{{BytesPerSecond: 1}, {Client: 1, BytesPerSecond: 2}},
					Latency: []series.Distribution{{Operation: measure.Read, Bins: []series.Bin{{LowNanoseconds: 100, HighNanoseconds: 200, Count: 1}}}},
				}}})
			}
			d.Phases = append(d.Phases, v1alpha1.PhaseResult{Name: phase, Kind: kind, Targets: []v1alpha1.TargetResult{{Target: "data"}}})
		}
		steps := 1
		if want == 0 {
			steps = maxLatencyCharts + 1
		}
		add("first", kind, steps)
		add("last", v1alpha1.PhaseSteady, 1)
		of := distributions(d)
		if len(of) != want+1 || of[want].Title != "Latency distribution: last" {
			t.Errorf("%s: %d charts of latencies, want %d", kind, len(of), want+1)
		}
		of = clientCharts(d)
		if len(of) != want+1 || of[want].Title != "Throughput of each client: last" {
			t.Errorf("%s: %d charts of clients, want %d", kind, len(of), want+1)
		}
	}
}

// TestDistributionOfNothing checks that a distribution without operations is not drawn. A damaged file can contain one.
func TestDistributionOfNothing(t *testing.T) {
	for name, bins := range map[string][]series.Bin{"no bins": nil, "empty bins": {{LowNanoseconds: 100, HighNanoseconds: 200}}} {
		d := Document{}
		d.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "read-0", Phase: "read", Kind: v1alpha1.PhaseSteady, Purpose: v1alpha1.StepMeasure}}
		d.Phases = []v1alpha1.PhaseResult{{Name: "read", Kind: v1alpha1.PhaseSteady, Targets: []v1alpha1.TargetResult{{Target: "data"}}}}
		d.Series = &series.Log{Steps: []series.Step{{ID: "read-0", Targets: []series.Target{{Name: "data", Latency: []series.Distribution{{Operation: measure.Read, Bins: bins}}}}}}}
		if made := distributions(d); len(made) > 0 {
			t.Errorf("%s: it is drawn: %s", name, made[0].Text)
		}
	}
}

// TestConclusionOfATarget checks that a target shows only the conclusion of its own step.
func TestConclusionOfATarget(t *testing.T) {
	d := Document{}
	d.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "00", Phase: "burst", Targets: []string{"a"}}, {ID: "01", Phase: "burst", Targets: []string{"b"}}}
	d.Steps = []v1alpha1.StepStatus{{ID: "00", Conclusion: "a: rate dropped"}, {ID: "01"}}
	for target, want := range map[string]string{"a": "a: rate dropped", "b": ""} {
		if got := conclusionOf(d, "burst", target); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}

// TestTimelineOfARepeatedLayout checks that a layout keeps the times of its writes if it is repeated after the loss of
// a client and finds its data.
func TestTimelineOfARepeatedLayout(t *testing.T) {
	at := func(second int) *metav1.MicroTime { return new(metav1.NewMicroTime(time.Unix(int64(second), 0))) }
	d := Document{}
	d.Spec.Steps = []v1alpha1.ResolvedStep{{ID: "00", Phase: "layout"}, {ID: "01", Phase: "read"}}
	d.Steps = []v1alpha1.StepStatus{
		{ID: "00", Attempt: 1, State: v1alpha1.StepSucceeded, StartTime: at(1), FirstIOTime: at(2), LastIOTime: at(9),
			IO: []v1alpha1.StepIO{{Target: "data", Bytes: 1e9}}},
		{ID: "01", Attempt: 1, State: v1alpha1.StepFailed, StartTime: at(10), FirstIOTime: at(11)},
		{ID: "00", Attempt: 2, State: v1alpha1.StepSucceeded, StartTime: at(20)},
		{ID: "01", Attempt: 2, State: v1alpha1.StepSucceeded, StartTime: at(30), FirstIOTime: at(31), LastIOTime: at(39)},
	}
	got := ""
	for _, s := range spansOf(d) {
		got += fmt.Sprintf("%s from %d to %d; ", s.name, s.first.Unix(), s.last.Unix())
	}
	if got != "layout from 2 to 9; read from 31 to 39; " {
		t.Error(got)
	}
}

// TestHeightOfASpike checks the note on a value that is far above all others.
func TestHeightOfASpike(t *testing.T) {
	line := chart.Line{}
	for i := range 400 {
		line.Points = append(line.Points, chart.Point{Start: float64(i), End: float64(i + 1), Y: 100})
	}
	line.Points = append(line.Points, chart.Point{Start: 400, End: 401, Y: 600})
	if top, told := height([]chart.Line{line}); top != 150 || !strings.Contains(told, "the highest value is 6.0 times that percentile") {
		t.Errorf("the axis ends at %g:%s", top, told)
	}
}

// TestLevelsThatAreNotDrawn checks that at most four documented limits are drawn, and that a note distinguishes the
// others from those above the chart.
func TestLevelsThatAreNotDrawn(t *testing.T) {
	var levels []chart.Level
	for _, y := range []float64{10, 20, 30, 100, 200, 900} {
		levels = append(levels, chart.Level{Name: fmt.Sprint(y), Y: y})
	}
	lines := []chart.Line{{Points: []chart.Point{{End: 10, Y: 300}}}}
	d := Document{}
	d.Series = &series.Log{}
	made := rateView(d, "throughput", throughputTitle, lines, levels, measure.FormatBytesPerSecond)
	want := []string{"Not drawn: 200.", "Above the chart: 900."}
	if len(made.Levels) != 4 || !slices.Equal(made.Notes[1:], want) {
		t.Errorf("%d levels are drawn, with the notes %q", len(made.Levels), made.Notes)
	}
}

// TestChartsOfSmallFiles checks a phase with a step for each operation: the latency distributions of the operations
// must look different, and only operations that transfer bytes have a chart of the clients' throughput.
func TestChartsOfSmallFiles(t *testing.T) {
	d := Document{}
	d.Phases = []v1alpha1.PhaseResult{{Name: "files", Kind: v1alpha1.PhaseSmallFiles, Targets: []v1alpha1.TargetResult{{Target: "data"}}}}
	d.Series = &series.Log{}
	for _, operation := range []measure.Operation{measure.Create, measure.Write, measure.Stat, measure.Read} {
		id := "files-" + operation.String()
		d.Spec.Steps = append(d.Spec.Steps, v1alpha1.ResolvedStep{ID: id, Phase: "files", Kind: v1alpha1.PhaseSmallFiles, Purpose: v1alpha1.StepMeasure})
		clients := []series.ClientRate{{}, {Client: 1}}
		if operation == measure.Read || operation == measure.Write {
			clients[1].BytesPerSecond = 1
		}
		d.Series.Add(series.Step{ID: id, Targets: []series.Target{{
			Name: "data", Clients: clients,
			Latency: []series.Distribution{{Operation: operation, Bins: []series.Bin{{LowNanoseconds: 100, HighNanoseconds: 200, Count: 1}}}},
		}}})
	}
	of := distributions(d)
	if len(of) != 1 || len(of[0].Legend) != 4 {
		t.Fatalf("%+v", of)
	}
	known := map[string]string{}
	for _, entry := range of[0].Legend {
		if other, taken := known[entry.Class]; taken {
			t.Errorf("%s looks like %s: %s", entry.Name, other, entry.Class)
		}
		known[entry.Class] = entry.Name
	}
	if of := clientCharts(d); len(of) != 2 {
		t.Errorf("%d charts of clients, want 2", len(of))
	}
}
