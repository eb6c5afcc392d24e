package e2e

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/csisim/embedded"
	"github.com/storagebench/storagebench/test/soak"
)

// Simulated CSI drivers that the twins use, by the names of the real ones.
const (
	smb       = "smb.csi.k8s.io"
	fsxLustre = "fsx.csi.aws.com"
)

// TestTwins runs the twins of the samples for real systems and checks that their reports match what the simulated
// stores did.
func TestTwins(t *testing.T) {
	soak.Only(t)
	in := requireNode(t)
	// Start it before the spaces are created, so that their pods and claims are deleted first.
	simulation := embedded.Run(t, in.State, smb, fsxLustre)
	for name, run := range map[string]func(*testing.T, *embedded.Simulation){
		"aws-fsx-windows": windowsTwin, "aws-fsx-lustre-compression": lustreTwin, "azure-p30-servers": serversTwin,
	} {
		t.Run(name, func(t *testing.T) {
			if name != "aws-fsx-lustre-compression" { // its stores need all processors to compress
				t.Parallel()
			}
			run(t, simulation)
		})
	}
}

// windowsTwin checks baseline, peak burst, sustained burst, cached reads, and commands.
func windowsTwin(t *testing.T, simulation *embedded.Simulation) {
	t.Helper()
	twin := newTwin(newSpace(t), simulation, "aws-fsx-windows")
	run := twin.run(9 * time.Minute)
	prints(t, twin.reportOf(run), []string{" zip ", "duration"}, []string{" unzip ", "duration"}, []string{" Read ", "MB/s"},
		[]string{" Write ", "MB/s"}, []string{"burst", "burst"}, []string{"burst", "baseline"}, []string{"Cache read", "MB/s"})
	config, record := twin.record("share")
	rows := slices.DeleteFunc(truth.Compare(record, config, run.Status), func(row truth.Row) bool {
		// A redrain of seconds has no levels that a record per second could show. Operations in flight when the credits run
		// out have been paid for and are only delayed, so half a second of the burst comes after that. levels computes the
		// baseline without it.
		return row.Phase == "refill" && (row.Figure == "burst" || row.Figure == "baseline" || row.Figure == "time to baseline") ||
			row.Phase == "burst" && row.Figure == "baseline"
	})
	rows = append(rows, levels(t, record, run)...)
	figures := []string{"zip read", "zip write", "unzip read", "unzip write", "burst burst", "burst baseline", "baseline write", "cached read"}
	figures = append(figures, "burst sustained", "burst peak", "refill refill")
	twin.held("The twin of FSx for Windows", rows, figures...)
}

// levels compares the levels of a burst with the store's record: its baseline, and the two levels between which it
// alternates. For those, it takes the seconds in which the store's simulated tenant was active all the time or not at
// all.
func levels(t *testing.T, record truth.Record, run *v1alpha1.BenchmarkRun) []truth.Row {
	t.Helper()
	var burst *v1alpha1.BurstResult
	for _, phase := range run.Status.Phases {
		if phase.Name == "burst" && len(phase.Targets) == 1 {
			burst = phase.Targets[0].Burst
		}
	}
	step := stepOfPhase(run, "burst", "")
	if burst == nil || burst.Bytes == nil || burst.NanosecondsToBaseline == nil || step == nil || step.EndTime == nil {
		t.Fatal("there is no burst")
	}
	end := step.MeasuredTime.Add(time.Duration(burst.NanosecondsToBaseline.Value))
	low, high := mean{}, mean{}
	for _, second := range record.Seconds {
		from := record.At(time.Duration(second.Index) * time.Second)
		if from.Before(step.MeasuredTime.Time) || from.Add(time.Second).After(end) {
			continue
		}
		switch share := second.TenantShare; {
		case share == 0:
			high.add(float64(second.Bytes()))
		case share > 0.28:
			low.add(float64(second.Bytes()))
		}
	}
	row := func(figure string, ours *v1alpha1.Estimate, theirs mean) truth.Row {
		none := math.NaN()
		row := truth.Row{Phase: "burst", Figure: figure, Unit: "B/s", Ours: none, Lower: none, Upper: none, Truth: theirs.value(), Parameter: none}
		if ours != nil {
			row.Ours = float64(ours.Value)
		}
		return row
	}
	settled, over := end.Add(2*time.Second), step.EndTime.Time
	if step.ConcludedTime != nil {
		over = step.ConcludedTime.Time
	}
	baseline := mean{sum: record.Between(settled, over).WriteBytes, count: over.Sub(settled).Seconds()}
	rows := []truth.Row{row("baseline", burst.Bytes.Baseline, baseline)}
	rows = append(rows, row("sustained", burst.Bytes.Sustained, low), row("peak", burst.Bytes.Peak, high))
	return rows
}

