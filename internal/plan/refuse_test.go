package plan_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// refusal is a specification with one mistake, and the expected problem.
type refusal struct {
	benchmark *builders.BenchmarkBuilder
	field     string
	remedy    string
}

// check checks that the specification is refused for this mistake alone, and only once.
func (r refusal) check(t *testing.T) {
	t.Helper()
	_, problems := plan.Make(r.benchmark.Run(), 1)
	if len(problems) != 1 {
		t.Fatalf("%d problems: %v", len(problems), problems)
	}
	if got := problems[0]; got.Field != r.field || !strings.Contains(got.Error(), r.remedy) {
		t.Errorf("want %s and %q, got: %v", r.field, r.remedy, got)
	}
}

// crowd returns a benchmark with many targets of many clients.
func crowd(targets int, clients int32) *builders.BenchmarkBuilder {
	made := builders.Benchmark("b").Clients(clients).Steady("write", "1m")
	for i := range targets {
		made.Target(fmt.Sprintf("t%d", i))
	}
	return made
}

// refusals are specifications that cannot run, with the field of the problem and words of the remedy.
var refusals = map[string]refusal{
	"read without layout": {builders.Benchmark("b").Target("a").Steady("read", "1m").With(builders.Fio().Reads()),
		"spec.run.phases[0]", "Put a phase with `prepare: {}`"},
	"mix without layout": {builders.Benchmark("b").Target("a").Steady("mix", "1m").With(builders.Fio().ReadPercent(1)),
		"spec.run.phases[0]", "but no earlier phase lays it out"},
	"layout after the read": {builders.Benchmark("b").Target("a").Steady("read", "1m").With(builders.Fio().Reads()).Prepare("layout"),
		"spec.run.phases[0]", "before it"},
	"layout smaller than what is read": {builders.Benchmark("b").Target("a").Prepare("layout").
		Steady("read", "1m").With(builders.Fio().Reads().Dataset("128Mi")),
		"spec.run.phases[1]", "reads 128.0 MiB of data.0.0 per client on target a, but earlier phases lay out only 64.00 MiB"},
	"layout in other files": {builders.Benchmark("b").Target("a").Prepare("layout").
		Steady("read", "1m").With(builders.Fio().Reads().Jobs(2)),
		"spec.run.phases[1]", "of data.1.0 per client"},
	"layout of another target": {builders.Benchmark("b").Target("a").Target("b").
		Prepare("layout").For("b", builders.Fio().Dataset("1Mi")).
		Steady("read", "1m").With(builders.Fio().Reads()),
		"spec.run.phases[1]", "on target b"},
	"written for a time is not laid out": {builders.Benchmark("b").Target("a").Steady("write", "1h").
		Steady("read", "1m").With(builders.Fio().Reads()),
		"spec.run.phases[1]", "but no earlier phase lays it out"},
	"nothing to lay out": {builders.Benchmark("b").Target("a").Workload(builders.Fio().Null()).Prepare("layout"),
		"spec.run.phases[0]", "uses no files"},
	"rate limit ends in the warm-up": {builders.Benchmark("b").Target("a").Workload(limited()).Steady("write", "10s").WarmUp("10s"),
		"spec.run.phases[0]", "warmUp 10s must be shorter than duration 10s"},
	"no workload": {builders.Benchmark("b").Target("a").Workload(nil).Steady("write", "1m"),
		"spec.run.phases[0].workload", "set one of them"},
	"empty workload": {builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Phases[0].Workload = &v1alpha1.Workload{}
	}), "spec.run.phases[0].workload", "set fio"},
	"unresolved profile": {builders.Benchmark("b").Target("a").Steady("write", "1m").WithProfile("WorkloadProfile", "p"),
		"spec.run.phases[0].workload.profileRef", "replace the reference with the profile's spec"},
	"bad workload": {builders.Benchmark("b").Target("a").Steady("write", "1m").Workload(builders.Fio().Jobs(5000)),
		"spec.run.workload.fio.jobs", "must be from 1 to 1024"},
	// 8 GB in 16 jobs are files of 500,000,000 bytes.
	"layout of unaligned files": {builders.Benchmark("b").Target("a").Workload(builders.Fio().BlockSize("4Ki").Dataset("8G").Reads()).
		Prepare("layout").Ramp("jobs", v1alpha1.RampJobs, "30s", 1, 16),
		"spec.run.phases[0]", "files of 500000000 bytes are not a multiple of 512"},
	"bad workload of a target": {builders.Benchmark("b").Target("a").Steady("write", "1m").For("a", builders.Fio().BlockSize("1000")),
		"spec.run.phases[0].targetWorkloads[0].workload.fio.blockSize", "multiple of 512"},
	"path in a job file": {builders.Benchmark("b").Target("a").Steady("write", "1m").
		Workload(builders.JobFile("[x]\nrw=write\nsize=1m\nfilename=/etc/passwd\n", "1Mi")),
		"spec.run.workload.fio.jobFile", "filename"},
	"command in a job file": {builders.Benchmark("b").Target("a").Steady("write", "1m").
		Workload(builders.JobFile("[x]\nrw=write\nsize=1m\nexec_prerun=rm -rf /\n", "1Mi")),
		"spec.run.workload.fio.jobFile", "exec_prerun"},
	"too short": {builders.Benchmark("b").Target("a").Steady("write", "999ms"),
		"spec.run.phases[0].steady.duration", "at least 1s"},
	"layout too short": {builders.Benchmark("b").Target("a").Phase(v1alpha1.Phase{Name: "layout",
		Prepare: &v1alpha1.PreparePhase{MaxDuration: duration("500ms")}}),
		"spec.run.phases[0].prepare.maxDuration", "at least 1s"},
	"duration without unit": {builders.Benchmark("b").Target("a").Steady("write", "60"),
		"spec.run.phases[0].steady.duration", "such as 1h30m or 90s"},
	"warm-up without unit": {builders.Benchmark("b").Target("a").Steady("write", "1m").WarmUp("x"),
		"spec.run.phases[0].steady.warmUp", "such as 1h30m or 90s"},
	"deadline without unit": {builders.Benchmark("b").Target("a").Steady("write", "1m").ActiveDeadline("2 days"),
		"spec.run.activeDeadline", "such as 1h30m or 90s"},
	"longer than the run may be": {builders.Benchmark("b").Target("a").Steady("one", "30m").WarmUp("1m").Steady("two", "30m").ActiveDeadline("1h"),
		"spec.run.activeDeadline", "take at least 1h1m: raise activeDeadline"},
	"too many clients": {crowd(16, 63), "spec.run.clients.count", "16 targets have 1008 clients in total, but the limit is 1000: use fewer clients or fewer targets"},
	"too many claims": {crowd(2, 400).Mutate(func(r *v1alpha1.RunSpec) {
		claims := &v1alpha1.ClaimTemplate{Scope: v1alpha1.ClaimPerClient, Spec: builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")}
		r.Targets[0].Volumes = []v1alpha1.Volume{{Name: "a", ClaimTemplate: claims}, {Name: "b", ClaimTemplate: claims}}
		r.Targets[1].Volumes = []v1alpha1.Volume{{Name: "a", ClaimTemplate: claims}}
	}), "spec.run.targets", "the claim templates create 1200 claims, but the limit is 1000: use fewer clients, fewer volumes, or claimTemplate.scope Shared"},
	"no target": {builders.Benchmark("b").Steady("write", "1m"), "spec.run.targets", "at least one target is required"},
	"no phase":  {builders.Benchmark("b").Target("a"), "spec.run.phases", "at least one phase is required"},
	"two targets of one name": {builders.Benchmark("b").Target("a").Target("a").Steady("write", "1m"),
		"spec.run.targets[1].name", "Duplicate"},
	"two targets in one folder": {builders.Benchmark("b").Target("a").Target("b").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Path, r.Targets[1].Path = "bench", "bench"
		r.Targets[1].Volumes[0].ClaimName = "a"
	}), "spec.run.targets[1].path", "claim a is also used by spec.run.targets[0] with the same path"},
	"two targets in one volume's root": {builders.Benchmark("b").Target("a").Target("b").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[1].Volumes[0].ClaimName = "a"
	}), "spec.run.targets[1].path", "Set a different path for each target, such as bench/b"},
	"one claim twice in a target": {builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Volumes = append(r.Targets[0].Volumes, v1alpha1.Volume{Name: "more", ClaimName: "a"})
	}), "spec.run.targets[0].volumes[1].claimName", "remove the volume, or set a different claim"},
	"target of a long name": {builders.Benchmark("b").Target(strings.Repeat("a", 41)).Steady("write", "1m"),
		"spec.run.targets[0].name", "at most 40 lower-case letters"},
	"volume of a bad name": {builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Volumes[0].Name = "a.b"
	}), "spec.run.targets[0].volumes[0].name", "at most 40 lower-case letters"},
	"a template of one node, for clients of several": {builders.Benchmark("b").Target("a").Clients(4).Spread(v1alpha1.SpreadOnePerNode).
		Template(v1alpha1.ClaimShared, v1alpha1.ClaimForRun, builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")).Steady("write", "1m"),
		"spec.run.targets[0].volumes[0].claimTemplate.spec.accessModes", "spec.run.clients.spread is OnePerNode and 4 clients would use it: set spec.run.clients.spread to Any"},
	"a template of one pod, for several": {builders.Benchmark("b").Target("a").Clients(2).Spread(v1alpha1.SpreadAny).
		Template(v1alpha1.ClaimShared, v1alpha1.ClaimForRun, builders.ClaimSpec(corev1.ReadWriteOncePod, "1Gi")).Steady("write", "1m"),
		"spec.run.targets[0].volumes[0].claimTemplate.spec.accessModes", "create a claim per client with claimTemplate.scope PerClient"},
	"a template for reading, written to": {builders.Benchmark("b").Target("a").
		Template(v1alpha1.ClaimShared, v1alpha1.ClaimForRun, builders.ClaimSpec(corev1.ReadOnlyMany, "1Gi")).Prepare("layout").Steady("read", "1m").With(builders.Fio().Reads()),
		"spec.run.targets[0].volumes[0].claimTemplate.spec.accessModes", "phase layout writes to it"},
	"a template without a size": {builders.Benchmark("b").Target("a").
		Template(v1alpha1.ClaimShared, v1alpha1.ClaimForRun, corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}}).Steady("write", "1m"),
		"spec.run.targets[0].volumes[0].claimTemplate.spec.resources.requests.storage", "such as 100Gi"},
	"a template of an existing volume": {builders.Benchmark("b").Target("a").
		Template(v1alpha1.ClaimShared, v1alpha1.ClaimForRun, builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")).Steady("write", "1m").
		Mutate(func(r *v1alpha1.RunSpec) { r.Targets[0].Volumes[0].ClaimTemplate.Spec.VolumeName = "pv-1" }),
		"spec.run.targets[0].volumes[0].claimTemplate.spec.volumeName", "set claimTemplate.allowExistingVolumes to true"},
	"two phases of one name": {builders.Benchmark("b").Target("a").Steady("write", "1m").Steady("write", "1m"),
		"spec.run.phases[1].name", "Duplicate"},
	"workload of nobody": {builders.Benchmark("b").Target("a").Steady("write", "1m").For("z", builders.Fio()),
		"spec.run.phases[0].targetWorkloads[0].target", "correct it"},
	"phase of no kind": {builders.Benchmark("b").Target("a").Phase(v1alpha1.Phase{Name: "what"}),
		"spec.run.phases[0]", "exactly one of prepare, steady"},
	"several volumes that do not divide the files": {builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		for _, name := range []string{"two", "three", "four", "five", "six", "seven"} {
			r.Targets[0].Volumes = append(r.Targets[0].Volumes, v1alpha1.Volume{Name: name, ClaimName: name})
		}
	}), "spec.run.targets[0].volumes", "is spread over 7 volumes"},
	"raw template without leave": {builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Volumes[0] = rawVolume()
	}), "spec.run.targets[0].allowRawDeviceWrites", "phase write writes to the target's raw devices: set allowRawDeviceWrites to true"},
	"raw template with a path": {builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Volumes[0], r.Targets[0].Path, r.Targets[0].AllowRawDeviceWrites = rawVolume(), "bench", yes()
	}), "spec.run.targets[0].path", "is a raw device, which has no directories"},
	"raw template with striping": {builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Volumes[0], r.Targets[0].AllowRawDeviceWrites = rawVolume(), yes()
		r.Targets[0].Lustre = &v1alpha1.LustreStriping{StripeCount: new(int32(2))}
	}), "spec.run.targets[0].lustre", "is a raw device, which has no file system"},
	"raw template with small files": {smallFilesRun().Clients(1).Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Volumes[0], r.Targets[0].AllowRawDeviceWrites = rawVolume(), yes()
	}), "spec.run.targets[0].volumes", "small files need one volume with a file system"},
	"raw template of many clients": {builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Volumes[0], r.Clients.Count, r.Targets[0].AllowRawDeviceWrites = rawVolume(), 2, yes()
	}), "spec.run.targets[0].volumes[0].claimTemplate.scope", "on which 2 clients would overwrite each other"},
	"an unknown preset": {builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Documented = &v1alpha1.Limits{Preset: "aws-fsx-windows/hhd-32"}
	}), "spec.run.targets[0].documented.preset", "aws-fsx-windows/hhd-32\": does not exist in the catalog of limits; similar names are aws-fsx-windows/hdd-32, "},
	"leave for raw devices that are none": {builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Volumes[0], r.Targets[0].AllowRawDeviceWrites = rawVolume(), yes()
		r.Targets[0].Volumes[0].ClaimTemplate.Spec.VolumeMode = nil
	}), "spec.run.targets[0].allowRawDeviceWrites", "remove allowRawDeviceWrites, or set volumeMode: Block"},
	"striping": {builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[0].Lustre = &v1alpha1.LustreStriping{}
	}), "spec.run.targets[0].lustre", "set stripeCount, stripeSize or both"},
}

