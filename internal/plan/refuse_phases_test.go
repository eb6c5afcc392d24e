package plan_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

func jobs(values ...int32) v1alpha1.SweepAxes { return v1alpha1.SweepAxes{Jobs: values} }

func depths(values ...int32) v1alpha1.SweepAxes { return v1alpha1.SweepAxes{QueueDepth: values} }

func on() *builders.BenchmarkBuilder { return builders.Benchmark("b").Target("a").Clients(4) }

// phaseRefusals are phases that cannot run, with the field of the problem and words of the remedy.
var phaseRefusals = map[string]refusal{
	// drains
	"drain without an end": {on().BurstDrain("x", "", ""), "spec.run.phases[0].burstDrain.maxDuration", "at least 1s"},
	"drain that ends before it begins": {on().BurstDrain("x", "5m", "4m"),
		"spec.run.phases[0].burstDrain.maxDuration", "must be at least minDuration, 5m: raise it, or lower minDuration"},
	"drain shorter than the default": {on().BurstDrain("x", "", "1m"),
		"spec.run.phases[0].burstDrain.maxDuration", "minDuration, 2m"},
	"drain of text": {on().BurstDrain("x", "soon", "1h"), "spec.run.phases[0].burstDrain.minDuration", "such as 1h30m or 90s"},
	"drain of reads without a layout": {on().BurstDrain("x", "2m", "1h").With(builders.Fio().Reads()),
		"spec.run.phases[0]", "Put a phase with `prepare: {}`"},
	"drain without a workload": {on().Workload(nil).BurstDrain("x", "2m", "1h"), "spec.run.phases[0].workload", "set one of them"},
	"drains longer than the run": {on().BurstDrain("x", "1h", "6h").Cooldown("y", "1h").BurstDrain("z", "1h", "6h").ActiveDeadline("3h"),
		"spec.run.activeDeadline", "take at least 3h: raise activeDeadline"},

	// cooldowns
	"cooldown of no kind": {on().Phase(v1alpha1.Phase{Name: "x", Cooldown: &v1alpha1.CooldownPhase{}}),
		"spec.run.phases[0].cooldown", "exactly one of duration, untilCredits and redrain"},
	"cooldown of two kinds": {on().Cooldown("x", "1h").Mutate(func(r *v1alpha1.RunSpec) {
		r.Phases[0].Cooldown.Redrain = &v1alpha1.Redrain{Idle: "1h"}
	}), "spec.run.phases[0].cooldown", "exactly one of"},
	"cooldown of no length": {on().Cooldown("x", "0s"), "spec.run.phases[0].cooldown.duration", "longer than 0"},
	"cooldown of a length that is bounded": {on().Cooldown("x", "1h").AtMost("2h"),
		"spec.run.phases[0].cooldown.maxDuration", "applies only to untilCredits and redrain: remove it"},
	"cooldown of text":          {on().Cooldown("x", "a while"), "spec.run.phases[0].cooldown.duration", "such as 1h30m or 90s"},
	"pause longer than the run": {on().Cooldown("x", "50h"), "spec.run.activeDeadline", "take at least 50h: raise activeDeadline"},
	"wait for too much":         {on().UntilCredits("x", 101), "spec.run.phases[0].cooldown.untilCredits.percent", "from 1 to 100"},
	"wait for nothing":          {on().UntilCredits("x", 0), "spec.run.phases[0].cooldown.untilCredits.percent", "from 1 to 100"},
	"wait of no length":         {on().UntilCredits("x", 50).AtMost("0s"), "spec.run.phases[0].cooldown.maxDuration", "longer than 0"},
	"wait longer than the run": {fsx().BurstDrain("x", "2m", "6h").UntilCredits("y", 100).ActiveDeadline("8h"),
		"spec.run.activeDeadline", "take at least 8h9m30s: raise activeDeadline"},
	"redrain without a pause": {on().BurstDrain("x", "2m", "1h").Redrain("y", "0s"), "spec.run.phases[1].cooldown.redrain.idle", "longer than 0"},
	"redrain of no known length": {on().Redrain("y", "1h"), "spec.run.phases[0].cooldown.maxDuration",
		"put a burstDrain phase before this one, so that the bucket is empty when the pause starts, or set maxDuration (pause and drain together)"},
	"redrain before the drain": {on().Redrain("y", "1h").BurstDrain("x", "2m", "1h"), "spec.run.phases[0].cooldown.maxDuration", "set maxDuration"},
	"redrain without time for the drain": {on().Redrain("y", "1h").AtMost("1h"),
		"spec.run.phases[0].cooldown.maxDuration", "leaves no time for the drain after the pause of 1h: raise maxDuration"},
	"redrain without a workload": {on().Workload(nil).BurstDrain("x", "2m", "1h").With(builders.Fio()).Redrain("y", "1h"),
		"spec.run.phases[1].workload", "set one of them"},

	// ramps
	"ramp of what":       {on().Ramp("x", "Height", "30s", 1, 2), "spec.run.phases[0].ramp.dimension", "supported values"},
	"ramp of no values":  {on().Ramp("x", v1alpha1.RampJobs, "30s"), "spec.run.phases[0].ramp.steps", "use increasing values"},
	"ramp that falls":    {on().Ramp("x", v1alpha1.RampJobs, "30s", 1, 4, 2, 1), "spec.run.phases[0].ramp.steps", "sort them and remove duplicates"},
	"ramp of one twice":  {on().Ramp("x", v1alpha1.RampJobs, "30s", 2, 2), "spec.run.phases[0].ramp.steps", "sort them and remove duplicates"},
	"ramp from nothing":  {on().Ramp("x", v1alpha1.RampJobs, "30s", 0, 2), "spec.run.phases[0].ramp.steps[0]", "at least 1"},
	"ramp of an instant": {on().Ramp("x", v1alpha1.RampJobs, "500ms", 1), "spec.run.phases[0].ramp.stepDuration", "at least 1s"},
	"ramp above the clients": {on().Ramp("x", v1alpha1.RampClients, "30s", 1, 5),
		"spec.run.phases[0].ramp.steps[1]", "must be at most 4: lower it, or raise clients.count"},
	"ramp of clients that ends in its warm-up": {on().Ramp("x", v1alpha1.RampClients, "5s", 1, 2).With(slow()).Mutate(func(r *v1alpha1.RunSpec) {
		r.Phases[0].Ramp.WarmUp = "5s"
	}), "spec.run.phases[0]", "does not work with spec.run.phases[0].workload.fio: warmUp 5s must be shorter than duration 5s"},
	"ramp of too many jobs": {on().Ramp("x", v1alpha1.RampJobs, "30s", 1, 2048), "spec.run.phases[0]", "must be from 1 to 1024"},
	"ramp of too many for a number": {on().Ramp("x", v1alpha1.RampQueueDepth, "30s", 1, 1<<40),
		"spec.run.phases[0].ramp.steps[1]", "must be at most 2147483647: lower it"},
	"ramp of too deep a queue": {on().Ramp("x", v1alpha1.RampQueueDepth, "30s", 1, 5000), "spec.run.phases[0]", "must be from 1 to 4096"},
	"ramp of a queue that is none": {on().Workload(builders.Fio().Buffered()).Ramp("x", v1alpha1.RampQueueDepth, "30s", 1, 8),
		"spec.run.phases[0]", "the I/O engine psync does one operation at a time"},
	"ramp of a job file": {on().Workload(builders.JobFile(jobFile, "32Mi")).Ramp("x", v1alpha1.RampJobs, "30s", 1, 8),
		"spec.run.phases[0]", "use the typed fields of the profile instead"},
	"ramp that the data does not divide by": {on().Ramp("x", v1alpha1.RampJobs, "30s", 1, 3),
		"spec.run.phases[0]", "cannot be divided into 3 files of whole blocks of 65536 bytes: use 67043328 or 67239936"},
	"ramp of reads without a layout": {on().Ramp("x", v1alpha1.RampJobs, "30s", 1, 4).With(builders.Fio().Reads()),
		"spec.run.phases[0]", "reads 16.00 MiB of data.0.0 per client on target a, but no earlier phase lays it out"},
	"ramp of reads on another layout": {on().Prepare("layout").Ramp("x", v1alpha1.RampJobs, "30s", 1, 4).With(builders.Fio().Reads().Dataset("128Mi")),
		"spec.run.phases[1]", "reads 32.00 MiB"},
	"one step on two layouts": {on().Target("c").Prepare("layout").For("c", builders.Fio().Dataset("32Mi")).
		Ramp("x", v1alpha1.RampJobs, "30s", 1, 4), "spec.run.phases[0].mode", "use mode Sequential, or fileSharing: Shared"},

	// searches
	"search of jobs with own files": {on().Workload(builders.Fio()).Search("x", "99", "5ms", 1000, "1m"), "spec.run.workload.fio.fileSharing", "set fileSharing to Shared"},
	"search beyond the jobs": {on().Workload(sharedReads()).Prepare("l").Search("x", "99", "5ms", 100_000, "1m"),
		"spec.run.phases[1]", "raise clients.count, or lower search.rate.max"},
	"search with a long latency": {on().Workload(sharedReads()).Prepare("l").Search("x", "99", "200ms", 100, "1m"),
		"spec.run.phases[1].search.objective.latency.max", "at most 100ms"},
	"search below the percentile": {on().Workload(sharedReads()).Prepare("l").Search("x", "99.99", "5ms", 1000, "1m"),
		"spec.run.phases[1].search.rate.max", "is below the first rate, 1668"},
	"search in a burst": {on().Workload(sharedReads()).Prepare("l").Search("x", "99", "5ms", 1000, "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Phases[1].Search.Regime = v1alpha1.RegimeBurst
	}), "spec.run.phases[1].search.regime", "supported values"},
	"search on two targets at once": {on().Target("c").Workload(sharedReads()).Prepare("l").Search("x", "99", "5ms", 1000, "1m"),
		"spec.run.phases[1].mode", "set mode to Sequential"},
	"search that ends in its warm-up": {on().Workload(sharedReads()).Prepare("l").Search("x", "99", "5ms", 1000, "5s").Mutate(func(r *v1alpha1.RunSpec) {
		r.Phases[1].Search.Rate.Min = new(int64(300))
	}), "spec.run.phases[1]", "would end during the warm-up"},
	"search with fewer and fewer clients": {on().Workload(sharedReads()).Prepare("l").Search("x", "99", "5ms", 1000, "1m").
		OnLoss(v1alpha1.OnLossContinueDegraded, 1), "spec.run.clients.onLoss",
		"phase x compares steps that must have the same clients: use RestartStep or FailRun"},
	"search without a layout": {on().Workload(sharedReads()).Search("x", "99", "5ms", 1000, "1m"), "spec.run.phases[0]", "Put a phase with `prepare: {}`"},

	// interference
	"interference of a target that is none": {pair().Interference("x", []string{"a", "d"}, nil, "1m"),
		"spec.run.phases[0].interference.victims[1]", `Invalid value: "d": is not a target of the run: use one of [a c]`},
	"interference of one with itself": {pair().Interference("x", []string{"a"}, []string{"c", "a"}, "1m"),
		"spec.run.phases[0].interference.aggressors[1]", "is also spec.run.phases[0].interference.victims[0]: a target can have only one role"},
	"interference of one victim twice": {pair().Interference("x", []string{"a", "a"}, nil, "1m"),
		"spec.run.phases[0].interference.victims[1]", "a target can have only one role"},
	"interference of one": {pair().Interference("x", []string{"a"}, nil, "1m"),
		"spec.run.phases[0].interference.aggressors", "a single target has no neighbours: name another target here"},
	"interference without victims": {pair().Interference("x", nil, []string{"a", "c"}, "1m"),
		"spec.run.phases[0].interference.victims", "name the targets to measure alone and beside others: choose from [a c]"},
	"interference beside more than there are": {pair().Interference("x", []string{"a"}, []string{"c"}, "1m", 1, 2),
		"spec.run.phases[0].interference.neighbours[1]", "must be from 1 to the number of aggressors (1)"},
	"interference beside numbers of none": {pair().Interference("x", []string{"a", "c"}, nil, "1m", 1),
		"spec.run.phases[0].interference.neighbours[0]", "the number of aggressors (0): lower it, or name more aggressors"},
	"interference beside fewer and fewer": {pair().Target("d").Interference("x", []string{"a"}, []string{"c", "d"}, "1m", 2, 1),
		"spec.run.phases[0].interference.neighbours[1]", "sort the values and remove duplicates"},
	"interference an odd number of times": {repeated(5), "spec.run.phases[0].interference.repetitions", "Invalid value: 5: must be an even number from 4 to 64"},
	"interference twice":                  {repeated(2), "spec.run.phases[0].interference.repetitions", "must be an even number from 4 to 64"},
	"interference in too many blocks": {repeated(64).Target("d").Target("e").Mutate(func(r *v1alpha1.RunSpec) {
		r.Phases[0].Interference.Victims, r.Phases[0].Interference.Aggressors = []string{"a", "c", "d", "e"}, nil
	}), "spec.run.phases[0].interference", "64 repetitions of 5 blocks make 320 blocks, but the limit is 256: lower repetitions, or name fewer victims or neighbours"},
	"interference in a burst": {pair().Interference("x", []string{"a"}, []string{"c"}, "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Phases[0].Interference.Regime = v1alpha1.RegimeBurst
	}), "spec.run.phases[0].interference.regime", "supported values"},
	"interference of an instant": {pair().Interference("x", []string{"a"}, []string{"c"}, "0s"), "spec.run.phases[0].interference.blockDuration", "at least 1s"},
	"interference of one after the other": {pair().Interference("x", []string{"a"}, []string{"c"}, "1m").Sequential(),
		"spec.run.phases[0].mode", "not supported in an interference phase, whose victims and aggressors determine which targets are loaded together: remove mode"},
	"interference with fewer and fewer clients": {pair().Interference("x", []string{"a"}, []string{"c"}, "1m").
		OnLoss(v1alpha1.OnLossContinueDegraded, 1), "spec.run.clients.onLoss", "use RestartStep or FailRun"},
	"interference without a layout": {pair().Interference("x", []string{"a"}, []string{"c"}, "1m").With(builders.Fio().Reads()),
		"spec.run.phases[0]", "Put a phase with `prepare: {}`"},
	"interference by work": {pair().Interference("x", []string{"a"}, []string{"c"}, "1m").ForLoad("c", v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: []string{"unzip"}}}),
		"spec.run.phases[0]", "so neighbours would end at different times: use a workload that runs for a given time"},

	// sweeps
	"sweep of no axes":     {on().Sweep("x", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{}), "spec.run.phases[0].sweep.axes", "at least one axis"},
	"sweep of one twice":   {on().Sweep("x", v1alpha1.RegimeAny, "20s", jobs(1, 2, 1)), "spec.run.phases[0].sweep.axes.jobs[2]", "Duplicate"},
	"sweep from nothing":   {on().Sweep("x", v1alpha1.RegimeAny, "20s", depths(0, 1)), "spec.run.phases[0].sweep.axes.queueDepth[0]", "at least 1"},
	"sweep of a regime":    {on().Sweep("x", "Both", "20s", jobs(1)), "spec.run.phases[0].sweep.regime", "supported values"},
	"sweep of an instant":  {on().Sweep("x", v1alpha1.RegimeAny, "0s", jobs(1)), "spec.run.phases[0].sweep.stepDuration", "at least 1s"},
	"sweep of a job file":  {on().Workload(builders.JobFile(jobFile, "32Mi")).Sweep("x", v1alpha1.RegimeAny, "1s", jobs(1)), "spec.run.phases[0]", "use the typed fields"},
	"sweep of three reads": {on().Sweep("x", v1alpha1.RegimeAny, "1s", v1alpha1.SweepAxes{ReadPercent: []int32{0, 101}}), "spec.run.phases[0]", "from 0 to 100"},
	"sweep of a size in two words": {on().Sweep("x", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{BlockSize: builders.BlockSizes("4Ki", "4096")}),
		"spec.run.phases[0].sweep.axes.blockSize[1]", "Duplicate"},
	"sweep of more clients than there are": {on().Sweep("x", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{Clients: []int32{1, 5}}),
		"spec.run.phases[0].sweep.axes.clients[1]", "must be from 1 to clients.count (4)"},
	"sweep of too many cells": {on().Sweep("x", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{
		Jobs: []int32{1, 2, 4, 8}, QueueDepth: []int32{1, 2, 4, 8, 16, 32, 64, 128}, ReadPercent: []int32{0, 10, 20, 30, 40, 50, 60, 70, 100}}),
		"spec.run.phases[0].sweep.axes", "288 cells"},
	"sweep that reads what nobody wrote": {on().Sweep("x", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{ReadPercent: []int32{0, 1}}),
		"spec.run.phases[0]", "Put a phase with `prepare: {}`"},
	"block larger than a file": {on().Sweep("x", v1alpha1.RegimeAny, "20s", v1alpha1.SweepAxes{Jobs: []int32{1, 64}, BlockSize: builders.BlockSizes("4Ki", "2Mi")}),
		"spec.run.phases[0]", "each of the 64 files must hold a block of 2097152 bytes"},
	"sweep in a burst of what nobody knows": {on().Sweep("x", v1alpha1.RegimeBurst, "20s", depths(1, 8)),
		"spec.run.phases[0].sweep.regime", "needs documented.throughput with baseline, burst and bucket of every target, but they are missing for a: set them, or use regime Any"},
	"sweep in a burst of what is known by half": {on().Throughput("32M", "64M", "", "").Target("c").Throughput("1M", "2M", "1G", "").
		Sweep("x", v1alpha1.RegimeBurst, "20s", depths(1, 8)), "spec.run.phases[0].sweep.regime", "missing for a:"},
	"sweep in a burst that does not last": {on().Throughput("60M", "600M", "30G", "").Sweep("x", v1alpha1.RegimeBurst, "1m", depths(1, 8)).Mutate(func(r *v1alpha1.RunSpec) {
		r.Phases[0].Sweep.WarmUp = "5s"
	}), "spec.run.phases[0].sweep.regime", "a cell in the burst needs (warmUp 5s + stepDuration 1m) x (burst 600.0 MB/s - refill 60.00 MB/s) = 35.10 GB of credits, " +
		"but a full bucket of target a holds 30.00 GB: shorten stepDuration to 50s or less, or use regime Any"},
	"sweep in a burst of a second": {on().Throughput("60M", "600M", "100M", "").Sweep("x", v1alpha1.RegimeBurst, "1m", depths(1, 8)),
		"spec.run.phases[0].sweep.regime", "holds 100.0 MB: use regime Any"},
	"more steps than a run may have": {builders.Benchmark("b").Target("a").Target("c").Target("d").Clients(4).
		Sweep("x", v1alpha1.RegimeAny, "1s", wide()).Sequential().Sweep("y", v1alpha1.RegimeAny, "1s", wide()).Sequential(),
		"spec.run.phases", "phase y exceeds the limit of 1024 steps per run"},

	"phase of two kinds": {on().Steady("x", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Phases[0].BurstDrain = &v1alpha1.BurstDrainPhase{MaxDuration: "1h"}
	}), "spec.run.phases[0]", "use one phase per kind"},
}

