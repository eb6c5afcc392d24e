package result_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/golden"
)

const (
	mebibyte = 1 << 20
	ms       = time.Millisecond
)

// hundred is 100 operations of 1 MiB. At this many per second, two seconds are enough for a p95.
var hundred = builders.Counter(100, mebibyte)

// stepOf plans a benchmark with one target and returns its last step.
func stepOf(t *testing.T, benchmark *builders.BenchmarkBuilder) plan.Step {
	t.Helper()
	planned, problems := plan.Make(benchmark.Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return planned.Steps[len(planned.Steps)-1]
}

func writing() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("data").Workload(builders.Fio().BlockSize("1Mi")).Prepare("layout").Steady("write", "10s").WarmUp("2s")
}

func reading(fio *builders.FioBuilder) *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("data").Workload(fio).Prepare("layout").Steady("read", "10s")
}

func layingOut() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("data").Prepare("layout")
}

// writer returns a client that writes 100 MiB/s for ten seconds after its warm-up.
func writer(index int) *builders.ClientBuilder {
	return builders.Client("data", index).WarmUp(2, measure.Write, hundred).Does(10, measure.Write, hundred, 10*ms)
}

func objects(all ...*builders.ClientBuilder) []result.Client {
	var clients []result.Client
	for _, one := range all {
		clients = append(clients, one.Obj())
	}
	return clients
}

func TestTarget(t *testing.T) {
	for name, build := range targetCases {
		t.Run(name, func(t *testing.T) {
			test := build()
			got := result.Target(stepOf(t, test.benchmark), "data", test.clients, result.History{}, test.remarks...)
			for i, wanted := range test.warnings {
				if i >= len(got.Warnings) || got.Warnings[i].Type != wanted {
					t.Errorf("warning %d is not %s: %v", i, wanted, types(got.Warnings))
					break
				}
			}
			compared(t, name, got)
		})
	}
}

func types(warnings []v1alpha1.Warning) []v1alpha1.WarningType {
	var all []v1alpha1.WarningType
	for _, warning := range warnings {
		all = append(all, warning.Type)
	}
	return all
}

func compared(t *testing.T, name string, got any) {
	t.Helper()
	encoded, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, filepath.Join("testdata", name+".golden.json"), string(encoded)+"\n")
}

// TestFigures checks the figures of some cases against values computed by hand, because it is easy to accept a wrong
// golden file.
func TestFigures(t *testing.T) {
	const rate = 100 * mebibyte // per client
	for name, want := range map[string]struct {
		clients                        int32
		bytesPerSecond, iopsMilli      int64
		window, tail, measured, median time.Duration
	}{
		"time-bound":        {clients: 3, bytesPerSecond: 3 * rate, iopsMilli: 300_000, window: 10 * time.Second, measured: 30 * time.Second, median: 10 * ms},
		"time-bound-offset": {clients: 2, bytesPerSecond: 2 * rate, iopsMilli: 200_000, window: 9700 * ms, measured: 20 * time.Second, median: 10 * ms},
		// 18 client-seconds of work take 10 s, because one client is idle for the last two.
		"work-bound":              {clients: 2, bytesPerSecond: 18 * rate / 10, iopsMilli: 180_000, window: 10 * time.Second, tail: 2 * time.Second, measured: 18 * time.Second, median: 10 * ms},
		"work-bound-samples-lost": {clients: 1, bytesPerSecond: rate, iopsMilli: 100_000, window: 8 * time.Second, measured: 8 * time.Second, median: 10 * ms},
		"late-samples":            {clients: 2, bytesPerSecond: 2 * rate, iopsMilli: 200_000, window: 9750 * ms, measured: 19750 * ms, median: 10 * ms},
		"jittered-samples":        {clients: 1, bytesPerSecond: rate, iopsMilli: 100_000, window: 10 * time.Second, measured: 10 * time.Second, median: 10 * ms},
		"clock-set":               {clients: 1, bytesPerSecond: rate, iopsMilli: 100_000, window: 10 * time.Second, measured: 10 * time.Second, median: 10 * ms},
		"lost":                    {clients: 1, bytesPerSecond: rate, iopsMilli: 100_000, window: 10 * time.Second, measured: 10 * time.Second, median: 10 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			test := targetCases[name]()
			got := result.Target(stepOf(t, test.benchmark), "data", test.clients, result.History{})
			if got.Clients != want.clients || len(got.Operations) != 1 {
				t.Fatalf("%d clients, operations %v", got.Clients, got.Operations)
			}
			write := got.Operations[0]
			// At the ends of the window, bytes and operations are rounded down to whole numbers.
			near := func(what string, got, want, within int64) {
				t.Helper()
				if got < want-within || got > want+within {
					t.Errorf("%s is %d, not %d", what, got, want)
				}
			}
			near("bytesPerSecond", *write.BytesPerSecond, want.bytesPerSecond, want.bytesPerSecond/10_000)
			near("iopsMilli", *write.IOPSMilli, want.iopsMilli, 250)
			near("window", got.WindowNanoseconds, int64(want.window), int64(ms)/10)
			near("measured", got.MeasuredNanoseconds, int64(want.measured), int64(ms)/10)
			near("p50", *write.Latency.P50Nanoseconds, int64(want.median), int64(want.median)/60)
			if want.tail > 0 {
				near("tail", *got.TailNanoseconds, int64(want.tail), 0)
			}
		})
	}
}

