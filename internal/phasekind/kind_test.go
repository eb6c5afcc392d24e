package phasekind_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// mainOf formats the main figures.
func mainOf(kind v1alpha1.PhaseKind, result *v1alpha1.TargetResult) string {
	var all []string
	for _, f := range phasekind.Of(kind).Figures(result) {
		if f.Main {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s=%d %s", f.Operation, f.Name, f.Value, f.Unit())))
		}
	}
	return strings.Join(all, "; ")
}

func drain(dimension string, exhausted bool, peak int64) *v1alpha1.BurstResult {
	level := func(value int64) *v1alpha1.Estimate { return &v1alpha1.Estimate{Value: value} }
	series := func(scale int64) *v1alpha1.BurstSeries {
		return &v1alpha1.BurstSeries{Burst: level(40 * scale), Sustained: level(40 * scale), Peak: level(peak * scale), Baseline: level(3 * scale),
			Refill: level(2 * scale), RefillSource: "Measured"}
	}
	return &v1alpha1.BurstResult{Dimension: dimension, Exhausted: exhausted, Bytes: series(1), Operations: series(1000),
		NanosecondsToBaseline: level(7), IdleNanoseconds: new(int64(9))}
}

func TestMainFigures(t *testing.T) {
	operations := []v1alpha1.OperationResult{
		{Operation: v1alpha1.OperationWrite, Bytes: 4096, Operations: 1, BytesPerSecond: new(int64(90)), IOPSMilli: new(int64(80)),
			Latency: &v1alpha1.LatencyResult{MeanNanoseconds: 70, P99Nanoseconds: new(int64(75))}},
		{Operation: v1alpha1.OperationSync, Operations: 1, IOPSMilli: new(int64(5))},
	}
	cell := func(index int32, bytes, iops int64, warnings ...v1alpha1.WarningType) v1alpha1.StepResult {
		return v1alpha1.StepResult{Cell: index, Warnings: warnings, Operations: []v1alpha1.StepOperation{{Operation: v1alpha1.OperationRead, BytesPerSecond: bytes, IOPSMilli: iops}}}
	}
	steps := []v1alpha1.StepResult{cell(0, 30, 300), cell(1, 50, 200), cell(2, 90, 900, v1alpha1.WarningClientLost)}
	uncounted := []v1alpha1.StepResult{cell(0, 30, 0)}
	rates := &v1alpha1.MdtestResult{Rates: []v1alpha1.MdtestRate{{Operation: "Directory creation", MeanOPSMilli: 1}, {Operation: "Directory stat", MeanOPSMilli: 2},
		{Operation: "Directory removal", MeanOPSMilli: 3}, {Operation: "File stat", MeanOPSMilli: 4}, {Operation: "File creation", MeanOPSMilli: 5}}}
	for name, test := range map[string]struct {
		kind   v1alpha1.PhaseKind
		result v1alpha1.TargetResult
		want   string
	}{
		"a layout": {v1alpha1.PhasePrepare, v1alpha1.TargetResult{Operations: operations, Usage: &v1alpha1.UsageResult{CompressionRatioMilli: new(int64(2000))}},
			"CompressionRatio=2000"},
		"small blocks":  {v1alpha1.PhaseSteady, v1alpha1.TargetResult{Operations: operations}, "Write Throughput=90 BytesPerSecond; Write IOPS=80 IOPSMilli; Write MeanLatency=70 Nanoseconds"},
		"a program":     {v1alpha1.PhaseSteady, v1alpha1.TargetResult{Operations: operations, Command: &v1alpha1.CommandResult{DurationNanoseconds: 9}}, "Duration=9 Nanoseconds; Write Throughput=90 BytesPerSecond"},
		"one cut short": {v1alpha1.PhaseSteady, v1alpha1.TargetResult{Operations: operations, Command: &v1alpha1.CommandResult{DurationNanoseconds: 9, CutShort: true}}, "Write Throughput=90 BytesPerSecond"},
		"mdtest": {v1alpha1.PhaseSteady, v1alpha1.TargetResult{Mdtest: rates, Operations: operations},
			"File creation Rate=5 IOPSMilli; File stat Rate=4 IOPSMilli; Directory creation Rate=1 IOPSMilli; Directory stat Rate=2 IOPSMilli"},
		"a drain":        {v1alpha1.PhaseBurstDrain, v1alpha1.TargetResult{Burst: drain("Bytes", true, 40)}, "Burst=40 BytesPerSecond; Baseline=3 BytesPerSecond; TimeToBaseline=7 Nanoseconds"},
		"of operations":  {v1alpha1.PhaseBurstDrain, v1alpha1.TargetResult{Burst: drain("Operations", true, 40)}, "operations Burst=40000 IOPSMilli; operations Baseline=3000 IOPSMilli; operations TimeToBaseline=7 Nanoseconds"},
		"two levels":     {v1alpha1.PhaseBurstDrain, v1alpha1.TargetResult{Burst: drain("Bytes", false, 60)}, "Peak=60 BytesPerSecond; Sustained=40 BytesPerSecond"},
		"a second drain": {v1alpha1.PhaseCooldown, v1alpha1.TargetResult{Burst: drain("Bytes", true, 40)}, "Refill=2 BytesPerSecond"},
		"a ramp":         {v1alpha1.PhaseRamp, v1alpha1.TargetResult{Steps: steps}, "Read Throughput=50 BytesPerSecond; Read IOPS=300 IOPSMilli"},
		"a program's":    {v1alpha1.PhaseRamp, v1alpha1.TargetResult{Steps: uncounted}, "Read Throughput=30 BytesPerSecond"},
		"a sweep":        {v1alpha1.PhaseSweep, v1alpha1.TargetResult{Steps: steps}, "Read Throughput=50 BytesPerSecond; Read IOPS=300 IOPSMilli"},
		"small files": {v1alpha1.PhaseSmallFiles, v1alpha1.TargetResult{Operations: []v1alpha1.OperationResult{
			{Operation: v1alpha1.OperationCreate, Operations: 9, IOPSMilli: new(int64(4000)), Latency: &v1alpha1.LatencyResult{MeanNanoseconds: 70, P99Nanoseconds: new(int64(75))}},
			operations[0]}}, "Create IOPS=4000 IOPSMilli; Create P99Latency=75 Nanoseconds; Write IOPS=80 IOPSMilli; Write P99Latency=75 Nanoseconds"},
		"a search": {v1alpha1.PhaseSearch, v1alpha1.TargetResult{Operations: operations, Search: &v1alpha1.SearchResult{Found: true}},
			"Write IOPS=80 IOPSMilli; Write P99Latency=75 Nanoseconds"},
		"an unfinished search": {v1alpha1.PhaseSearch, v1alpha1.TargetResult{Operations: operations, Search: &v1alpha1.SearchResult{}}, ""},
		"neighbours": {v1alpha1.PhaseInterference, v1alpha1.TargetResult{Operations: operations, Steps: steps},
			"Write Throughput=90 BytesPerSecond; Write IOPS=80 IOPSMilli; Write MeanLatency=70 Nanoseconds"},
		"no such kind": {"Verify", v1alpha1.TargetResult{Operations: operations}, ""},
	} {
		if got := mainOf(test.kind, &test.result); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestRefillOfAnEarlierPhase checks that a drain has a refill among its figures only if a pause came before it.
// Otherwise it used the refill of an earlier phase.
func TestRefillOfAnEarlierPhase(t *testing.T) {
	burst := drain("Bytes", true, 40)
	for _, idle := range []*int64{burst.IdleNanoseconds, nil} {
		burst.IdleNanoseconds = idle
		for _, operation := range []string{"", phasekind.InOperations} {
			found := phasekind.Find(phasekind.Levels(burst), v1alpha1.FigureRefill, operation)
			if (found != nil) != (idle != nil) {
				t.Errorf("after a pause: %t, %q: the refill is %+v", idle != nil, operation, found)
			}
		}
	}
}

// TestRates checks that no rate averages burst and baseline.
func TestRates(t *testing.T) {
	write := v1alpha1.OperationResult{Operation: v1alpha1.OperationWrite, Bytes: 4096, BytesPerSecond: new(int64(20)), IOPSMilli: new(int64(19))}
	read := write
	read.Operation = v1alpha1.OperationRead
	idle := v1alpha1.OperationResult{Operation: v1alpha1.OperationSync, IOPSMilli: new(int64(5))}
	for name, test := range map[string]struct {
		result v1alpha1.TargetResult
		want   string
	}{
		"a steady phase":            {v1alpha1.TargetResult{Operations: []v1alpha1.OperationResult{write, read}}, "Write 20 19; Read 20 19"},
		"a burst that did not end":  {v1alpha1.TargetResult{Operations: []v1alpha1.OperationResult{write}, Burst: drain("Bytes", false, 40)}, "Write 20 19"},
		"a drain":                   {v1alpha1.TargetResult{Operations: []v1alpha1.OperationResult{write, idle}, Burst: drain("Bytes", true, 40)}, "Write 3 3000"},
		"a drain of two operations": {v1alpha1.TargetResult{Operations: []v1alpha1.OperationResult{write, read}, Burst: drain("Bytes", true, 40)}, ""},
		"a drain before steps": {v1alpha1.TargetResult{Operations: []v1alpha1.OperationResult{write}, Burst: drain("Bytes", true, 40),
			Steps: []v1alpha1.StepResult{{}}}, "Write 20 19"},
		"a drain without operations": {v1alpha1.TargetResult{Burst: drain("Bytes", true, 40)}, ""},
	} {
		var all []string
		for _, o := range phasekind.Rates(&test.result) {
			all = append(all, fmt.Sprintf("%s %d %d", o.Operation, *o.BytesPerSecond, *o.IOPSMilli))
		}
		if got := strings.Join(all, "; "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestTotal checks that the interval of a cell's total is as wide, relatively, as that of its least precise part.
func TestTotal(t *testing.T) {
	cell := []v1alpha1.StepOperation{{Operation: v1alpha1.OperationSync, IOPSMilli: 7}, {BytesPerSecond: 1000, IOPSMilli: 10, RateErrorPPM: new(int64(10_000))},
		{BytesPerSecond: 3000, IOPSMilli: 30, RateErrorPPM: new(int64(10_000))}}
	bytes, iops, ok := phasekind.Total(cell)
	if !ok || bytes.Value != 4000 || iops.Value != 40 || bytes.Lower == nil || *bytes.Lower != 3960 || *bytes.Upper != 4040 {
		t.Errorf("%+v, %+v, %t", bytes, iops, ok)
	}
	cell[1].RateErrorPPM = nil
	if bytes, _, _ = phasekind.Total(cell); bytes.Value != 4000 || bytes.Lower != nil || bytes.Upper != nil {
		t.Errorf("%+v", bytes)
	}
	if _, _, ok = phasekind.Total(cell[:1]); ok {
		t.Error("a sync moves data")
	}
}

// TestBlocksOf checks that a repetition has each victim alone and each number of neighbours once, and that every second
// repetition runs in reverse order.
func TestBlocksOf(t *testing.T) {
	phase := &v1alpha1.Phase{Interference: &v1alpha1.InterferencePhase{Victims: []string{"a", "b"}, Aggressors: []string{"c", "d", "e"},
		Neighbours: []int32{1, 3}, Repetitions: new(int32(4)), Regime: v1alpha1.RegimeBaseline}}
	blocks := phasekind.BlocksOf(phase)
	if blocks.PerRepetition != 4 || blocks.Repetitions != 4 || blocks.Most != 4 || blocks.Equal || !blocks.Drains ||
		blocks.Repetition(3) != 0 || blocks.Repetition(4) != 1 || blocks.Reversed(0) || !blocks.Reversed(1) {
		t.Errorf("%+v", blocks)
	}
	phase.Interference = &v1alpha1.InterferencePhase{Victims: []string{"a", "b", "c"}}
	if blocks = phasekind.BlocksOf(phase); blocks.PerRepetition != 4 || blocks.Repetitions != int(v1alpha1.DefaultRepetitions) || blocks.Most != 2 || !blocks.Equal {
		t.Errorf("%+v", blocks)
	}
	if blocks = phasekind.BlocksOf(&v1alpha1.Phase{}); blocks.PerRepetition != 0 || blocks.Repetition(5) != 5 {
		t.Errorf("%+v", blocks)
	}
	other := phase.DeepCopy()
	if differs := phasekind.Differs(phase, other); differs != "" {
		t.Error(differs)
	}
	other.Interference.Victims = []string{"a", "b"}
	if differs := phasekind.Differs(phase, other); differs == "" {
		t.Error("other victims are the same neighbours")
	}
}
