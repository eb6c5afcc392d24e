package trend

import (
	"fmt"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

func operation(kind v1alpha1.Operation, bytes, iops int64) v1alpha1.OperationResult {
	return v1alpha1.OperationResult{Operation: kind, BytesPerSecond: &bytes, IOPSMilli: &iops,
		Latency: &v1alpha1.LatencyResult{Samples: iops, MeanNanoseconds: 1000 * bytes}}
}

func estimate(value int64) *v1alpha1.Estimate { return &v1alpha1.Estimate{Value: value} }

// drained returns the result of a drain of a bucket that counts bytes.
func drained(exhausted bool) *v1alpha1.BurstResult {
	made := &v1alpha1.BurstResult{Exhausted: exhausted, Dimension: "Bytes", NanosecondsToBaseline: estimate(1_800_000_000_000),
		IdleNanoseconds: new(int64(1)),
		Bytes:           &v1alpha1.BurstSeries{Burst: estimate(400e6), Baseline: estimate(32e6), Refill: estimate(32e6), RefillSource: "Measured"}}
	if exhausted {
		made.Bytes.Drops = []v1alpha1.Drop{{Spent: estimate(600e9)}}
	}
	return made
}

// drainOf returns a run with one drain. fill is the initial fill of the bucket in percent; nil means unknown.
func drainOf(fill *int32, exhausted bool) (*v1alpha1.BenchmarkRunSpec, *v1alpha1.BenchmarkRunStatus) {
	spec := &v1alpha1.BenchmarkRunSpec{Run: v1alpha1.RunSpec{Targets: []v1alpha1.Target{{Name: "t"}},
		Phases: []v1alpha1.Phase{{Name: "burst", BurstDrain: &v1alpha1.BurstDrainPhase{}}}},
		Steps: []v1alpha1.ResolvedStep{{ID: "00-burst", Phase: "burst", Purpose: v1alpha1.StepDrain, Targets: []string{"t"}}}}
	status := &v1alpha1.BenchmarkRunStatus{
		Phases: []v1alpha1.PhaseResult{{Name: "burst", Targets: []v1alpha1.TargetResult{{Target: "t", Burst: drained(exhausted)}}}},
		Steps:  []v1alpha1.StepStatus{{ID: "00-burst", State: v1alpha1.StepSucceeded, IO: []v1alpha1.StepIO{{Target: "t", CreditPercentAtStart: fill}}}},
	}
	return spec, status
}

func told(figures []v1alpha1.RunFigure) string {
	var all []string
	for _, one := range figures {
		text := fmt.Sprintf("%s=%d %s", one.Figure, one.Value, one.Unit)
		if one.LowerIsBetter {
			text += " less"
		}
		if one.Condition != "" {
			text += " (" + one.Condition + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// steadyOf returns a run with one steady phase that has the given result.
func steadyOf(workload *v1alpha1.Workload, result v1alpha1.TargetResult) (*v1alpha1.BenchmarkRunSpec, *v1alpha1.BenchmarkRunStatus) {
	result.Target = "t"
	return &v1alpha1.BenchmarkRunSpec{Run: v1alpha1.RunSpec{Workload: workload, Targets: []v1alpha1.Target{{Name: "t"}},
			Phases: []v1alpha1.Phase{{Name: "p", Steady: &v1alpha1.SteadyPhase{}}}}},
		&v1alpha1.BenchmarkRunStatus{Phases: []v1alpha1.PhaseResult{{Name: "p", Targets: []v1alpha1.TargetResult{result}}}}
}

func TestFiguresOfASteadyPhase(t *testing.T) {
	fio := builders.Fio().Workload()
	limited := builders.Fio().Mutate(func(p *v1alpha1.FioProfile) { p.RateLimit = &v1alpha1.FioRateLimit{IOPS: new(int64(100))} }).Workload()
	both := []v1alpha1.OperationResult{operation(v1alpha1.OperationRead, 70e6, 7000), operation(v1alpha1.OperationWrite, 30e6, 3000), {Operation: v1alpha1.OperationSync}}
	noWindow := operation(v1alpha1.OperationWrite, 1, 1)
	noWindow.BytesPerSecond = nil
	degraded := []v1alpha1.Warning{{Type: v1alpha1.WarningClientsMissing}}
	for name, test := range map[string]struct {
		workload *v1alpha1.Workload
		result   v1alpha1.TargetResult
		want     string
	}{
		"throughput":         {fio, v1alpha1.TargetResult{Operations: both}, "throughput of p on t=100000000 BytesPerSecond"},
		"rate limit":         {limited, v1alpha1.TargetResult{Operations: both}, "mean latency of p on t=58000000000 Nanoseconds less"},
		"no bytes":           {fio, v1alpha1.TargetResult{Operations: []v1alpha1.OperationResult{operation(v1alpha1.OperationTrim, 0, 5000)}}, "operations a second of p on t=5000 IOPSMilli"},
		"no window":          {fio, v1alpha1.TargetResult{Operations: []v1alpha1.OperationResult{both[0], noWindow}}, ""},
		"a program":          {nil, v1alpha1.TargetResult{Command: &v1alpha1.CommandResult{DurationNanoseconds: 9e9}, Operations: both}, "duration of p on t=9000000000 Nanoseconds less"},
		"a program cut":      {nil, v1alpha1.TargetResult{Command: &v1alpha1.CommandResult{DurationNanoseconds: 9e9, CutShort: true}}, ""},
		"mdtest":             {nil, v1alpha1.TargetResult{Mdtest: &v1alpha1.MdtestResult{Rates: []v1alpha1.MdtestRate{{MeanOPSMilli: 1000}, {MeanOPSMilli: 4000}}}}, "mean of the rates of p on t=2000 IOPSMilli"},
		"mdtest with none":   {nil, v1alpha1.TargetResult{Mdtest: &v1alpha1.MdtestResult{Rates: []v1alpha1.MdtestRate{{MeanOPSMilli: 0}, {MeanOPSMilli: 4000}}}}, ""},
		"mdtest that failed": {nil, v1alpha1.TargetResult{Mdtest: &v1alpha1.MdtestResult{}}, ""},
		"nothing done":       {fio, v1alpha1.TargetResult{}, ""},
		"clients missing": {fio, v1alpha1.TargetResult{Operations: both, Warnings: degraded},
			"throughput of p on t=100000000 BytesPerSecond (clients missing)"},
	} {
		if got := told(figuresOf(steadyOf(test.workload, test.result))); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestFiguresOfAVictim checks that the figure of a victim is its throughput, or its latency if its rate is limited:
// only the latency then shows the effect of neighbours.
func TestFiguresOfAVictim(t *testing.T) {
	limited := builders.Fio().Mutate(func(p *v1alpha1.FioProfile) {
		p.RateLimit = &v1alpha1.FioRateLimit{IOPS: new(int64(100))}
	})
	result := v1alpha1.TargetResult{Operations: []v1alpha1.OperationResult{operation(v1alpha1.OperationRead, 70e6, 7000)}}
	for want, workload := range map[string]*v1alpha1.Workload{
		"throughput beside neighbours of p on t=70000000 BytesPerSecond": builders.Fio().Workload(),
		"mean latency of p on t=70000000000 Nanoseconds less":            limited.Workload(),
	} {
		spec, status := steadyOf(workload, result)
		spec.Run.Phases[0] = v1alpha1.Phase{Name: "p", Interference: &v1alpha1.InterferencePhase{Victims: []string{"t"}}}
		if got := told(figuresOf(spec, status)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestFiguresOfADrain checks that credits and time to baseline are compared only if the fill is known, and only between
// runs that started with a similar fill. The burst of an empty bucket is not a figure. An observed fill takes
// precedence over one computed from documented limits.
func TestFiguresOfADrain(t *testing.T) {
	for name, test := range map[string]struct {
		fill      *int32
		observed  *int32 // the fill that the store reported
		exhausted bool
		want      string
	}{
		"full":          {new(int32(100)), nil, true, "burst of burst on t=400000000 BytesPerSecond; credits spent of burst on t=600000000000 Bytes (filled to 100 %); time to baseline of burst on t=1800000000000 Nanoseconds (filled to 100 %)"},
		"nine tenths":   {new(int32(88)), nil, true, "burst of burst on t=400000000 BytesPerSecond; credits spent of burst on t=600000000000 Bytes (filled to 90 %); time to baseline of burst on t=1800000000000 Nanoseconds (filled to 90 %)"},
		"not known":     {nil, nil, true, "burst of burst on t=400000000 BytesPerSecond"},
		"not exhausted": {new(int32(100)), nil, false, "burst of burst on t=400000000 BytesPerSecond"},
		"empty":         {new(int32(3)), nil, true, ""},
		"observed, full by the documented limits":  {new(int32(100)), new(int32(42)), true, "burst of burst on t=400000000 BytesPerSecond; credits spent of burst on t=600000000000 Bytes (filled to 40 %); time to baseline of burst on t=1800000000000 Nanoseconds (filled to 40 %)"},
		"observed, no documented limits":           {nil, new(int32(100)), true, "burst of burst on t=400000000 BytesPerSecond; credits spent of burst on t=600000000000 Bytes (filled to 100 %); time to baseline of burst on t=1800000000000 Nanoseconds (filled to 100 %)"},
		"observed, empty but full by these limits": {new(int32(100)), new(int32(3)), true, ""},
	} {
		spec, status := drainOf(test.fill, test.exhausted)
		status.Phases[0].Targets[0].Burst.ObservedCreditPercentAtStart = test.observed
		if got := told(figuresOf(spec, status)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestFourFigures checks that a run has at most four figures: one per phase of the first target, then those of the
// next. A layout has none.
func TestFourFigures(t *testing.T) {
	cells := func(rates ...int64) (steps []v1alpha1.StepResult) {
		for i, rate := range rates {
			steps = append(steps, v1alpha1.StepResult{Cell: int32(i), Operations: []v1alpha1.StepOperation{{Operation: v1alpha1.OperationRead, BytesPerSecond: rate}}})
		}
		return steps
	}
	spec := &v1alpha1.BenchmarkRunSpec{Run: v1alpha1.RunSpec{Targets: []v1alpha1.Target{{Name: "a"}, {Name: "b"}}, Phases: []v1alpha1.Phase{
		{Name: "layout", Prepare: &v1alpha1.PreparePhase{}}, {Name: "ramp", Ramp: &v1alpha1.RampPhase{}}, {Name: "matrix", Sweep: &v1alpha1.SweepPhase{}},
		{Name: "refill", Cooldown: &v1alpha1.CooldownPhase{}},
	}}}
	status := &v1alpha1.BenchmarkRunStatus{}
	for i := range spec.Run.Phases {
		phase := v1alpha1.PhaseResult{Name: spec.Run.Phases[i].Name}
		for _, target := range []string{"a", "b"} {
			phase.Targets = append(phase.Targets, map[string]v1alpha1.TargetResult{
				"layout": {Target: target, Operations: []v1alpha1.OperationResult{operation(v1alpha1.OperationWrite, 1e6, 1)}},
				"ramp":   {Target: target, Steps: cells(10e6, 40e6, 30e6)},
				"matrix": {Target: target, Steps: cells(10e6, 40e6)},
				"refill": {Target: target, Burst: drained(true)},
			}[phase.Name])
		}
		status.Phases = append(status.Phases, phase)
	}
	want := "best rate of ramp on a=40000000 BytesPerSecond; mean rate of matrix on a=20000000 BytesPerSecond (2 cells); " +
		"refill of refill on a=32000000 BytesPerSecond; best rate of ramp on b=40000000 BytesPerSecond"
	if got := told(figuresOf(spec, status)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFiguresOfASweepWithoutCells checks that a sweep without results has no figure.
func TestFiguresOfASweepWithoutCells(t *testing.T) {
	spec, status := steadyOf(builders.Fio().Workload(), v1alpha1.TargetResult{})
	spec.Run.Phases[0] = v1alpha1.Phase{Name: "p", Sweep: &v1alpha1.SweepPhase{}}
	if got := figuresOf(spec, status); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestStoreAndFacts checks that runs on different kinds of storage are not comparable, and that facts that only explain
// a change do not affect this.
func TestStoreAndFacts(t *testing.T) {
	run := func(change func(*v1alpha1.BenchmarkRun)) *v1alpha1.Comparable {
		made := &v1alpha1.BenchmarkRun{}
		made.Spec.Run.Workload = builders.Fio().Workload()
		made.Status.Storage = []v1alpha1.StorageDescription{{Target: "t", Machines: []v1alpha1.MachineDescription{{InstanceType: "m5.large", Nodes: 2}},
			Volumes: []v1alpha1.VolumeDescription{{Name: "data", Driver: "fsx.csi.aws.com", DriverVersion: "1.2.0", StorageClass: "hdd", FileSystem: "cifs",
				SizeBytes: 1 << 40, VolumeHandle: "fs-1", Parameters: map[string]string{"b": "1", "a": "2", "share": "/hdd", "subDir": "pvc-1",
					"dnsname": "fs-1.fsx.us-east-1.amazonaws.com", "VolumePath": "/fsx/pvc-1", "requestedsizegib": "1024"}}}}}
		made.Status.Environments = []v1alpha1.Environment{{Target: "t", Kernel: "6.1.0", ToolVersion: "fio-3.33", AgentVersion: "v1"}}
		change(made)
		return Compare(made)
	}
	usual := run(func(*v1alpha1.BenchmarkRun) {})
	facts := fmt.Sprint(usual.Facts)
	for _, want := range []string{"{kernel 6.1.0}", "{node type m5.large}", "{driver fsx.csi.aws.com 1.2.0}", "{tool fio-3.33}", "{size of the volumes 1.000 TiB}", "{specification of the workload "} {
		if !strings.Contains(facts, want) {
			t.Errorf("%s is not in %s", want, facts)
		}
	}
	volume := func(change func(*v1alpha1.VolumeDescription)) func(*v1alpha1.BenchmarkRun) {
		return func(r *v1alpha1.BenchmarkRun) { change(&r.Status.Storage[0].Volumes[0]) }
	}
	parameter := func(name, value string) func(*v1alpha1.BenchmarkRun) {
		return volume(func(v *v1alpha1.VolumeDescription) { v.Parameters[name] = value })
	}
	for name, test := range map[string]struct {
		change      func(*v1alpha1.BenchmarkRun)
		same, facts bool
	}{
		"another volume":          {volume(func(v *v1alpha1.VolumeDescription) { v.VolumeHandle, v.ClaimName, v.VolumeName = "fs-2", "c2", "pv2" }), true, true},
		"a larger one":            {volume(func(v *v1alpha1.VolumeDescription) { v.SizeBytes = 2 << 40 }), true, false},
		"a newer driver":          {volume(func(v *v1alpha1.VolumeDescription) { v.DriverVersion = "1.3.0" }), true, false},
		"another driver":          {volume(func(v *v1alpha1.VolumeDescription) { v.Driver = "ebs.csi.aws.com" }), false, false},
		"another class":           {volume(func(v *v1alpha1.VolumeDescription) { v.StorageClass = "ssd" }), false, true},
		"another folder":          {parameter("subDir", "pvc-2"), true, true},
		"another server":          {parameter("dnsname", "fs-2.fsx.us-east-1.amazonaws.com"), true, true},
		"another path":            {parameter("VolumePath", "/fsx/pvc-2"), true, true},
		"a resized disk":          {parameter("requestedsizegib", "2048"), true, true},
		"another export":          {parameter("share", "/ssd"), false, true},
		"another parameter":       {parameter("b", "2"), false, true},
		"another kernel":          {func(r *v1alpha1.BenchmarkRun) { r.Status.Environments[0].Kernel = "6.12.0" }, true, false},
		"another profile":         {func(r *v1alpha1.BenchmarkRun) { r.Spec.Run.Workload = builders.Fio().Jobs(7).Workload() }, true, false},
		"another type of machine": {func(r *v1alpha1.BenchmarkRun) { r.Status.Storage[0].Machines[0].InstanceType = "m6.large" }, true, false},
	} {
		got := run(test.change)
		if (got.Store == usual.Store) != test.same || (fmt.Sprint(got.Facts) == facts) != test.facts {
			t.Errorf("%s: the store is the same %t, the facts %t", name, got.Store == usual.Store, fmt.Sprint(got.Facts) == facts)
		}
	}
	many := run(func(r *v1alpha1.BenchmarkRun) {
		for i := range 32 {
			r.Spec.Run.Phases = append(r.Spec.Run.Phases, v1alpha1.Phase{Name: fmt.Sprint("p", i), Workload: builders.Fio().Workload()})
		}
	})
	if len(many.Facts) > mostFacts {
		t.Errorf("%d facts", len(many.Facts))
	}
}