func TestSyncs(t *testing.T) {
	for _, name := range []string{"fsync", "fsync-sampled"} {
		t.Run(name, func(t *testing.T) {
			test := targetCases[name]()
			got := result.Target(stepOf(t, test.benchmark), "data", test.clients, result.History{})
			index := slices.IndexFunc(got.Operations, func(o v1alpha1.OperationResult) bool { return o.Operation == v1alpha1.OperationSync })
			if index < 0 {
				t.Fatal("there is no Sync in the result")
			}
			sync := got.Operations[index]
			want := map[string]struct{ operations, iopsMilli int64 }{"fsync": {2000, 200_000}, "fsync-sampled": {500, 50_000}}[name]
			if sync.Operations != want.operations || sync.IOPSMilli == nil || *sync.IOPSMilli != want.iopsMilli {
				t.Errorf("operations %d, iopsMilli %v, want %v", sync.Operations, sync.IOPSMilli, want)
			}
			if sync.BytesPerSecond != nil || sync.Bytes != 0 {
				t.Errorf("a sync moved bytes: %v", sync)
			}
			if sync.Latency == nil || sync.Latency.MeanNanoseconds != int64(2*ms) {
				t.Errorf("latency %v", sync.Latency)
			}
		})
	}
}

// TestThousandClients checks that the result stays small and within the API's bounds, and lists disqualifying warnings
// first, even if a thousand clients have every possible problem, each with its own text.
func TestThousandClients(t *testing.T) {
	long := func(i int) string { return fmt.Sprintf("%d %0*d \u00e9\xff", i, 2000, i) }
	var clients []result.Client
	for i := range 1000 {
		client := writer(i).On(fmt.Sprintf("machine-%d", i/4)).CPU(19*time.Second, 10*time.Second, 2000)
		for _, kind := range v1alpha1.WarningTypes() {
			client.Notice(string(kind), long(i))
		}
		switch i % 4 {
		case 1:
			client.Failed("NoSpace", long(i))
		case 2:
			client.Lost(long(i))
		case 3:
			client.Stopped(long(i))
		}
		clients = append(clients, client.Obj())
	}
	got := result.Target(stepOf(t, writing().Clients(1000)), "data", clients, result.History{})
	encoded, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(encoded) > 32<<10 {
		t.Errorf("one target takes %d bytes", len(encoded))
	}
	if len(got.Warnings) != 32 {
		t.Errorf("%d warnings", len(got.Warnings))
	}
	worst := 0
	for _, warning := range got.Warnings {
		if length := len([]rune(warning.Message)); length > 512 || len(warning.Clients) > 16 {
			t.Errorf("%s: %d characters, %d clients", warning.Type, length, len(warning.Clients))
		}
		rank := slices.Index([]v1alpha1.Severity{v1alpha1.SeverityDisqualifying, v1alpha1.SeverityWarning, v1alpha1.SeverityInfo}, warning.Severity)
		if rank < worst {
			t.Errorf("%s (%s) comes after a lesser warning", warning.Type, warning.Severity)
		}
		worst = rank
	}
	for _, kind := range v1alpha1.WarningTypes() {
		if kind.Severity(v1alpha1.PhaseSteady) == v1alpha1.SeverityDisqualifying && !slices.Contains(types(got.Warnings), kind) {
			t.Errorf("%s was crowded out", kind)
		}
	}
}

// TestPercentilesOfAllClients checks that percentiles are computed over the operations of all clients and are not the
// means of the clients' percentiles.
func TestPercentilesOfAllClients(t *testing.T) {
	clients := objects(writer(0), builders.Client("data", 1).WarmUp(2, measure.Write, hundred).Does(10, measure.Write, hundred, 100*ms),
		writer(2))
	got := result.Target(stepOf(t, writing().Clients(3)), "data", clients, result.History{}).Operations[0].Latency
	for _, test := range []struct {
		name string
		got  *int64
		want time.Duration
	}{{"p50", got.P50Nanoseconds, 10 * ms}, {"p95", got.P95Nanoseconds, 100 * ms}} {
		if test.got == nil || *test.got < int64(test.want)*98/100 || *test.got > int64(test.want)*102/100 {
			t.Errorf("%s is not %s: %+v", test.name, test.want, got)
		}
	}
}

// TestYear2100 checks that rates are computed correctly for times in the year 2100.
func TestYear2100(t *testing.T) {
	planned, problems := plan.Make(builders.Benchmark("b").Target("data").Clients(2).Steady("write", "1m").Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	const later = 74 * 365 * 24 * time.Hour
	var clients []result.Client
	for index := range 2 {
		clients = append(clients, builders.Client("data", index).Later(later).Does(60, measure.Write, hundred, 10*ms).Obj())
	}
	made := result.Target(planned.Steps[0], "data", clients, result.History{})
	if len(made.Operations) != 1 || made.Operations[0].BytesPerSecond == nil || *made.Operations[0].BytesPerSecond != 200*mebibyte {
		t.Errorf("%+v, %v", made.Operations, made.Warnings)
	}
}