func pair() *builders.BenchmarkBuilder { return on().Target("c") }

func repeated(count int32) *builders.BenchmarkBuilder {
	return pair().Interference("x", []string{"a"}, []string{"c"}, "1m").Mutate(func(r *v1alpha1.RunSpec) { r.Phases[0].Interference.Repetitions = &count })
}

// wide returns axes with 256 cells.
func wide() v1alpha1.SweepAxes {
	var values []int32
	for i := range int32(16) {
		values = append(values, i+1)
	}
	return v1alpha1.SweepAxes{QueueDepth: values, ReadPercent: []int32{0}, BlockSize: builders.BlockSizes(
		"1Ki", "2Ki", "4Ki", "8Ki", "16Ki", "32Ki", "64Ki", "128Ki", "256Ki", "512Ki", "1Mi", "2Mi", "4Mi", "8Mi", "16Mi", "32Mi")}
}

func TestPhaseRefusals(t *testing.T) {
	for name, test := range phaseRefusals {
		t.Run(name, func(t *testing.T) { test.check(t) })
	}
}

// TestWarnings checks the warnings of plans. Plans without problems must have none.
func TestWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		benchmark *builders.BenchmarkBuilder
		want      []string
	}{
		"a claim that is too small for the data": {builders.Benchmark("b").Clients(2).Target("a").
			Template(v1alpha1.ClaimShared, v1alpha1.ClaimForRun, corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{"storage": resource.MustParse("100Mi")}}}).Workload(builders.Fio().Dataset("64Mi")).Prepare("layout"),
			[]string{"targets[0].volumes[0].claimTemplate.spec.resources: the data takes 128.0 MiB, but a claim of 100Mi is requested"}},
		"a query that Prometheus would refuse": {fsx().BurstDrain("burst", "2m", "1h").Mutate(func(r *v1alpha1.RunSpec) {
			r.Observations = []v1alpha1.Observation{{Name: "cpu", Query: "sum(rate(node_cpu_seconds_total[1m]))"}, {Name: "x", Query: "rate(x[5m"}}
		}), []string{"observations[1].query: Prometheus would reject the query: 1:10: parse error: "}},
		"a full bucket": {fsx().BurstDrain("burst", "2m", "1h"), nil},
		"a bucket that a layout was paid from": {fsx().Prepare("layout").BurstDrain("burst", "2m", "1h"),
			[]string{"phases[1]: the bucket of target share is expected to be only 93 % full when the drain starts, so the drain can measure no more than that: " +
				"phase layout spends 32.25 GB. To start with a full bucket, add a phase with cooldown: {untilCredits: {percent: 100}} before it, which takes 8h7m30s"}},
		"a bucket that is full again":  {fsx().Prepare("layout").UntilCredits("wait", 100).BurstDrain("burst", "2m", "1h"), nil},
		"a bucket that filled by time": {fsx().Prepare("layout").Cooldown("wait", "1h").BurstDrain("burst", "2m", "1h"), nil},
		"the one who spent the most": {fsx().Prepare("layout").Steady("load", "10m").Steady("more", "1m").BurstDrain("burst", "2m", "1h"),
			[]string{"phase load spends 146.4 GB"}},
		"a drain that is too short": {fsx().BurstDrain("burst", "2m", "30m"),
			[]string{"phases[0].burstDrain.maxDuration: RunTooShort: target share is expected to hold 468.0 GB of credits, which last 31m59s " +
				"at a net rate of burst - refill (260.0 MB/s - 16.00 MB/s), but the drain ends after 30m. Raise it to at least 33m23s"}},
		"a drain that is just long enough": {fsx().BurstDrain("burst", "2m", "31m59s"), nil},
		"a redrain that is too short": {fsx().BurstDrain("burst", "2m", "1h").Redrain("refill", "2h").AtMost("2h5m"),
			[]string{"phases[1].cooldown.maxDuration: RunTooShort: target share is expected to hold 115.2 GB",
				"but the drain ends after 5m. Raise it to at least 2h9m17s"}},
		"a drain that ends before the last bucket is empty": {on().Preset("azure-disk/p10", "100Gi").BurstDrain("burst", "2m", "56m"),
			[]string{"phases[0].burstDrain.maxDuration: RunTooShort: according to its documented limits, target a reaches its final rate after 56m29s, " +
				"but the drain ends after 56m: raise maxDuration"}},
		"a drain that empties the last bucket": {on().Preset("azure-disk/p10", "100Gi").BurstDrain("burst", "2m", "57m"), nil},
		"credits that never end": {on().Throughput("10M", "10M", "1G", "").BurstDrain("burst", "2m", "1h"),
			[]string{"the credits of target a never run out, because they refill at 10.00 MB/s and are spent at no more than 10.00 MB/s"}},
		"a drain below the refill": {fsx().Workload(slow()).BurstDrain("burst", "2m", "40m"),
			[]string{"phases[0].burstDrain.maxDuration: RunTooShort: the credits of target share never run out, " +
				"because they refill at 16.00 MB/s and are spent at no more than 16.00 MB/s"}},
		"a drain of a limited load": {fsx().Workload(limitedTo("20M")).BurstDrain("burst", "2m", "40m"),
			[]string{"which last 2h1m53s at a net rate of rate limit - refill (80.00 MB/s - 16.00 MB/s), but the drain ends after 40m. " +
				"Raise it to at least 2h3m17s"}},
		"a pause that fills the bucket": {fsx().BurstDrain("burst", "2m", "1h").Redrain("refill", "9h"),
			[]string{"phases[1].cooldown.redrain.idle: the bucket of target share is expected to be full after 8h7m30s, so the measured refill would be too low: shorten the pause"}},
		"a pause on a bucket that is not empty": {fsx().BurstDrain("burst", "2m", "1h").Cooldown("wait", "1h").Redrain("refill", "1h"),
			[]string{"phases[2]: the bucket of target share is expected to be 12 % full when the pause starts"}},
		"a wait that ends too soon": {fsx().BurstDrain("burst", "2m", "1h").UntilCredits("wait", 50).AtMost("1h"),
			[]string{"phases[1].cooldown.maxDuration: the pause ends after 1h, but the buckets may need up to 4h3m45s to refill to 50 %: raise maxDuration"}},
		"a wait for what nobody knows": {on().UntilCredits("wait", 50),
			[]string{"the duration is unknown until the run discovers the limits of target a, because the file does not set them", "the phase does not wait, because maxDuration is not set"}},
		"a wait for a bucket that is not documented": {on().Throughput("10M", "20M", "", "").UntilCredits("wait", 50),
			[]string{"the credits of target a are unknown", "the phase does not wait, because maxDuration is not set"}},
		"a wait for what a redrain measures": {on().BurstDrain("burst", "2m", "1h").Redrain("refill", "10m").UntilCredits("wait", 50), nil},
		"a workload without a load":          {on().Cooldown("wait", "1m").With(builders.Fio()), []string{"phases[0]: the workload is not used"}},
		"a drain of no known length": {on().Sweep("x", v1alpha1.RegimeBaseline, "1s", depths(1)),
			[]string{"phases[0].sweep.regime: documented.throughput of target a does not set baseline, burst and bucket: the drain before the cells may end after 1h"}},
		"cells in a burst of what is only assumed": {fsx().Sweep("x", v1alpha1.RegimeBurst, "1m", depths(1, 8)),
			[]string{"phases[0].sweep.regime: the bucket of target share is only assumed to hold the 14.64 GB that a cell needs, because " +
				"its initial credit balance is unknown. To be sure, insert a phase with cooldown: {untilCredits: {percent: 4}} before this one; its pause takes 19m30s"}},
		"cells in a burst that is certain":    {fsx().UntilCredits("wait", 4).Sweep("x", v1alpha1.RegimeBurst, "1m", depths(1, 8)), nil},
		"drained right before":                {on().BurstDrain("burst", "2m", "1h").Sweep("x", v1alpha1.RegimeBaseline, "1s", depths(1)), nil},
		"redrained right before":              {on().Redrain("refill", "2m").AtMost("1h").Sweep("x", v1alpha1.RegimeBaseline, "1s", depths(1)), nil},
		"longer than expected":                {fsx().BurstDrain("burst", "2m", "6h").ActiveDeadline("30m"), []string{"spec.run.activeDeadline: the phases are expected to take 33m26s, but the run fails after 30m"}},
		"a rate that spends less":             {fsx().Steady("slow", "10h").With(slow()).BurstDrain("burst", "2m", "1h"), nil},
		"operations that spend less":          {fsx().Steady("slow", "10m").With(few()).BurstDrain("burst", "2m", "1h"), nil},
		"operations that never spend credits": {fsx().Steady("slow", "10m").With(few()), nil},
		"a search below the refill": {fsx().Workload(sharedReads()).Prepare("l").UntilCredits("wait", 100).
			Search("slow", "99", "5ms", 1000, "1m").BurstDrain("burst", "2m", "1h").With(builders.Fio().Dataset("8Gi")), nil},
		"fewer jobs than files": {on().Ramp("x", v1alpha1.RampJobs, "1s", 2, 4),
			[]string{"spec.run.phases: each job has its own files, which are laid out for 4 jobs: with 2 jobs, a step of x on a uses only 32.00 MiB of each client's data"}},
		"files of all jobs": {on().Workload(builders.Fio().Mutate(func(p *v1alpha1.FioProfile) { p.FileSharing = v1alpha1.FilesShared })).
			Ramp("x", v1alpha1.RampJobs, "1s", 2, 4), nil},
	} {
		t.Run(name, func(t *testing.T) {
			made, problems := plan.Make(test.benchmark.Run(), 1)
			if len(problems) > 0 {
				t.Fatal(problems.ToAggregate())
			}
			if len(test.want) == 0 && len(made.Warnings) > 0 || len(test.want) > 0 && len(made.Warnings) != 1 {
				t.Fatalf("warnings: %q", made.Warnings)
			}
			for _, want := range test.want {
				if !strings.Contains(made.Warnings[0], want) {
					t.Errorf("want %q, got: %s", want, made.Warnings[0])
				}
			}
		})
	}
}

