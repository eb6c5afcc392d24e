package fio

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/measure"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	document, err := Decode(lastDocument(t, "sync-writes"))
	if err != nil {
		t.Fatal(err)
	}
	if document.Version != "fio-3.33" || document.TimestampMilliseconds < 1_700_000_000_000 || document.ClientServer || document.Racy != nil {
		t.Errorf("%+v", document)
	}
	if len(document.Jobs) != 1 || document.Jobs[0].Name != "job" || document.Jobs[0].Errno != 0 {
		t.Fatalf("%+v", document.Jobs)
	}
	writes, syncs := &document.Jobs[0].Operations[measure.Write], &document.Jobs[0].Operations[measure.Sync]
	if writes.Bytes != writes.Operations*65536 || writes.Total.Count != writes.Operations || writes.Completion.Count != writes.Operations {
		t.Errorf("%+v", writes)
	}
	if writes.Total.Histogram.Count() != writes.Total.Count || writes.Total.MeanNanoseconds() == 0 {
		t.Errorf("%+v", writes.Total)
	}
	if syncs.Operations == 0 || syncs.Bytes != 0 || syncs.Total.Histogram.Count() != syncs.Operations {
		t.Errorf("%+v", syncs)
	}
}

func TestDecodeClientServer(t *testing.T) {
	t.Parallel()
	document, err := Decode(lastDocument(t, "client-server"))
	if err != nil {
		t.Fatal(err)
	}
	if !document.ClientServer || len(document.Jobs) != 2 || document.Jobs[0].Host != "127.0.0.1" {
		t.Fatalf("%d jobs, %+v", len(document.Jobs), document)
	}
	snapshot, err := document.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	// Each of 2 clients does 100 reads and 100 writes per second for 2 s. The entry "All clients" must not count as a
	// third client.
	if got := snapshot.Operations[measure.Read].Operations; got < 390 || got > 410 {
		t.Errorf("%d reads, want 400", got)
	}
	if _, err := NewSampler(SamplerOptions{}).Add(document); !errors.Is(err, ErrNoTimestamp) {
		t.Errorf("sampled: %v", err)
	}
}

func lastDocument(t *testing.T, name string) []byte {
	t.Helper()
	output := readRecording(t, name).stdout
	at := bytes.LastIndex(output, []byte("{\n  \"fio version\""))
	if at < 0 {
		t.Fatalf("%s has no document", name)
	}
	return bytes.TrimSpace(output[at:])
}

