package storagebenchmark

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// ownRun returns a run of a benchmark, with the identity that the benchmark's status implies.
func ownRun(benchmark *v1alpha1.StorageBenchmark, name, hash string) *v1alpha1.BenchmarkRun {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(benchmark, v1alpha1.GroupVersion.WithKind(v1alpha1.StorageBenchmarkKind))}}}
	run.Spec.Hash = hash
	run.Spec.Seed = identityOf(benchmark, &benchmark.Status, hash).seed
	return run
}

func TestNext(t *testing.T) {
	missing := field.ErrorList{field.NotFound(field.NewPath("spec"), "x")}
	recorded := func(name, uid, hash string) func(*observation) {
		return func(obs *observation) {
			obs.benchmark.Status.ActiveRun = &v1alpha1.RunReference{Name: name, UID: uid, Hash: hash}
		}
	}
	lastRun := func(name, hash string) func(*observation) {
		return func(obs *observation) {
			obs.benchmark.Status.LastRun = &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Name: name, UID: "uid-" + name, Hash: hash}}
		}
	}
	// there adds a run to the list, named by status.activeRun if that is set.
	there := func(change func(*v1alpha1.BenchmarkRun)) func(*observation) {
		return func(obs *observation) {
			name, hash := "r", "now"
			if ref := obs.benchmark.Status.ActiveRun; ref != nil {
				name, hash = ref.Name, ref.Hash
			}
			run := ownRun(obs.benchmark, name, hash)
			change(run)
			obs.runs = append(obs.runs, *run)
		}
	}
	as := func(*v1alpha1.BenchmarkRun) {}
	endedRun := func(run *v1alpha1.BenchmarkRun) { run.Status.EndTime = new(metav1.NewMicroTime(begin0)) }
	failing := func(run *v1alpha1.BenchmarkRun) {
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFailed, Status: metav1.ConditionTrue}}
	}
	suspends := func(obs *observation) { suspend(true)(obs.benchmark) }
	lacks := func(obs *observation) { obs.candidate.missing = missing }
	cannot := func(obs *observation) { obs.candidate.problems = missing }
	asked := func(obs *observation) { request1("v1")(obs.benchmark) }
	// onChange sets trigger.onChange of a benchmark that the operator has already observed.
	onChange := func(value bool) func(*observation) {
		return func(obs *observation) {
			onChange(value)(obs.benchmark)
			obs.benchmark.Status.ObservedGeneration = 1
		}
	}
	stops := func(obs *observation) { stopping(obs.benchmark) }
	nightly := func(obs *observation) {
		scheduled("0 3 * * *", "", "")(obs.benchmark)
		obs.times.set = true
	}
	due := func(obs *observation) { obs.times.due.At = begin0 }
	releases := func(obs *observation) { releases("v1")(obs.benchmark) }
	rebuilt := func(obs *observation) { obs.benchmark.Status.ObservedGeneration = -1 }
	type given []func(*observation)
	for _, test := range []struct {
		name  string
		given given
		want  verb
	}{
		{"new", nil, intend},
		{"new, suspended", given{suspends}, hold},
		{"new, a reference is missing", given{lacks}, await},
		{"new, cannot be run", given{cannot}, refuse},
		{"new, both", given{lacks, cannot}, await},
		{"new, both, suspended", given{lacks, cannot, suspends}, hold},
		{"judged", given{lastRun("r", "now")}, leave},
		{"judged, a reference is missing", given{lastRun("r", "now"), lacks}, leave},
		{"judged, asked again", given{lastRun("r", "now"), asked}, intend},
		{"judged, asked again, suspended", given{lastRun("r", "now"), asked, suspends}, hold},
		{"judged, asked again, a reference is missing", given{lastRun("r", "now"), asked, lacks}, await},
		{"another spec.run is judged", given{lastRun("r", "then")}, intend},
		{"new, with a schedule", given{nightly}, leave},
		{"new, with a schedule and onChange", given{nightly, onChange(true)}, intend},
		{"new, not onChange", given{onChange(false)}, leave},
		{"new, not onChange, asked", given{onChange(false), asked}, intend},
		{"new, not onChange, due", given{onChange(false), nightly, due}, intend},
		{"new, not onChange, suspended", given{onChange(false), suspends}, hold},
		{"new, not onChange, another manual", given{onChange(false), releases}, intend},
		{"new, not onChange, the manual that it came with", given{onChange(false), releases, rebuilt}, leave},
		{"new, onChange, the manual that it came with", given{onChange(true), releases, rebuilt}, intend},
		{"another spec.run is judged, not onChange", given{lastRun("r", "then"), onChange(false)}, leave},
		{"another spec.run is judged, not onChange, asked", given{lastRun("r", "then"), onChange(false), asked}, intend},
		{"recorded, not onChange", given{recorded("r", "", "now"), onChange(false)}, create},
		{"live with another spec.run, Stop", given{recorded("r", "uid-r", "then"), there(as), stops}, replace},
		{"live with another spec.run, Stop, not onChange", given{recorded("r", "uid-r", "then"), there(as), onChange(false), stops}, watch},
		{"live with another spec.run, Stop, not onChange, asked", given{recorded("r", "uid-r", "then"), there(as), onChange(false), stops, asked}, replace},
		{"recorded", given{recorded("r", "", "now")}, create},
		{"recorded, suspended", given{recorded("r", "", "now"), suspends}, hold},
		{"recorded, a reference is missing", given{recorded("r", "", "now"), lacks}, await},
		{"recorded, spec.run has changed", given{recorded("r", "", "then")}, intend},
		{"recorded and there", given{recorded("r", "", "now"), there(as)}, adopt},
		{"recorded and there, suspended", given{recorded("r", "", "now"), there(as), suspends}, adopt},
		{"recorded and there, spec.run has changed", given{recorded("r", "", "then"), there(as)}, adopt},
		{"recorded, there and ended", given{recorded("r", "", "now"), there(endedRun)}, judge},
		{"recorded, another's run is there", given{recorded("r", "", "now"), there(func(run *v1alpha1.BenchmarkRun) { run.OwnerReferences = nil })}, yield},
		{"recorded, a run of another seed is there", given{recorded("r", "", "now"), there(func(run *v1alpha1.BenchmarkRun) { run.Spec.Seed++ })}, yield},
		{"recorded, a run of another hash is there", given{recorded("r", "", "now"), there(func(run *v1alpha1.BenchmarkRun) { run.Spec.Hash = "then" })}, yield},
		{"recorded, another's run is there, suspended", given{recorded("r", "", "now"), there(func(run *v1alpha1.BenchmarkRun) { run.OwnerReferences = nil }), suspends}, hold},
		{"recorded, another's run is there, spec.run has changed", given{recorded("r", "", "then"), there(func(run *v1alpha1.BenchmarkRun) { run.OwnerReferences = nil })}, intend},
		{"live", given{recorded("r", "uid-r", "now"), there(as)}, watch},
		{"live, suspended", given{recorded("r", "uid-r", "now"), there(as), suspends}, watch},
		{"live, asked again", given{recorded("r", "uid-r", "now"), there(as), asked}, watch},
		{"live, being deleted", given{recorded("r", "uid-r", "now"), there(func(run *v1alpha1.BenchmarkRun) { run.DeletionTimestamp = &metav1.Time{Time: begin0} })}, watch},
		{"live, has failed and tidies up", given{recorded("r", "uid-r", "now"), there(failing)}, watch},
		{"ended", given{recorded("r", "uid-r", "now"), there(endedRun)}, judge},
		{"ended, suspended", given{recorded("r", "uid-r", "now"), there(endedRun), suspends}, judge},
		{"deleted", given{recorded("r", "uid-r", "now")}, miss},
		{"deleted, and made again by somebody", given{recorded("r", "uid-old", "now"), there(as)}, miss},
		{"live and unknown to status", given{there(as)}, adopt},
		{"live and unknown to status, suspended", given{there(as), suspends}, adopt},
		{"ended and unknown to status", given{there(endedRun)}, intend},
		{"judged, and the cache shows it live still", given{lastRun("r", "now"), there(as)}, leave},
	} {
		t.Run(test.name, func(t *testing.T) {
			obs := observation{benchmark: bench(), hash: "now", now: begin0}
			for _, change := range test.given {
				change(&obs)
			}
			var found *v1alpha1.BenchmarkRun
			if ref := obs.benchmark.Status.ActiveRun; ref != nil && len(obs.runs) > 0 {
				found = &obs.runs[0]
			}
			obs.active = activeOf(obs.benchmark, found)
			if got := next(obs); got.do != test.want {
				t.Errorf("the decision is %s, want %s", got.do, test.want)
			}
			looksAtCandidate := test.want == await || test.want == refuse || test.want == intend || test.want == create
			if looksAtCandidate && !mayCreate(obs) {
				t.Error("the decision needs the candidate, which was not read")
			}
		})
	}
}
