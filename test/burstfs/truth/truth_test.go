package truth_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * 1e9)) }

// drained returns the record of a store that was loaded from 3.3 s to 40 s and from 80.6 s to 100 s.
func drained(t *testing.T, config model.Config) truth.Record {
	t.Helper()
	m, err := model.New(config)
	if err != nil {
		t.Fatal(err)
	}
	load := model.Load{Kind: model.Write, Bytes: 1 << 20, Depth: 32, FileBytes: 128 << 20}
	load.Run(m, 3300*time.Millisecond, 40*time.Second)
	load.Run(m, 80600*time.Millisecond, 100*time.Second)
	return truth.Record{Start: start, Seconds: m.Truth(0), Buckets: []string{"disk"}}
}

func within(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got/want-1) <= relative) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

var disk = model.Config{Buckets: []model.Bucket{{Name: "disk", Counts: model.CountsBytes, BaselinePerSecond: 8e6, BurstPerSecond: 65e6,
	RefillPerSecond: model.Pointer(4e6), Size: 1220e6}}}

func TestDrainAndRefill(t *testing.T) {
	r := drained(t, disk)
	first := r.Drain(disk, at(0), at(3.3), at(40))
	if first.Bucket != "disk" || first.Counts != model.CountsBytes {
		t.Fatalf("the bucket that was drained is %q of %s", first.Bucket, first.Counts)
	}
	within(t, "burst", first.Burst, 65e6, 0.005)
	within(t, "baseline", first.Baseline, 8e6, 0.01)
	within(t, "seconds", first.Seconds, 20, 0.005)
	within(t, "spent", first.Spent, 1220e6, 1e-6)

	pause, ok := r.LongestPause(at(40), at(100))
	if !ok {
		t.Fatal("there is no pause")
	}
	// The store took about 4 s to answer the requests that were in flight at 40 s.
	within(t, "the end of the pause", pause.To.Sub(start).Seconds(), 80.6, 1e-6)
	within(t, "its begin", pause.From.Sub(start).Seconds(), 40+32*1.048576/8, 0.005)
	within(t, "refill", r.Refill(disk, "disk", pause), 4e6, 1e-3)
	// The pause began without credits, so the second drain spends what came back in it.
	again := r.Drain(disk, pause.To, pause.To, at(100))
	if again.Bucket == "" {
		t.Fatal("found no second drain")
	}
	want := 4e6 * pause.Length().Seconds()
	within(t, "spent again", again.Spent, want, 0.01)
	within(t, "seconds again", again.Seconds, want/61e6, 0.01)

	// A span that ends before the credits run out has no drained bucket.
	if none := r.Drain(disk, at(0), at(3.3), at(15)); none.Bucket != "" || math.Abs(none.MeanBytes/65e6-1) > 0.005 {
		t.Errorf("before the end: %+v", none)
	}
	// Nor has a span that begins after they ran out.
	if none := r.Drain(disk, at(0), at(26), at(40)); none.Bucket != "" {
		t.Errorf("after the end: %+v", none)
	}
}

// TestDrainFromTheFirstSecondOn requires that the credits spent in the first second of a store count, although the
// record has no earlier second.
func TestDrainFromTheFirstSecondOn(t *testing.T) {
	m, err := model.New(disk)
	if err != nil {
		t.Fatal(err)
	}
	model.Load{Kind: model.Write, Bytes: 1 << 20, Depth: 32, FileBytes: 128 << 20}.Run(m, 100*time.Millisecond, 40*time.Second)
	r := truth.Record{Start: start, Seconds: m.Truth(0), Buckets: []string{"disk"}}
	within(t, "spent", r.Drain(disk, at(0.1), at(0.1), at(40)).Spent, 1220e6, 1e-6)
}

// TestTheRecordCountsNotTheConfiguration requires that the figures of a store that is slower than its configuration
// come from the record. A long latency makes the store slow.
func TestTheRecordCountsNotTheConfiguration(t *testing.T) {
	slow := disk
	slow.Latency = model.Latency{Floor: 800 * time.Millisecond} // 32 requests of 1 MiB in 0.8 s: 42 MB/s
	drain := drained(t, slow).Drain(slow, at(0), at(3.3), at(40))
	within(t, "burst", drain.Burst, 32*1.048576e6/0.8, 0.02)
	within(t, "seconds", drain.Seconds, 1220/(32*1.048576/0.8-4), 0.05)
}

