package measure

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/golden"
)

// csvTool comes with fio. It accumulates the bins of json+ output and prints the percentile of each bin.
const csvTool = "fio_jsonplus_clat2csv"

// TestMergeAgreesWithFioTool adds up the bins of four clients twice: with Merge, and as plain numbers in a json+
// document for fio's own tool. The percentiles from the tool's cumulative counts must equal ours to the nanosecond.
func TestMergeAgreesWithFioTool(t *testing.T) {
	t.Run("real", func(t *testing.T) {
		checkWithTool(t, func(job fioJob) []byte { return runFio(t, job) })
	})
	t.Run("recorded", func(t *testing.T) {
		checkWithTool(t, func(job fioJob) []byte { return recordedFio(t, job) })
	})
	// Without the tool, compare with its recorded output.
	t.Run("recorded csv", func(t *testing.T) {
		sums, _ := sumClients(t, func(job fioJob) []byte { return recordedFio(t, job) })
		compareWithCSV(t, sums, filepath.Join("testdata", "fio", recordedCSV))
	})
}

const recordedCSV = "clients_job0.csv"

func checkWithTool(t *testing.T, output func(fioJob) []byte) {
	t.Helper()
	sums, document := sumClients(t, output)
	tool, err := exec.LookPath(csvTool)
	if err != nil {
		if _, noFio := exec.LookPath("fio"); noFio == nil {
			t.Fatalf("fio is installed but its tool is not: %v", err)
		}
		t.Skip("fio is not installed; what its tool made of the recorded outputs is tested all the same")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "sum.json")
	if err := os.WriteFile(source, document, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, tool, source, filepath.Join(dir, "clients.csv")).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", tool, err, out)
	}
	made := filepath.Join(dir, recordedCSV)
	if *golden.Update && strings.HasSuffix(t.Name(), "/recorded") {
		content, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		writeGolden(t, filepath.Join("fio", recordedCSV), content)
	}
	compareWithCSV(t, sums, made)
}

// sumClients returns the sums by Merge under the tool's column names, such as "read_lat_ns", and a json+ document with
// the bins added up as plain numbers.
func sumClients(t *testing.T, output func(fioJob) []byte) (map[string]*Histogram, []byte) {
	t.Helper()
	ours := map[string]*Histogram{}
	theirs := map[string]map[string]map[string]map[string]uint64{}
	clients := 0
	for _, job := range fioJobs() {
		if !strings.HasPrefix(job.name, "client-") {
			continue
		}
		clients++
		for direction, kinds := range fioLatencies(t, output(job)) {
			for kind, latency := range kinds {
				one := latency.latency(t)
				name := direction + "_" + kind
				if ours[name] == nil {
					ours[name] = new(Histogram)
				}
				ours[name].Merge(&one.Histogram)
				if theirs[direction] == nil {
					theirs[direction] = map[string]map[string]map[string]uint64{}
				}
				if theirs[direction][kind] == nil {
					theirs[direction][kind] = map[string]map[string]uint64{"bins": {}}
				}
				for key, n := range latency.Bins {
					theirs[direction][kind]["bins"][key] += n
				}
			}
		}
	}
	if clients != numFioClients || ours["read_lat_ns"] == nil || ours["write_lat_ns"] == nil {
		t.Fatalf("%d clients with latencies %v", clients, ours)
	}
	for _, direction := range []string{"read", "write", "trim"} { // the tool expects all three
		if theirs[direction] == nil {
			theirs[direction] = map[string]map[string]map[string]uint64{}
		}
	}
	document, err := json.Marshal(map[string]any{"jobs": []any{theirs}})
	if err != nil {
		t.Fatal(err)
	}
	return ours, document
}

func compareWithCSV(t *testing.T, sums map[string]*Histogram, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.TrimLeadingSpace = true
	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for name, sum := range sums {
		column := slices.Index(rows[0], name+"_cumulative")
		if column < 0 {
			t.Fatalf("%s: no column in %v", name, rows[0])
		}
		var keys, cumulative []uint64
		for _, row := range rows[1:] {
			if row[column] == "" {
				continue
			}
			keys = append(keys, number(t, row[0]))
			cumulative = append(cumulative, number(t, row[column]))
		}
		if len(cumulative) == 0 || cumulative[len(cumulative)-1] != sum.Count() {
			t.Fatalf("%s: the tool counts %v, we count %d", name, cumulative, sum.Count())
		}
		for _, p := range []float64{0.1, 1, 5, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 100} {
			want := keys[slices.IndexFunc(cumulative, func(n uint64) bool { return reaches(n, p, sum.Count()) })]
			if got, ok := sum.PercentileUnchecked(p); !ok || got != want {
				t.Errorf("%s: p%v = %d ns, by the tool %d ns", name, p, got, want)
			}
		}
	}
}

// reaches reports whether n is at least p percent of total. It uses exact arithmetic.
func reaches(n uint64, p float64, total uint64) bool {
	part := new(big.Rat).SetFrac(new(big.Int).SetUint64(n), new(big.Int).SetUint64(total))
	share := new(big.Rat).SetFloat64(p)
	return part.Cmp(share.Quo(share, big.NewRat(100, 1))) >= 0
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	value, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil {
		t.Fatal(fmt.Errorf("the tool's table: %w", err))
	}
	return value
}