type mean struct{ sum, count float64 }

func (m *mean) add(value float64) { m.sum, m.count = m.sum+value, m.count+1 }
func (m mean) value() float64     { return m.sum / m.count }

// lustreTwin checks burst and baseline of two targets at once, and the compression of one of them.
func lustreTwin(t *testing.T, simulation *embedded.Simulation) {
	t.Helper()
	s, image := newMPISpace(t)
	twin := newTwin(s, simulation, "aws-fsx-lustre-compression")
	twin.benchmark.Spec.Run.Clients.Image = image
	run := twin.run(9 * time.Minute)
	prints(t, twin.reportOf(run), []string{"compression", ":1"}, []string{"burst", "MB/s", "%"})
	for _, target := range []string{"none", "lz4"} {
		config, record := twin.record("lustre-" + target)
		rows := truth.Compare(record, config, only(run, target))
		rows = append(rows, ratio(twin, record, run, target, config.Compression != nil)...)
		figures := []string{"burst mean"}
		if target == "lz4" {
			figures = []string{"burst burst", "burst baseline", "layout compression"}
		}
		twin.held("The twin of FSx for Lustre, target "+target, rows, figures...)
	}
}

// ratio compares the compression ratio of the layout. It returns no row if the store does not compress.
func ratio(twin twin, record truth.Record, run *v1alpha1.BenchmarkRun, target string, compresses bool) []truth.Row {
	twin.Helper()
	usage := targetOf(twin.space, run, "layout", target).Usage
	if usage == nil {
		twin.Errorf("target %s: the result has no disk usage of the files", target)
		return nil
	}
	if !compresses {
		if usage.CompressionRatioMilli != nil || usage.AllocatedBytes < usage.DataBytes {
			twin.Errorf("target %s: compressed %d:1000, and %d bytes take %d", target, usage.CompressionRatioMilli, usage.DataBytes, usage.AllocatedBytes)
		}
		return nil
	}
	step := stepOfPhase(run, "layout", target)
	sums := record.Between(step.FirstIOTime.Add(-100*time.Millisecond), step.EndTime.Time)
	none := math.NaN()
	row := truth.Row{Phase: "layout", Figure: "compression", Unit: ":1", Ours: none, Lower: none, Upper: none,
		Truth: sums.WriteBytes / sums.StoredWriteBytes, Parameter: none}
	if usage.CompressionRatioMilli != nil {
		row.Ours = float64(*usage.CompressionRatioMilli) / 1000
	}
	return []truth.Row{row}
}