// TestDrainBeforeCells checks that a phase on the baseline relies on an earlier drain only if both certainly spend the
// same credits.
func TestDrainBeforeCells(t *testing.T) {
	known := func() *builders.BenchmarkBuilder { return on().Throughput("10M", "20M", "3G", "") }
	operations := func(r *v1alpha1.RunSpec) {
		r.Targets[0].Documented.IOPS = &v1alpha1.RateLimits{Baseline: new(resource.MustParse("300")),
			Burst: new(resource.MustParse("2000")), Bucket: new(resource.MustParse("100k"))}
	}
	for name, test := range map[string]struct {
		benchmark *builders.BenchmarkBuilder
		block     string
		drains    int
	}{
		"the same blocks":                {on(), "1Mi", 1},
		"other blocks":                   {on(), "4Ki", 2},
		"other blocks of one bucket":     {known(), "4Ki", 1},
		"other blocks of another bucket": {known().Mutate(operations), "4Ki", 2},
		"the same blocks of two buckets": {known().Mutate(operations), "1Mi", 1},
	} {
		b := test.benchmark.Workload(builders.Fio().BlockSize("1Mi")).BurstDrain("burst", "2m", "1h").
			Sweep("x", v1alpha1.RegimeBaseline, "1s", v1alpha1.SweepAxes{BlockSize: builders.BlockSizes(test.block)})
		made, problems := plan.Make(b.Run(), 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		drains := 0
		for _, step := range made.Steps {
			if step.Purpose == plan.Drain {
				drains++
			}
		}
		if drains != test.drains {
			t.Errorf("%s: %d drains, want %d", name, drains, test.drains)
		}
	}
}

// slow returns a load of at most 4 MB/s per client: four clients need as much as the refill of fsx.
func slow() *builders.FioBuilder { return limitedTo("4M") }

// limitedTo returns a load of at most the given bytes per second per client.
func limitedTo(rate string) *builders.FioBuilder {
	return builders.Fio().Dataset("8Gi").Mutate(func(p *v1alpha1.FioProfile) {
		p.RateLimit = &v1alpha1.FioRateLimit{BytesPerSecond: new(resource.MustParse(rate))}
	})
}

// TestDrainOfALimitedLoad checks that a drain that cannot empty the bucket is expected to take its full length.
func TestDrainOfALimitedLoad(t *testing.T) {
	for _, rate := range []string{"4M", "20M"} {
		made, problems := plan.Make(fsx().Workload(limitedTo(rate)).BurstDrain("burst", "2m", "40m").Run(), 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		if step := made.Steps[0]; step.Expected < step.Duration {
			t.Errorf("at %s, the drain is expected to take %s, not %s", rate, step.Expected, step.Duration)
		}
	}
}

// few returns a load with so few operations that four clients need less than the refill of fsx.
func few() *builders.FioBuilder {
	return builders.Fio().Dataset("8Gi").BlockSize("4Ki").Mutate(func(p *v1alpha1.FioProfile) {
		p.RateLimit = &v1alpha1.FioRateLimit{IOPS: new(int64(100))}
	})
}

// TestCachedReadsSpendNoCredits checks that reads that the server's cache is expected to serve spend no credits.
func TestCachedReadsSpendNoCredits(t *testing.T) {
	run := fsx().Prepare("layout").UntilCredits("wait", 100).
		Steady("cache", "40m").With(builders.Fio().Dataset("8Gi").Reads()).BurstDrain("burst", "2m", "10m").Run()
	run.Phases[2].Expect = v1alpha1.ExpectServerCache
	made, problems := plan.Make(run, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	const want = "RunTooShort: target share is expected to hold 468.0 GB"
	if len(made.Warnings) != 1 || !strings.Contains(made.Warnings[0], want) {
		t.Errorf("want one warning, %q, got: %q", want, made.Warnings)
	}
}

// TestDrainsInTurnsOnTwoLayouts checks that the targets of a sequential sweep can have layouts for different numbers of
// jobs, because each target has its own drain.
func TestDrainsInTurnsOnTwoLayouts(t *testing.T) {
	_, problems := plan.Make(on().Target("c").Sweep("x", v1alpha1.RegimeBaseline, "20s", depths(1, 8)).Sequential().
		Ramp("y", v1alpha1.RampJobs, "30s", 1, 4).For("c", builders.Fio().Dataset("128Mi")).Run(), 1)
	if len(problems) > 0 {
		t.Error(problems.ToAggregate())
	}
}

// TestBlocksThatOutlastTheBurst checks that a phase is too short only if all its blocks or trials together end before
// the burst does.
func TestBlocksThatOutlastTheBurst(t *testing.T) {
	blocks := builders.Benchmark("b").Target("a").Throughput("10M", "20M", "3G", "").Target("c").Clients(4).
		Interference("x", []string{"a"}, []string{"c"}, "1m").Run()
	trials := on().Throughput("10M", "20M", "3G", "").Workload(sharedReads()).Prepare("l").
		Search("x", "99", "5ms", 4000, "1m").Run()
	for name, run := range map[string]*v1alpha1.RunSpec{"interference": blocks, "search": trials} {
		t.Run(name, func(t *testing.T) {
			for bucket, want := range map[string]int{"3G": 0, "300G": 1} {
				run.Targets[0].Documented.Throughput.Bucket = new(resource.MustParse(bucket))
				made, problems := plan.Make(run, 1)
				if len(problems) > 0 {
					t.Fatal(problems.ToAggregate())
				}
				all := strings.Join(made.Warnings, "\n")
				if len(made.Warnings) != want || strings.Count(all, "the phase measures only the burst") != want {
					t.Errorf("a bucket of %s: want %d warnings, got: %q", bucket, want, made.Warnings)
				}
			}
		})
	}
}
