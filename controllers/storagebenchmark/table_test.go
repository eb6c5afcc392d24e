package storagebenchmark

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

// TestTableOfStates checks the four conditions and the kstatus of each state, on objects from the API server.
// TestSequences covers the transitions.
func TestTableOfStates(t *testing.T) {
	const absent = "absent"
	type row struct {
		ready, reconciling, stalled, running, kstatus string
	}
	apply := func(b *bed) {
		b.put(claimNamed("data"))
		b.put(bench())
		b.operator(nil)
	}
	after := func(end func(*v1alpha1.BenchmarkRun, time.Time)) func(*bed) {
		return func(b *bed) {
			apply(b)
			b.ends(end)
		}
	}
	then := func(first, second func(*bed)) func(*bed) {
		return func(b *bed) {
			first(b)
			second(b)
		}
	}
	editing := func(change func(*v1alpha1.StorageBenchmark)) func(*bed) { return func(b *bed) { b.edit(change) } }
	waiting := func(b *bed) { b.live() }
	missing := func(timeout v1alpha1.Duration) func(*bed) {
		return func(b *bed) {
			b.put(benchWith(builders.Benchmark("bench").Target("data").Steady("write", "10s").StartTimeout(timeout)))
			b.operator(nil)
			b.until("a missing claim", func(benchmark *v1alpha1.StorageBenchmark) bool { return len(benchmark.Status.Conditions) > 0 })
		}
	}
	stalls := func(b *bed) {
		b.until("Stalled", func(benchmark *v1alpha1.StorageBenchmark) bool {
			return isTrue(benchmark.Status.Conditions, v1alpha1.ConditionStalled)
		})
	}
	for _, test := range []struct {
		name string
		live func(*bed)
		want row
	}{
		{"not seen yet", func(b *bed) { b.put(bench()) },
			row{absent, absent, absent, absent, "InProgress"}},
		{"just applied", then(apply, waiting),
			row{"Unknown/NotJudged", "True", absent, "True/RunLive", "InProgress"}},
		{"a reference is missing", missing("10m"),
			row{"Unknown/ClaimNotFound", "True", absent, "False/NoRun", "InProgress"}},
		{"a reference is missing for longer than startTimeout", then(missing("1s"), stalls),
			row{"Unknown/ClaimNotFound", "True", "True/ClaimNotFound", "False/NoRun", "Failed"}},
		{"a workload that cannot be run", func(b *bed) {
			b.put(claimNamed("data"))
			b.put(benchWith(builders.Benchmark("bench").Target("data").Steady("read", "10s").With(builders.Fio().Reads())))
			b.operator(nil)
			stalls(b)
		}, row{"False/InvalidWorkload", absent, "True/InvalidWorkload", "False/NoRun", "Failed"}},
		{"edited, and not seen by the operator", func(b *bed) {
			b.put(claimNamed("data"))
			b.put(bench())
			stop := b.operator(nil)
			b.ends(good)
			b.steady()
			stop()
			b.edit(clients(2))
		}, row{"True/Passed", absent, absent, "False/NoRun", "InProgress"}},
		{"edited, and nothing asks for a run of it", then(after(good), func(b *bed) {
			b.edit(onChange(false))
			b.steady()
			b.edit(clients(2))
			b.steady()
		}), row{"Unknown/NotJudged", "True", absent, "False/NoRun", "InProgress"}},
		{"good", after(good),
			row{"True/Passed", absent, absent, "False/NoRun", "Current"}},
		{"invalid", after(invalid),
			row{"False/RunInvalid", absent, "True/RunInvalid", "False/NoRun", "Failed"}},
		{"failed", after(failed),
			row{"False/StartTimeout", absent, "True/StartTimeout", "False/NoRun", "Failed"}},
		{"objective missed", func(b *bed) {
			b.put(claimNamed("data"))
			b.put(with(floor("200M")))
			b.operator(nil)
			b.ends(good)
		},
			row{"False/ObjectiveMissed", absent, "True/ObjectiveMissed", "False/NoRun", "Failed"}},
		{"objective added while suspended", then(then(after(good), editing(suspend(true))), editing(floor("200M"))),
			row{"False/ObjectiveMissed", absent, "True/ObjectiveMissed", "False/Suspended", "Failed"}},
		{"objective added, and the run is gone", then(after(good), func(b *bed) {
			for _, run := range b.runs() {
				if err := cluster.Delete(b.Context(), &run); err != nil {
					b.Fatal(err)
				}
			}
			b.edit(floor("100M"))
			stalls(b)
		}), row{"False/NotJudged", absent, "True/NotJudged", "False/NoRun", "Failed"}},
		{"regressed", then(after(good), func(b *bed) {
			b.remembers(150_000_000, 149_000_000, 151_000_000, 150_500_000, 149_500_000, 150_000_000)
			b.edit(compared)
			stalls(b)
		}), row{"False/Regressed", absent, "True/Regressed", "False/NoRun", "Failed"}},
		{"stopped by deleting the run", then(apply, func(b *bed) {
			if err := cluster.Delete(b.Context(), b.live()); err != nil {
				b.Fatal(err)
			}
			stalls(b)
		}), row{"False/Stopped", absent, "True/Stopped", "False/NoRun", "Failed"}},
		{"requested again after a good run", then(then(after(good), editing(request1("v1"))), waiting),
			row{"True/Passed", absent, absent, "True/RunLive", "Current"}},
		{"requested from Git after a failed run", then(then(after(failed), editing(manual("release-42"))), waiting),
			row{"False/StartTimeout", absent, "True/StartTimeout", "True/RunLive", "Failed"}},
		{"suspended after a good run", then(after(good), editing(suspend(true))),
			row{"True/Passed", absent, absent, "False/Suspended", "Current"}},
		{"suspended after a failed run", then(after(failed), editing(suspend(true))),
			row{"False/StartTimeout", absent, "True/StartTimeout", "False/Suspended", "Failed"}},
		{"suspended from the beginning", func(b *bed) {
			benchmark := bench()
			suspend(true)(benchmark)
			b.put(benchmark)
			b.operator(nil)
			b.until("a look at it", func(benchmark *v1alpha1.StorageBenchmark) bool { return len(benchmark.Status.Conditions) > 0 })
		}, row{"Unknown/Suspended", absent, absent, "False/Suspended", "InProgress"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			test.live(b)
			benchmark := b.benchmark()
			if test.want.ready != absent && !strings.Contains(test.name, "not seen by the operator") {
				benchmark = b.steady()
			}
			shown := func(kind string) string {
				found := find(benchmark.Status.Conditions, kind)
				if found == nil {
					return absent
				}
				if kind == v1alpha1.ConditionReconciling {
					return string(found.Status)
				}
				return fmt.Sprintf("%s/%s", found.Status, found.Reason)
			}
			got := row{shown(v1alpha1.ConditionReady), shown(v1alpha1.ConditionReconciling), shown(v1alpha1.ConditionStalled),
				shown(v1alpha1.ConditionRunning), b.kstatus()}
			b.checkGates(test.want.kstatus)
			if got != test.want {
				t.Errorf("the state is\n%+v, want\n%+v\n%s", got, test.want, stateLine(t, benchmark))
			}
		})
	}
}
