package sim_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/sim"
)

// plain returns a store with a single limit, in bytes per second.
func plain(bytesPerSecond float64) model.Config {
	return model.Config{Buckets: []model.Bucket{bytes("volume", bytesPerSecond, 0, 0, 0)}, Latency: model.Latency{Fixed: 2 * time.Millisecond}}
}

// worldOf returns a world with several targets, each with its own store.
func worldOf(t *testing.T, benchmark *builders.BenchmarkBuilder, targets []string, configs map[string]model.Config) *sim.World {
	t.Helper()
	stores := map[string]*sim.Store{}
	for _, name := range targets {
		benchmark.Target(name)
		store, err := sim.NewStore(configs[name], 1)
		must(t, err)
		stores[name] = store
	}
	w, err := sim.NewWorld(benchmark, stores)
	must(t, err)
	t.Cleanup(w.Close)
	return w
}

// TestComparison compares targets whose stores differ by 50 % or not at all. The differences and verdicts must match
// the stores' limits.
func TestComparison(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := builders.Benchmark("b").Workload(load(random, 0, "64Ki", 8).Dataset("16Mi")).Prepare("layout").Steady("write", "5m").Sequential()
		w := worldOf(t, b, []string{"first", "faster", "same"}, map[string]model.Config{"first": plain(40e6), "faster": plain(60e6), "same": plain(40e6)})
		run := conduct(t, w)
		complete(t, run)
		wanted := map[string]struct {
			permille int64
			verdict  v1alpha1.FigureVerdict
		}{"faster": {500, v1alpha1.FigureTargetBetter}, "same": {0, v1alpha1.FigureNoDifference}}
		for _, got := range run.Status.Phases[1].Comparisons {
			want, known := wanted[got.Target]
			if !known || got.Baseline != "first" || len(got.Figures) == 0 {
				t.Fatalf("compared are %+v", got)
			}
			delete(wanted, got.Target)
			throughput := got.Figures[0]
			if off := throughput.DifferencePermille - want.permille; throughput.Figure != v1alpha1.FigureThroughput || off < -5 || off > 5 || throughput.Verdict != want.verdict {
				t.Errorf("%s differs by %d permille (%s), and its store by %d (%s)", got.Target, throughput.DifferencePermille, throughput.Verdict, want.permille, want.verdict)
			}
		}
		if len(wanted) > 0 {
			t.Errorf("not compared: %v", wanted)
		}
	})
}

// TestObjectives checks that an objective below the store's rate is met and one above it is missed, and that the
// observed figure is the store's rate.
func TestObjectives(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := usual().Objectives(
			v1alpha1.Objective{Name: "reached", Phase: "write", Throughput: &v1alpha1.QuantityBounds{Min: quantity("39M")}},
			v1alpha1.Objective{Name: "missed", Phase: "write", Throughput: &v1alpha1.QuantityBounds{Min: quantity("41M")}})
		w := world(t, b, even(), 1)
		run := conduct(t, w)
		complete(t, run)
		verdicts := map[string]v1alpha1.Verdict{"reached": v1alpha1.VerdictMet, "missed": v1alpha1.VerdictMissed}
		if len(run.Status.Objectives) != len(verdicts) {
			t.Fatalf("objectives %+v", run.Status.Objectives)
		}
		for _, got := range run.Status.Objectives {
			if got.Verdict != verdicts[got.Name] || got.Observed == nil || *got.Observed < 39_800_000 || *got.Observed > 40_200_000 {
				t.Errorf("%s is %s by %+v, and the store gives 40 MB/s", got.Name, got.Verdict, got.Observed)
			}
		}
	})
}

func quantity(text string) *resource.Quantity {
	made := resource.MustParse(text)
	return &made
}

const (
	// toolsApart is the delay of the second client's simulated fio before its first I/O, relative to the first client's.
	toolsApart = 20 * time.Millisecond
	// driftApart is the difference that a drift of 200 ppm between two clocks causes in the minute between two comparisons
	// of the clocks and until the start.
	driftApart = 13 * time.Millisecond
)

// TestDrift checks that two clients whose clocks drift apart by 8.6 s in twelve hours still start together, and that
// their figures match the store's record.
func TestDrift(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := usual().Cooldown("pause", "12h").Steady("late", "5m")
		w := world(t, b, even(), 1)
		run := conduct(t, w)
		complete(t, run)
		begunOnce(t, w)
		last := run.Status.Phases[len(run.Status.Phases)-1].Targets[0]
		if apart := last.StartSkewNanoseconds; apart == nil {
			t.Error("the skew of the start is unknown")
		} else if *apart > int64(toolsApart+driftApart) {
			t.Errorf("the clients began %d ns apart, their tools %s", *apart, toolsApart)
		}
		against(t, w.House.Record("store"), even(), run)
	})
}
