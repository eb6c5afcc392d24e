package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/golden"
)

// rawJob is the part of fio's JSON that the test reads without the project's own decoder.
type rawJob struct {
	Jobs []map[string]json.RawMessage `json:"jobs"`
}

type rawOperation struct {
	Bytes      uint64     `json:"io_bytes"`
	Operations uint64     `json:"total_ios"`
	Latency    rawLatency `json:"lat_ns"`
}

type rawLatency struct {
	Max  uint64            `json:"max"`
	N    uint64            `json:"N"`
	Bins map[string]uint64 `json:"bins"`
}

// TestMergeIsTheSum checks the merged output of four clients of real fio against sums that the test computes itself.
func TestMergeIsTheSum(t *testing.T) {
	directory := t.TempDir()
	var names []string
	sums := map[string]*rawOperation{"read": {}, "write": {}}
	for client := range 4 {
		name := filepath.Join(directory, fmt.Sprintf("client-%d.json", client))
		output, err := exec.Command("fio", "--output-format=json+", "--eta=never", "--lat_percentiles=1", "--group_reporting",
			"--name=job", "--ioengine=null", "--size=1g", "--rw=randrw", "--bs=4k", "--numjobs=2", "--runtime=300ms", "--time_based",
			"--randseed="+strconv.Itoa(client+1)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, output, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		addRaw(t, output, sums)
	}
	var merged map[string]json.RawMessage
	got := call("", append([]string{"merge", "-o", "json"}, names...)...)
	if err := json.Unmarshal([]byte(got.stdout), &merged); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if string(merged["latencyType"]) != `"lat"` || string(merged["schemaVersion"]) != "1" {
		t.Errorf("latencyType %s, schemaVersion %s", merged["latencyType"], merged["schemaVersion"])
	}
	for direction, sum := range sums {
		var operation struct {
			Bytes, Operations uint64
			Latency           map[string]*uint64
		}
		if err := json.Unmarshal(merged[direction], &operation); err != nil {
			t.Fatal(err)
		}
		if operation.Bytes != sum.Bytes || operation.Operations != sum.Operations || sum.Bytes == 0 {
			t.Errorf("%s: %d bytes in %d operations, the sum is %d in %d", direction, operation.Bytes, operation.Operations, sum.Bytes, sum.Operations)
		}
		if maximum := operation.Latency["maxNanoseconds"]; maximum == nil || *maximum != sum.Latency.Max {
			t.Errorf("%s: the maximum is %v, not %d", direction, maximum, sum.Latency.Max)
		}
		for name, rank := range map[string]string{"p50": "50", "p95": "95", "p99": "99", "p999": "99.9", "p9999": "99.99"} {
			value, want := operation.Latency[name+"Nanoseconds"], percentile(sum.Latency.Bins, rank)
			if value == nil || *value != want {
				t.Errorf("%s: %s is %v, not %d", direction, name, value, want)
			}
		}
	}
}

func addRaw(t *testing.T, output []byte, sums map[string]*rawOperation) {
	t.Helper()
	var raw rawJob
	if err := json.Unmarshal(output, &raw); err != nil {
		t.Fatal(err)
	}
	for direction, sum := range sums {
		var one rawOperation
		if err := json.Unmarshal(raw.Jobs[0][direction], &one); err != nil {
			t.Fatal(err)
		}
		sum.Bytes += one.Bytes
		sum.Operations += one.Operations
		sum.Latency.Max = max(sum.Latency.Max, one.Latency.Max)
		if sum.Latency.Bins == nil {
			sum.Latency.Bins = map[string]uint64{}
		}
		for key, count := range one.Latency.Bins {
			sum.Latency.Bins[key] += count
		}
	}
}

// percentile returns the smallest bin at or below which the given percentage of the samples lies. It uses exact
// arithmetic.
func percentile(bins map[string]uint64, rank string) uint64 {
	var keys []uint64
	total := new(big.Rat)
	counts := map[uint64]uint64{}
	for key, count := range maps.All(bins) {
		nanoseconds, _ := strconv.ParseUint(key, 10, 64)
		keys = append(keys, nanoseconds)
		counts[nanoseconds] = count
		total.Add(total, new(big.Rat).SetUint64(count))
	}
	slices.Sort(keys)
	share, _ := new(big.Rat).SetString(rank)
	wanted := share.Mul(share, total).Quo(share, big.NewRat(100, 1))
	seen := new(big.Rat)
	for _, key := range keys {
		if seen.Add(seen, new(big.Rat).SetUint64(counts[key])); seen.Cmp(wanted) >= 0 {
			return key
		}
	}
	return 0
}

// TestMergeNeverMixes checks that merge rejects files with different types of latency, and an invalid file among valid
// ones.
func TestMergeNeverMixes(t *testing.T) {
	const runs = "../engine/fio/testdata/runs/"
	for name, files := range map[string][]string{
		"one failed":    {runs + "mixed-four-jobs.stdout", runs + "enospc.stdout"},
		"one truncated": {runs + "mixed-four-jobs.stdout", runs + "truncated.stdout"},
		"one missing":   {runs + "mixed-four-jobs.stdout", runs + "missing.stdout"},
	} {
		if got := call("", append([]string{"merge"}, files...)...); got.code != 1 || got.stdout != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	golden.Check(t, "merge-clat-and-lat", call("", "merge", runs+"mixed-four-jobs.stdout", runs+"no-lat-bins.stdout").String())
}

// TestMergeOfAJoinedFile checks that merge does not silently drop results if one file contains several runs. They look
// like the status dumps of one run.
func TestMergeOfAJoinedFile(t *testing.T) {
	text, err := os.ReadFile("../engine/fio/testdata/runs/write.stdout")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"merge", "-"}, {"parse", "fio", "-"}} {
		for joined, want := range map[int]bool{1: false, 2: true} {
			got := call(strings.Repeat(string(text), joined), command...)
			if got.code != 0 || strings.Contains(got.stdout, "SeveralDocuments: only the last of 2 ") != want {
				t.Errorf("%v of %d documents: %s", command, joined, got)
			}
		}
	}
}
