package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/admission/admissiontest"
	"github.com/storagebench/storagebench/internal/engine/engines"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

func runOf(t *testing.T, text string) *v1alpha1.RunSpec {
	t.Helper()
	var run v1alpha1.RunSpec
	if err := yaml.UnmarshalStrict([]byte(text), &run); err != nil {
		t.Fatal(err)
	}
	run.Clients.Count = 1
	return &run
}

// shared resolves a profile that some of the runs refer to.
func shared(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
	return builders.Fio().Dataset("64Mi").Engine(), ref.Kind == v1alpha1.ClusterWorkloadProfileKind && ref.Name == "shared"
}

// TestShortSpellings checks that shorthand fields yield the same run as the fields that they replace.
func TestShortSpellings(t *testing.T) {
	for name, test := range map[string]struct{ short, long string }{
		"a claim": {`
targets: [{name: a, claimName: share}]
workload: {fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, datasetSize: 1Gi}}
phases: [{name: w, steady: {duration: 10s}}]`, `
targets: [{name: a, volumes: [{name: data, claimName: share}]}]
workload: {fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, datasetSize: 1Gi}}
phases: [{name: w, steady: {duration: 10s}}]`},
		"a refill": {`
targets: [{name: a, claimName: share}]
workload: {fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, datasetSize: 1Gi}}
phases: [{name: b, burstDrain: {maxDuration: 1h}}, {name: r, refill: {idle: 1h, maxDuration: 2h}}]`, `
targets: [{name: a, claimName: share}]
workload: {fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, datasetSize: 1Gi}}
phases: [{name: b, burstDrain: {maxDuration: 1h}}, {name: r, cooldown: {redrain: {idle: 1h}, maxDuration: 2h}}]`},
		"what a phase changes in fio": {`
targets: [{name: a, claimName: share}]
workload: {fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, datasetSize: 1Gi, fsync: {everyWrites: 1}, randomDistribution: "zipf:1.2"}}
phases:
- {name: l, prepare: {}}
- {name: r, steady: {duration: 10s}, override: {fio: {readPercent: 100, blockSize: 64Ki, queueDepth: 4}}}
- {name: s, steady: {duration: 10s}, override: {fio: {pattern: Sequential}}}
- {name: t, steady: {duration: 10s}, workload: {fio: {pattern: Random, readPercent: 0, blockSize: 8Ki, datasetSize: 1Gi}}, override: {fio: {rateLimit: {iops: 5}}}}`, `
targets: [{name: a, claimName: share}]
workload: {fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, datasetSize: 1Gi, fsync: {everyWrites: 1}, randomDistribution: "zipf:1.2"}}
phases:
- {name: l, prepare: {}}
- {name: r, steady: {duration: 10s}, workload: {fio: {pattern: Random, readPercent: 100, blockSize: 64Ki, queueDepth: 4, datasetSize: 1Gi, fsync: {everyWrites: 1}, randomDistribution: "zipf:1.2"}}}
- {name: s, steady: {duration: 10s}, workload: {fio: {pattern: Sequential, readPercent: 0, blockSize: 4Ki, datasetSize: 1Gi, fsync: {everyWrites: 1}}}}
- {name: t, steady: {duration: 10s}, workload: {fio: {pattern: Random, readPercent: 0, blockSize: 8Ki, datasetSize: 1Gi, rateLimit: {iops: 5}}}}`},
		"what a phase changes in IOR": {`
targets: [{name: a, claimName: share}]
workload: {ior: {transferSize: 1Mi, blockSize: 1Gi, direct: true}}
phases: [{name: l, prepare: {}}, {name: r, steady: {duration: 10s}, override: {ior: {operations: [Read], reorderTasks: None}}}]`, `
targets: [{name: a, claimName: share}]
workload: {ior: {transferSize: 1Mi, blockSize: 1Gi, direct: true}}
phases: [{name: l, prepare: {}}, {name: r, steady: {duration: 10s}, workload: {ior: {transferSize: 1Mi, blockSize: 1Gi, direct: true, operations: [Read], reorderTasks: None}}}]`},
		"what a phase changes in a profile": {`
targets: [{name: a, claimName: share}]
workload: {profileRef: {name: shared}}
phases: [{name: l, prepare: {}}, {name: r, steady: {duration: 10s}, override: {fio: {readPercent: 100}}}]`, `
targets: [{name: a, claimName: share}]
workload: {profileRef: {name: shared, kind: ClusterWorkloadProfile}}
phases: [{name: l, prepare: {}}, {name: r, steady: {duration: 10s}, workload: {profileRef: {name: shared}}, override: {fio: {readPercent: 100}}}]`},
	} {
		t.Run(name, func(t *testing.T) {
			short, problems := plan.Resolve(runOf(t, test.short), shared)
			long, others := plan.Resolve(runOf(t, test.long), shared)
			if problems = append(problems, others...); len(problems) > 0 {
				t.Fatal(problems.ToAggregate())
			}
			if diff := cmp.Diff(long, short); diff != "" {
				t.Errorf("(-long +short):\n%s", diff)
			}
			if _, problems := plan.Make(short, 1); len(problems) > 0 {
				t.Error(problems.ToAggregate())
			}
		})
	}
}