func yes() *bool {
	value := true
	return &value
}

func limited() *builders.FioBuilder {
	return builders.Fio().Mutate(func(p *v1alpha1.FioProfile) {
		rate := resource.MustParse("10M")
		p.RateLimit = &v1alpha1.FioRateLimit{BytesPerSecond: &rate}
	})
}

func TestRefusals(t *testing.T) {
	for name, test := range refusals {
		t.Run(name, func(t *testing.T) { test.check(t) })
	}
}

// TestAllAtOnce checks that independent mistakes are reported together, and a mistake that phases or targets share only
// once.
func TestAllAtOnce(t *testing.T) {
	_, problems := plan.Make(builders.Benchmark("b").Target("a").Target("a2").Workload(builders.Fio().Jobs(0).BlockSize("1000")).
		Prepare("layout").Steady("write", "1").Steady("read", "1m").With(builders.Fio().Reads()).Run(), 1)
	var fields []string
	for _, problem := range problems {
		fields = append(fields, problem.Field)
	}
	want := "spec.run.workload.fio.blockSize spec.run.workload.fio.jobs spec.run.phases[1].steady.duration"
	if got := strings.Join(fields, " "); got != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, problems)
	}
}

// TestResolveFillsInDefaults checks that the defaults of profiles are stored in the run.
func TestResolveFillsInDefaults(t *testing.T) {
	run := builders.Benchmark("b").Target("a").Workload(nil).Steady("one", "1m").WithProfile("", "p").Run()
	run.Phases[0].Mode = ""
	resolved, problems := plan.Resolve(run, func(v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
		return v1alpha1.Engine{IOR: &v1alpha1.IORProfile{}}, true
	})
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	if phase := resolved.Phases[0]; phase.Mode != v1alpha1.PhaseParallel || phase.Steady.WarmUp != "0s" || phase.Workload.IOR.API != "POSIX" {
		t.Errorf("phase: %+v, %+v", phase, phase.Workload.IOR)
	}
	before := plan.RunHash(run)
	if run.Phases[0].Mode != "" {
		t.Error("the run that was given was changed")
	}
	if run.SetDefaults(); plan.RunHash(run) != before {
		t.Error("a run that is stored with its defaults has another hash than its file")
	}
	run.Targets[0].Limits = &v1alpha1.Limits{Preset: "aws-fsx-windows/hdd-32"}
	before = plan.RunHash(run)
	run.Targets[0].Documented, run.Targets[0].Limits = run.Targets[0].Limits, nil
	if plan.RunHash(run) != before {
		t.Error("documented limits by the field's former name have another hash")
	}
}

