package fio

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPercentilesAreFiosOwn checks every percentile that fio printed in a recorded run against the percentile of the
// histogram in the same document.
func TestPercentilesAreFiosOwn(t *testing.T) {
	files, err := filepath.Glob("testdata/runs/*.stdout")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		output, err := ReadOutput(strings.NewReader(string(text)))
		if err != nil || output.Last == nil {
			continue
		}
		last := output.Last
		var raw struct {
			Jobs []map[string]json.RawMessage `json:"jobs"`
		}
		if json.Unmarshal(text[last.Offset:last.Offset+int64(last.Length)], &raw) != nil {
			continue
		}
		for i, job := range raw.Jobs {
			for operation, direction := range []string{"read", "write", "trim", "sync"} {
				var printed struct {
					Total struct {
						Percentile map[string]uint64 `json:"percentile"`
					} `json:"lat_ns"`
				}
				if json.Unmarshal(job[direction], &printed) != nil {
					continue
				}
				latency := &last.Jobs[i].Operations[operation].Total
				for text, want := range printed.Total.Percentile {
					p, err := strconv.ParseFloat(text, 64)
					if err != nil || latency.Histogram.Count() == 0 {
						continue
					}
					compared++
					if got, ok := latency.Histogram.PercentileUnchecked(p); !ok || got != want {
						t.Errorf("%s, %s: p%s of %d is %d, fio printed %d", filepath.Base(file), direction, text, latency.Count, got, want)
					}
				}
			}
		}
	}
	t.Logf("%d percentiles compared", compared)
	if compared < 300 {
		t.Errorf("only %d percentiles were compared", compared)
	}
}