func TestCompare(t *testing.T) {
	r := drained(t, disk)
	sums := r.Between(at(0), at(100))
	estimate := func(value int64) *v1alpha1.Estimate { return &v1alpha1.Estimate{Value: value} }
	run := v1alpha1.BenchmarkRunStatus{
		Phases: []v1alpha1.PhaseResult{{
			Name: "burst", Kind: v1alpha1.PhaseBurstDrain,
			Targets: []v1alpha1.TargetResult{{Burst: &v1alpha1.BurstResult{Exhausted: true, NanosecondsToBaseline: estimate(22e9),
				Bytes: &v1alpha1.BurstSeries{Burst: estimate(65e6), Drops: []v1alpha1.Drop{{Spent: estimate(1281e6)}}},
			}}},
		}},
		Steps: []v1alpha1.StepStatus{{
			ID: "00-burst", State: v1alpha1.StepSucceeded, FirstIOTime: micro(3.3), MeasuredTime: micro(3.3), PlannedEndTime: micro(60),
			ConcludedTime: micro(40), LastIOTime: micro(44), IO: []v1alpha1.StepIO{{Bytes: int64(sums.WriteBytes)}},
		}},
	}
	off := map[string]float64{}
	for _, row := range truth.Compare(r, disk, run) {
		off[row.Figure] = math.Round(row.OffPercent())
		if wrong := slices.Contains([]string{"time to baseline", "baseline", "spent"}, row.Figure); row.Outside() != wrong {
			t.Errorf("%s: %g of %s: outside %t", row.Figure, row.Ours, row.Bounds, row.Outside())
		}
		if row.Figure == "baseline" && (!row.Off(1e9) || row.Parameter != 8e6) {
			t.Errorf("missing figure: %+v", row)
		}
	}
	delete(off, "baseline") // NaN is never equal
	if want := map[string]float64{"exhausted": 0, "burst": 0, "time to baseline": 10, "spent": 5, "read and written": 0}; !reflect.DeepEqual(off, want) {
		t.Errorf("off by %v percent, want %v", off, want)
	}
	if table := truth.Table(truth.Compare(r, disk, run)); !strings.Contains(table, "missing") || !strings.Contains(table, "65.00 MB/s") {
		t.Error(table)
	}
}

func micro(seconds float64) *metav1.MicroTime { m := metav1.NewMicroTime(at(seconds)); return &m }