// TestDecodeRefuses checks that a real document is refused if one change makes a figure wrong or missing.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	original := string(lastDocument(t, "write"))
	for _, test := range []struct{ name, old, now, want string }{
		{"no version", `"fio version"`, `"version"`, "\"fio version\" is missing"},
		{"old version", `"fio-3.33"`, `"fio-2.2.10"`, "want fio 3"},
		{"another tool", `"fio-3.33"`, `"ior"`, "not the JSON output of fio"},
		{"no jobs", `"jobs" :`, `"works" :`, "list of jobs is missing"},
		{"jobs twice", `"jobs" :`, `"jobs" : [], "jobs" :`, "duplicate key"},
		{"jobs and clients", `"jobs" :`, `"client_stats" : [], "jobs" :`, "both jobs and client_stats"},
		{"no error", `"error" :`, `"Error" :`, "error is missing"},
		{"no write", `"write" : {`, `"wrote" : {`, "write: is missing"},
		{"no bytes", `"io_bytes" : 4194304`, `"io_byte" : 4194304`, "io_bytes is missing"},
		{"negative bytes", `"io_bytes" : 4194304`, `"io_bytes" : -4194304`, "is negative"},
		{"fraction of bytes", `"io_bytes" : 4194304`, `"io_bytes" : 4194304.5`, "not a 64-bit integer"},
		{"bytes as text", `"io_bytes" : 4194304`, `"io_bytes" : "4194304"`, "is not a number"},
		{"bytes as null", `"io_bytes" : 4194304`, `"io_bytes" : null`, "not a 64-bit integer"},
		{"bytes of 20 digits", `"io_bytes" : 4194304`, `"io_bytes" : 41943044194304419430`, "not a 64-bit integer"},
		{"bytes twice", `"io_bytes" : 4194304`, `"io_bytes" : 4194304, "io_bytes" : 4194304`, "duplicate key"},
		{"one byte more", `"io_bytes" : 4194304`, `"io_bytes" : 4195328`, "io_kbytes is"},
		{"fewer bytes in both", "\"io_bytes\" : 4194304,\n        \"io_kbytes\" : 4096", "\"io_bytes\" : 4193280,\n        \"io_kbytes\" : 4095", "bw_bytes is"},
		{"operations", `"total_ios" : 64`, `"total_ios" : 65`, "iops is"},
		{"count", `"N" : 64`, `"N" : 0`, "N is 0, but the bins add up to"},
		{"minimum as NaN", `"min" : `, `"min" : nan, "old" : `, "not a 64-bit integer"},
		{"mean as NaN", `"mean" : `, `"mean" : -nan, "old" : `, "is not a number"},
		{"infinite mean", `"mean" : `, `"mean" : inf, "old" : `, "is not a number"},
		{"no job object", `"jobs" : [`, `"jobs" : [ 1,`, "not an object"},
		{"empty jobs", `"jobs" : [`, `"jobs" : [], "old" : [`, "list of jobs is empty"},
	} {
		changed := strings.Replace(original, test.old, test.now, 1)
		if changed == original {
			t.Errorf("%s: nothing to change", test.name)
			continue
		}
		if _, err := Decode([]byte(changed)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestDecodeRefusesBins checks that invalid histogram bins are refused, and that bins that do not add up to the count
// are reported.
func TestDecodeRefusesBins(t *testing.T) {
	t.Parallel()
	original := string(lastDocument(t, "write"))
	bins := strings.Index(original, `"bins" : {`) + len(`"bins" : {`)
	for _, test := range []struct{ name, inserted, want string }{
		{"not on the grid", `"1001" : 1,`, "not one of fio's latency bins"},
		{"no number", `"x" : 1,`, "not a number of nanoseconds"},
		{"leading zero", `"00" : 1,`, "not a number of nanoseconds"},
		{"negative count", `"1" : -1,`, "is negative"},
		{"count of 0", `"1" : 0,`, "is 0"},
		{"twice", `"1" : 1, "1" : 1,`, "duplicate key"},
	} {
		if _, err := Decode([]byte(original[:bins] + test.inserted + original[bins:])); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	document, err := Decode([]byte(original[:bins] + `"1" : 5,` + original[bins:]))
	if err != nil {
		t.Fatal(err)
	}
	if document.Racy == nil || !strings.Contains(document.Racy.Error(), "but the bins add up to") {
		t.Errorf("five more in the bins than N: %v", document.Racy)
	}
}

func TestDecodeChecksPercentiles(t *testing.T) {
	t.Parallel()
	original := string(lastDocument(t, "write"))
	at := strings.Index(original, `"50.000000" : `) + len(`"50.000000" : `)
	document, err := Decode([]byte(original[:at] + "17112760320" + original[at+strings.IndexAny(original[at:], ",\n"):]))
	if err != nil {
		t.Fatal(err)
	}
	if document.Racy == nil || !strings.Contains(document.Racy.Error(), "percentile 50.000000") {
		t.Errorf("a changed percentile: %v", document.Racy)
	}
}

func TestDecodeTakesRepeatedOptions(t *testing.T) {
	t.Parallel()
	// fio prints an option twice that the job file sets twice.
	document, err := Decode(lastDocument(t, "enospc"))
	if err != nil || document.Jobs[0].Errno != 28 {
		t.Errorf("%v", err)
	}
}

func TestDecodeOfHostileNesting(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000),
		`{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}",
	} {
		if _, err := Decode([]byte(text)); !errors.Is(err, errTooDeep) {
			t.Errorf("%v", err)
		}
	}
}
