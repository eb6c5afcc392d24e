package report_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/golden"
)

// fileServer is the store of the demo. It delivers 65 MB/s with credits and 8 MB/s without. Credits refill at 4 MB/s.
type fileServer struct{ credits float64 }

const (
	serverBurst, serverBaseline, serverRefill = 65 * megabyte, 8 * megabyte, 4 * megabyte
	serverBucket                              = 1220 * megabyte
)

// load returns the report of the demo's only client, which keeps 32 operations of 1 MiB outstanding.
func (s *fileServer) load(seconds int, operation measure.Operation) *builders.ClientBuilder {
	one := builders.Client("share", 0)
	for second := range seconds {
		rate := float64(serverBaseline)
		switch {
		case operation == measure.Read:
			rate = 150 * megabyte
		case s.credits > 0:
			part := min(1, s.credits/(serverBurst-serverRefill))
			rate = serverBaseline*(1-part) + serverBurst*part
			s.credits -= (serverBurst - serverRefill) * part
		}
		rate *= 0.997 + 0.012*math.Sin(float64(second)*2.3)
		one.Sample(time.Second, operation, measure.Counter{Operations: uint64(rate / (1 << 20)), Bytes: uint64(rate)}, time.Duration(32*(1<<20)/rate*1e9))
	}
	return one
}

// demoPaper returns the run of `make demo`, from the same file.
func demoPaper(t testing.TB) paper {
	t.Helper()
	data, err := os.ReadFile("../../config/samples/fsx-windows-32-hdd-in-small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := admission.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	resolved, problems := plan.Resolve(&objects[0].Benchmark.Spec.Run, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	benchmark := builders.Benchmark("usual").Mutate(func(run *v1alpha1.RunSpec) { *run = *resolved })
	server := &fileServer{credits: serverBucket}
	return play(benchmark, func(step plan.Step) []result.Client {
		switch step.Phase {
		case "layout":
			return []result.Client{server.load(3, measure.Write).Obj()}
		case "burst":
			return concluded([]result.Client{server.load(77, measure.Write).Obj()})
		case "baseline":
			return []result.Client{server.load(15, measure.Write).Obj()}
		case "refill":
			server.credits += 45 * serverRefill
			return concluded([]result.Client{server.load(24, measure.Write).Obj()})
		}
		return []result.Client{server.load(10, measure.Read).Obj()}
	}, func(run *v1alpha1.BenchmarkRun) {
		burst, bucket, refill := int64(serverBurst), int64(serverBucket), int64(serverRefill)
		record.Storage(run, []v1alpha1.StorageDescription{{Target: "share", Limits: []v1alpha1.DocumentedLimit{{Name: "documented.throughput", Layer: "Disk", Dimension: "Bytes",
			Baseline: serverBaseline, Burst: &burst, Bucket: &bucket, Refill: &refill}}}})
	}, finished())
}

// aFigure matches a number with the unit of a rate, an amount or a time; anInterval, the interval of a figure; aChart,
// a chart with its labels.
var (
	aFigure    = regexp.MustCompile(`\d[\d,.]* ?(?:[kMGT]?B(?:/s)?|IOPS|ns|us|ms|s)\b`)
	anInterval = regexp.MustCompile(`\d\S* to \d\S*(?: [kMGT]?B(?:/s)?)?`)
	aChart     = regexp.MustCompile(`(?s)over time\n.*?\n\n`)
)

// TestDemo checks that the report of the demo fits on a screen and shows no figure twice, with or without a chart.
func TestDemo(t *testing.T) {
	document := demoPaper(t).document(t)
	short := text(t, document, report.TextOptions{Columns: 100})
	golden.File(t, filepath.Join("testdata", "demo.golden.txt"), short+"\n== in ASCII, with -v\n\n"+text(t, document, report.TextOptions{Columns: 80, ASCII: true, Verbose: true}))
	if lines := strings.Count(short, "\n"); lines > 40 {
		t.Errorf("%d lines, want at most 40", lines)
	}
	for name, written := range map[string]string{"with a chart": short, "without": text(t, document, report.TextOptions{})} {
		figures := aFigure.FindAllString(anInterval.ReplaceAllString(aChart.ReplaceAllString(written, "\n"), ""), -1)
		slices.Sort(figures)
		if len(slices.Compact(slices.Clone(figures))) != len(figures) || len(figures) < 20 {
			t.Errorf("%s: figures are there twice, or hardly any: %q", name, figures)
		}
	}
	for _, block := range []string{"burst", "baseline", "lasted", "spent", "refill"} {
		row := regexp.MustCompile(`(?m)^  \S+ +` + block + ` +\d.* to .*\d.* %$`)
		if !row.MatchString(short) {
			t.Errorf("%s has no line with its interval and its documented value", block)
		}
	}
}
