package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/golden"
)

// fioJob is a fio run. testdata/fio holds its recorded json+ output.
type fioJob struct {
	name string
	args []string
}

func fioJobs() []fioJob {
	jobs := []fioJob{
		{"null-group", []string{"--ioengine=null", "--size=1G", "--rw=randrw", "--bs=4k",
			"--number_ios=20000", "--group_reporting", "--numjobs=4"}},
		{"unified-both", []string{"--ioengine=null", "--size=1G", "--rw=randrw", "--bs=4k",
			"--number_ios=20000", "--group_reporting", "--numjobs=4", "--unified_rw_reporting=both"}},
		{"fsync", []string{"--ioengine=psync", "--directory=.", "--size=4M", "--rw=randwrite", "--bs=4k",
			"--number_ios=1000", "--fsync=16", "--group_reporting", "--numjobs=2"}},
		{"libaio-file", []string{"--ioengine=libaio", "--directory=.", "--iodepth=8", "--size=16M", "--rw=randrw",
			"--bs=16k", "--rwmixread=70", "--group_reporting", "--numjobs=2"}},
		{"ties", []string{"--ioengine=null", "--size=1G", "--rw=read", "--bs=4k", "--number_ios=1000",
			"--percentile_list=0.1:0.7:1:12.3:33.333333:50:57.14:66.7:75:90:95:99:99.5:99.9:99.95:99.99:99.999:99.9999:100"}},
	}
	for client := range numFioClients {
		jobs = append(jobs, fioJob{fmt.Sprintf("client-%d", client), []string{"--ioengine=psync", "--directory=.",
			"--size=16M", "--rw=randrw", "--bs=8k", "--number_ios=1000", "--numjobs=4", "--group_reporting",
			"--randseed=" + strconv.Itoa(client)}})
	}
	return jobs
}

const numFioClients = 4

// realOutputs caches the output of real fio runs by job name, so that each job runs only once.
var realOutputs = map[string][]byte{}

// runFio returns the json+ output of a real run. It skips the test if fio is not installed.
func runFio(t *testing.T, job fioJob) []byte {
	t.Helper()
	if output, done := realOutputs[job.name]; done {
		return output
	}
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("fio is not installed; its recorded outputs are tested all the same")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := append([]string{"--output-format=json+", "--eta=never", "--slat_percentiles=1", "--clat_percentiles=1",
		"--lat_percentiles=1", "--name=" + job.name}, job.args...)
	command := exec.CommandContext(ctx, fio, args...)
	command.Dir = t.TempDir()
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("fio %v: %v\n%s", args, err, stderr.Bytes())
	}
	if *golden.Update {
		writeGolden(t, filepath.Join("fio", job.name+".json"), output)
	}
	realOutputs[job.name] = output
	return output
}