// serversTwin checks every cell of the sweeps of two targets.
func serversTwin(t *testing.T, simulation *embedded.Simulation) {
	t.Helper()
	twin := newTwin(newSpace(t), simulation, "azure-p30-servers")
	sweep := twin.phase("threads").Sweep
	run := twin.run(9 * time.Minute)
	prints(t, twin.reportOf(run), []string{"MB/s", "100 % reads"}, []string{"IOPS", "0 % reads"}, []string{"latency", "100 % reads"})
	for _, target := range []string{"single", "s2d"} {
		_, record := twin.record(target)
		var rows []truth.Row
		var figures []string
		result := targetOf(twin.space, run, "threads", target)
		for _, cell := range result.Steps {
			jobs, name := cellOf(sweep.Axes, cell.Cell)
			rows = append(rows, cellRows(twin, run, target, name, jobs, cell, record)...)
			figures = append(figures, name+" throughput", name+" operations", name+" latency")
		}
		if want := len(sweep.Axes.Jobs) * len(sweep.Axes.BlockSize) * len(sweep.Axes.ReadPercent); len(result.Steps) != want {
			t.Errorf("target %s has %d cells, want %d", target, len(result.Steps), want)
		}
		twin.held("The twin of servers with P30 disks, target "+target, rows, figures...)
	}
}

// cellOf returns the number of jobs and the name of a cell of a sweep over jobs, block sizes and read percentages.
func cellOf(axes v1alpha1.SweepAxes, cell int32) (jobs int32, name string) {
	index := int(cell)
	reads := axes.ReadPercent[index%len(axes.ReadPercent)]
	index /= len(axes.ReadPercent)
	block := axes.BlockSize[index%len(axes.BlockSize)]
	jobs = axes.Jobs[index/len(axes.BlockSize)]
	return jobs, fmt.Sprintf("%d threads, %s, %d %% reads:", jobs, block.String(), reads)
}

// cellRows compares the figures of a cell with the record. In a closed loop, the latency follows from the record: it is
// the number of outstanding operations divided by the operations per second.
func cellRows(twin twin, run *v1alpha1.BenchmarkRun, target, name string, jobs int32, cell v1alpha1.StepResult, record truth.Record) []truth.Row {
	twin.Helper()
	if len(cell.Operations) != 1 {
		twin.Fatalf("target %s, %s has %d operations", target, name, len(cell.Operations))
	}
	id := ""
	for _, step := range run.Spec.Steps {
		if step.Phase == "threads" && step.Cell != nil && *step.Cell == cell.Cell && (step.Repeat == nil || !*step.Repeat) && step.Targets[0] == target {
			id = step.ID
		}
	}
	step := stepOf(run, id)
	if step == nil || step.MeasuredTime == nil {
		twin.Fatalf("target %s, %s: the status has no times of step %q", target, name, id)
	}
	// The tool measures for this duration, whenever it began.
	length, err := time.ParseDuration(string(twin.phase("threads").Sweep.StepDuration))
	must(twin.T, err)
	sums := record.Between(step.MeasuredTime.Time, step.MeasuredTime.Add(length))
	seconds := length.Seconds()
	operations := (sums.ReadOperations + sums.WriteOperations) / seconds
	row := func(figure, unit string, ours, theirs float64) truth.Row {
		return truth.Row{Phase: name, Figure: figure, Unit: unit, Ours: ours, Lower: math.NaN(), Upper: math.NaN(), Truth: theirs, Parameter: math.NaN()}
	}
	operation := cell.Operations[0]
	const outstanding = 8
	return []truth.Row{
		row("throughput", "B/s", float64(operation.BytesPerSecond), (sums.ReadBytes+sums.WriteBytes)/seconds),
		row("operations", "IO/s", float64(operation.IOPSMilli)/1000, operations),
		row("latency", "s", float64(operation.MeanNanoseconds)/1e9, float64(jobs)*outstanding/operations),
	}
}

// stepOfPhase returns the last step of a phase that has started. If a target is given, only its steps count.
func stepOfPhase(run *v1alpha1.BenchmarkRun, phase, target string) *v1alpha1.StepStatus {
	var found *v1alpha1.StepStatus
	for _, step := range run.Spec.Steps {
		if step.Phase != phase || target != "" && !slices.Contains(step.Targets, target) {
			continue
		}
		if status := stepOf(run, step.ID); status != nil {
			found = status
		}
	}
	return found
}