// TestRead requires that reading the CSV of a mounted store returns the store's record.
func TestRead(t *testing.T) {
	f := burstfs.Mount(t, disk, "")
	file := filepath.Join(f.Path(), "file")
	for range 3 {
		if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(400 * time.Millisecond)
	}
	time.Sleep(time.Until(f.Start().Add(3100 * time.Millisecond)))
	var text bytes.Buffer
	csv, err := burstfs.NewTruthWriter(&text, f.Config())
	if err == nil {
		err = csv.Write(f.FS)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := truth.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	want := truth.Of(f.FS)
	if d := got.Start.Sub(want.Start).Abs(); d > time.Microsecond || len(got.Seconds) < 3 || !reflect.DeepEqual(got.Buckets, want.Buckets) {
		t.Fatalf("begins %s off, %d seconds, buckets %q", d, len(got.Seconds), got.Buckets)
	}
	pauses := 0
	for i, s := range got.Seconds {
		w := want.Seconds[i]
		if s.Pause.Length() > 0 {
			pauses++
		}
		if (s.Pause.From-w.Pause.From).Abs() > 2*time.Microsecond || (s.Pause.To-w.Pause.To).Abs() > 2*time.Microsecond ||
			math.Abs(s.Credits[0]-w.Credits[0]) > 1 || math.Abs(s.Busy-w.Busy) > 1e-4 || math.Abs(s.Loaded-w.Loaded) > 1e-4 {
			t.Errorf("second %d: %+v, want %+v", i, s, w)
		}
		s.Pause, s.Credits, s.Busy, s.Loaded, s.TenantShare = w.Pause, w.Credits, w.Busy, w.Loaded, w.TenantShare
		if !reflect.DeepEqual(s, w) {
			t.Errorf("second %d: %+v, want %+v", i, s, w)
		}
	}
	if pauses == 0 {
		t.Error("there was no pause")
	}
	if _, err := truth.Read(strings.NewReader("seconds,unix_seconds\n0,1\n")); err == nil || !strings.Contains(err.Error(), "no column") {
		t.Errorf("reading another CSV: %v", err)
	}
}

// TestOfIncludesTheCurrentSecond requires that the record includes what was written in the second in which it is read.
func TestOfIncludesTheCurrentSecond(t *testing.T) {
	f := burstfs.Mount(t, disk, "")
	for i := range 2 {
		if err := os.WriteFile(filepath.Join(f.Path(), strconv.Itoa(i)), make([]byte, 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		record := truth.Of(f.FS)
		if got := record.Between(record.Start, time.Now().Add(time.Hour)).WriteBytes; got != float64(i+1)*4096 {
			t.Errorf("after %d files of 4,096 bytes, the record has %.0f bytes", i+1, got)
		}
	}
}

// TestBetween requires that a span which begins or ends within a second contains the I/O of its loaded time, not a
// share of the second in proportion to the span's length.
func TestBetween(t *testing.T) {
	m, err := model.New(model.Config{Buckets: []model.Bucket{{Name: "disk", Counts: model.CountsBytes, BaselinePerSecond: 100e6}}})
	if err != nil {
		t.Fatal(err)
	}
	load := model.Load{Kind: model.Write, Bytes: 1e5, Depth: 4}
	for _, span := range [][2]time.Duration{{1700, 4300}, {6200, 6900}, {9500, 12200}} { // milliseconds
		load.Run(m, span[0]*time.Millisecond, span[1]*time.Millisecond)
	}
	m.Advance(20 * time.Second)
	r := truth.Record{Start: start, Seconds: m.Truth(0), Buckets: []string{"disk"}}
	for _, test := range []struct{ from, to, want float64 }{
		{1.7, 4.3, 260e6}, {0, 5, 260e6}, {1.9, 4.1, 220e6}, {6.3, 6.8, 50e6}, {6, 7, 70e6}, {4.5, 6, 0}, {9.6, 12.1, 250e6}, {10, 20, 220e6},
	} {
		if got := r.Between(at(test.from), at(test.to)).WriteBytes; math.Abs(got-test.want) > 2e6 {
			t.Errorf("from %g to %g s there are %.1f MB, want %.1f", test.from, test.to, got/1e6, test.want/1e6)
		}
	}
}

// TestBetweenLoadsOfOneSecond requires that Between separates two loads with a pause between them that begins and ends
// within one second: a few writes before the pause, and many reads after it.
func TestBetweenLoadsOfOneSecond(t *testing.T) {
	m, err := model.New(disk)
	if err != nil {
		t.Fatal(err)
	}
	little := model.Load{Kind: model.Write, Bytes: 64 << 10, Depth: 1, FileBytes: 1 << 20}
	little.Run(m, 0, 10*time.Millisecond)
	much := model.Load{Kind: model.Read, Bytes: 1 << 20, Depth: 32, FileBytes: 128 << 20}
	much.Run(m, 600*time.Millisecond, 2*time.Second)
	m.Advance(4 * time.Second)
	r := truth.Record{Start: start, Seconds: m.Truth(0), Buckets: []string{"disk"}}
	all := r.Between(at(0), at(4))
	first, second := r.Between(at(0), at(0.3)), r.Between(at(0.3), at(4))
	if all.WriteBytes == 0 || all.ReadBytes == 0 || first.WriteBytes != all.WriteBytes || second.ReadBytes != all.ReadBytes ||
		first.ReadBytes != 0 || second.WriteBytes != 0 {
		t.Errorf("all %+v, the first load %+v, the second %+v", all, first, second)
	}
	if len(r.Seconds) == 0 || r.Seconds[0].BeforePause.WriteBytes == 0 {
		t.Errorf("the second has nothing before its pause: %+v", r.Seconds)
	}
}