func TestResolve(t *testing.T) {
	benchmark := builders.Benchmark("b").Target("a").Workload(nil).
		Prepare("layout").WithProfile("WorkloadProfile", "p").
		Steady("one", "1m").WithProfile("ClusterWorkloadProfile", "p").
		Steady("two", "1m").WithProfile("", "p").
		Steady("three", "1m").With(builders.Fio().Jobs(3)).For("a", builders.Fio()).
		Mutate(func(r *v1alpha1.RunSpec) {
			r.Phases[3].TargetWorkloads[0].Workload = v1alpha1.Workload{ProfileRef: &v1alpha1.ProfileRef{Kind: "ClusterWorkloadProfile", Name: "p"}}
		})
	run := benchmark.Run()
	profiles := map[string]v1alpha1.Engine{
		"WorkloadProfile p":        builders.Fio().Jobs(1).Engine(),
		"ClusterWorkloadProfile p": builders.Fio().Jobs(2).Engine(),
	}
	find := func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
		engine, found := profiles[ref.Kind+" "+ref.Name]
		return engine, found
	}
	resolved, problems := plan.Resolve(run, find)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	for i, want := range []int32{1, 2, 1, 3} {
		if workload := resolved.Phases[i].Workload; workload.ProfileRef != nil || *workload.Fio.Jobs != want {
			t.Errorf("phase %d: %v", i, workload)
		}
	}
	if own := resolved.Phases[3].TargetWorkloads[0].Workload; own.ProfileRef != nil || *own.Fio.Jobs != 2 {
		t.Errorf("target workload: %v", own)
	}
	if run.Phases[0].Workload.ProfileRef == nil {
		t.Error("the run that was given was changed")
	}
	*resolved.Phases[0].Workload.Fio.Jobs = 99
	if *profiles["WorkloadProfile p"].Fio.Jobs != 1 {
		t.Error("the profile is shared with the run: a change of one changes the other")
	}

	delete(profiles, "ClusterWorkloadProfile p")
	_, problems = plan.Resolve(run, find)
	if len(problems) != 2 || problems[0].Field != "spec.run.phases[1].workload.profileRef" ||
		problems[1].Field != "spec.run.phases[3].targetWorkloads[0].workload.profileRef" ||
		!strings.Contains(problems[0].Error(), "ClusterWorkloadProfile p") || !strings.Contains(problems[0].Error(), "create the profile") {
		t.Errorf("missing profiles: %v", problems)
	}
}

// rawVolume returns a volume with a claim template for a raw device.
func rawVolume() v1alpha1.Volume {
	block, size := corev1.PersistentVolumeBlock, resource.MustParse("1Gi")
	return v1alpha1.Volume{Name: "disk", ClaimTemplate: &v1alpha1.ClaimTemplate{Scope: v1alpha1.ClaimShared, Spec: corev1.PersistentVolumeClaimSpec{
		VolumeMode: &block, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}}}}}
}