func writeGolden(t *testing.T, name string, content []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func recordedFio(t *testing.T, job fioJob) []byte {
	t.Helper()
	output, err := os.ReadFile(filepath.Join("testdata", "fio", job.name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v: run the tests with -update where fio is installed", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// fioLatency holds one kind of latency in one direction, as in json+.
type fioLatency struct {
	Min        uint64            `json:"min"`
	Max        uint64            `json:"max"`
	Mean       float64           `json:"mean"`
	N          uint64            `json:"N"`
	Percentile map[string]uint64 `json:"percentile"`
	Bins       map[string]uint64 `json:"bins"`
}

// fioLatencies returns the latencies that have bins, by direction and kind. The output must have a single job.
func fioLatencies(t *testing.T, output []byte) map[string]map[string]fioLatency {
	t.Helper()
	var document struct {
		Jobs []map[string]json.RawMessage `json:"jobs"`
	}
	if err := json.Unmarshal(output, &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Jobs) != 1 {
		t.Fatalf("%d jobs, want 1", len(document.Jobs))
	}
	all := map[string]map[string]fioLatency{}
	for _, direction := range []string{"read", "write", "trim", "sync", "mixed"} {
		raw, found := document.Jobs[0][direction]
		if !found {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			t.Fatal(err)
		}
		all[direction] = map[string]fioLatency{}
		for _, kind := range []string{"slat_ns", "clat_ns", "lat_ns"} {
			var latency fioLatency
			if fields[kind] == nil {
				continue
			}
			if err := json.Unmarshal(fields[kind], &latency); err != nil {
				t.Fatal(err)
			}
			if len(latency.Bins) > 0 {
				all[direction][kind] = latency
			}
		}
	}
	return all
}

func (l fioLatency) latency(t *testing.T) Latency {
	t.Helper()
	text, err := json.Marshal(l.Bins)
	if err != nil {
		t.Fatal(err)
	}
	var histogram Histogram
	if err := json.Unmarshal(text, &histogram); err != nil {
		t.Fatal(err)
	}
	latency, err := LatencyFromMean(histogram, l.N, l.Mean, l.Min, l.Max)
	if err != nil {
		t.Fatal(err)
	}
	return latency
}

// TestPercentilesEqualFio checks every percentile that fio printed, in new and in recorded runs, to the nanosecond.
func TestPercentilesEqualFio(t *testing.T) {
	for _, job := range fioJobs() {
		t.Run(job.name+"/real", func(t *testing.T) { checkPercentiles(t, runFio(t, job)) })
		t.Run(job.name+"/recorded", func(t *testing.T) { checkPercentiles(t, recordedFio(t, job)) })
	}
}

func checkPercentiles(t *testing.T, output []byte) {
	t.Helper()
	checked := 0
	for direction, kinds := range fioLatencies(t, output) {
		for kind, theirs := range kinds {
			ours := theirs.latency(t)
			if ours.Histogram.Count() != theirs.N {
				t.Errorf("%s %s: bins count %d, fio's N is %d", direction, kind, ours.Histogram.Count(), theirs.N)
			}
			if mean := ours.MeanNanoseconds(); math.Abs(float64(mean)-theirs.Mean) > 0.500001 {
				t.Errorf("%s %s: mean %d, fio's is %v", direction, kind, mean, theirs.Mean)
			}
			for text, want := range theirs.Percentile {
				p, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Fatal(err)
				}
				if got, ok := ours.Histogram.PercentileUnchecked(p); !ok || got != want {
					t.Errorf("%s %s: p%s = %d ns, fio says %d ns", direction, kind, text, got, want)
				}
				checked++
			}
			checkLatencyRoundTrip(t, ours)
		}
	}
	if checked < 17 {
		t.Errorf("only %d percentiles were compared", checked)
	}
}

// TestMergeEqualsFioOwnSum checks Merge against a sum by fio: with unified_rw_reporting=both, fio prints reads, writes,
// and both together.
func TestMergeEqualsFioOwnSum(t *testing.T) {
	for _, job := range fioJobs() {
		if job.name != "unified-both" {
			continue
		}
		t.Run("real", func(t *testing.T) { checkOwnSum(t, runFio(t, job)) })
		t.Run("recorded", func(t *testing.T) { checkOwnSum(t, recordedFio(t, job)) })
	}
}

func checkOwnSum(t *testing.T, output []byte) {
	t.Helper()
	all := fioLatencies(t, output)
	kinds := 0
	for kind, theirs := range all["mixed"] {
		kinds++
		var sum Latency
		for _, direction := range []string{"write", "read"} {
			part := all[direction][kind].latency(t)
			sum.Merge(&part)
		}
		if sum.Count != theirs.N || sum.MinNanoseconds != theirs.Min || sum.MaxNanoseconds != theirs.Max {
			t.Errorf("%s: N %d, min %d, max %d; fio's sum has %d, %d, %d", kind,
				sum.Count, sum.MinNanoseconds, sum.MaxNanoseconds, theirs.N, theirs.Min, theirs.Max)
		}
		if mean := sum.MeanNanoseconds(); math.Abs(float64(mean)-theirs.Mean) > 0.501 {
			t.Errorf("%s: mean %d, fio's sum has %v", kind, mean, theirs.Mean)
		}
		for key, n := range sum.Histogram.Bins() {
			if theirs.Bins[strconv.FormatUint(key, 10)] != n {
				t.Errorf("%s: bin %d has %d, fio's sum has %d", kind, key, n, theirs.Bins[strconv.FormatUint(key, 10)])
			}
		}
		for text, want := range theirs.Percentile {
			p, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := sum.Histogram.PercentileUnchecked(p); got != want {
				t.Errorf("%s: p%s = %d ns, fio says %d ns", kind, text, got, want)
			}
		}
	}
	if kinds < 2 {
		t.Errorf("fio summed only %d latency types", kinds)
	}
}