// TestProblemsAsWritten checks that problems name the fields that the user wrote.
func TestProblemsAsWritten(t *testing.T) {
	const head = `
targets: [{name: a, claimName: share}]
workload: {fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, datasetSize: 1Gi}}
`
	for name, test := range map[string]struct{ run, want string }{
		"override of another engine": {head + `phases: [{name: w, steady: {duration: 10s}, override: {ior: {random: true}}}]`,
			"spec.run.phases[0].override: Invalid value: the workload uses fio"},
		"override of targetWorkloads": {head + `phases: [{name: w, steady: {duration: 10s}, override: {fio: {readPercent: 1}}, targetWorkloads: [{target: a, workload: {fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, datasetSize: 1Gi}}}]}]`,
			"spec.run.phases[0].override: Forbidden"},
		"override of a job file": {`
targets: [{name: a, claimName: share}]
workload: {fio: {datasetSize: 1Gi, jobFile: "[a]\nrw=write\nbs=4k\nsize=1g\n"}}
phases: [{name: w, steady: {duration: 10s}, override: {fio: {blockSize: 8Ki}}}]`, "spec.run.phases[0].override.fio: Forbidden: a jobFile cannot be overridden"},
		"override with a wrong result": {head + `phases: [{name: w, steady: {duration: 10s}, override: {fio: {blockSize: 1000}}}]`,
			"spec.run.phases[0].override.fio.blockSize: Invalid value"},
		"refill of unknown length": {head + `phases: [{name: r, refill: {idle: 1h}}]`, "spec.run.phases[0].refill.maxDuration: Required value"},
		"refill without a pause":   {head + `phases: [{name: b, burstDrain: {maxDuration: 1h}}, {name: r, refill: {idle: 0s}}]`, "spec.run.phases[1].refill.idle: Invalid value"},
		"no such profile": {`
targets: [{name: a, claimName: share}]
workload: {profileRef: {name: none}}
phases: [{name: w, steady: {duration: 10s}}]`, `spec.run.workload.profileRef: Not found: "profile none": no such profile in the namespace or the cluster`},
	} {
		t.Run(name, func(t *testing.T) {
			run := runOf(t, test.run)
			resolved, problems := plan.Resolve(run, shared)
			if len(problems) == 0 {
				_, problems = plan.Make(resolved, 1)
			}
			if problems = plan.AsWritten(run, problems); len(problems) != 1 || !strings.Contains(problems[0].Error(), test.want) {
				t.Errorf("want %s, got %v", test.want, problems)
			}
		})
	}
}

// TestShorthandIsRefusedInARun checks that shorthand fields in a run are refused, because its plan would ignore them.
func TestShorthandIsRefusedInARun(t *testing.T) {
	run := runOf(t, `
targets: [{name: a, claimName: share}]
workload: {fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, datasetSize: 1Gi}}
phases: [{name: w, steady: {duration: 10s}, override: {fio: {readPercent: 0}}}, {name: r, refill: {idle: 1h}}]`)
	_, problems := plan.Make(run, 1)
	for _, want := range []string{"spec.run.targets[0].claimName", "spec.run.phases[0].override", "spec.run.phases[1].refill"} {
		if !strings.Contains(problems.ToAggregate().Error(), want+": Forbidden: not allowed in a BenchmarkRun") {
			t.Errorf("%s is not refused: %v", want, problems)
		}
	}
}

// TestRefusesWhatAProfileMayNotSay checks that the engines refuse whatever the rules of a profile refuse. The CRD has
// all rules of a workload only for spec.run.workload and for profiles. The workloads of phases have only the rules of
// quantities (config/crd/finish).
func TestRefusesWhatAProfileMayNotSay(t *testing.T) {
	accepted, err := admissiontest.Accepted()
	if err != nil {
		t.Fatal(err)
	}
	refused, err := admissiontest.Refused()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, c := range refused {
		// A sweep from writes to reads needs a profile with fsync, which has no effect without writes.
		if kind := c.Object["kind"]; kind != v1alpha1.WorkloadProfileKind && kind != v1alpha1.ClusterWorkloadProfileKind || c.Name == "fsync without writes" {
			continue
		}
		benchmark := runtime.DeepCopyJSON(accepted[0].Object)
		phases, _, err := unstructured.NestedSlice(benchmark, "spec", "run", "phases")
		if err != nil {
			t.Fatal(err)
		}
		phases[1].(map[string]any)["workload"] = c.Object["spec"]
		if err := unstructured.SetNestedSlice(benchmark, phases, "spec", "run", "phases"); err != nil {
			t.Fatal(err)
		}
		problems, err := admission.Check(t.Context(), benchmark)
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) > 0 {
			continue
		}
		text, err := yaml.Marshal(c.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		var workload v1alpha1.Workload
		if err := yaml.UnmarshalStrict(text, &workload); err != nil {
			t.Fatal(err)
		}
		load := engines.Of(&workload.Engine)
		if checked++; len(load.Validate(field.NewPath(string(load.Kind)))) == 0 {
			t.Errorf("%s: neither admission nor the engine refuses\n%s", c.Name, text)
		}
	}
	if checked < 15 {
		t.Errorf("only %d were left to the engines", checked)
	}
}
