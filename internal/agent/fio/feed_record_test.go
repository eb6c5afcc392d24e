package fio

import (
	"testing"
	"time"
)

// TestRecordLength checks the lengths of latency records over ten minutes: early records are short, and later ones end
// at whole minutes.
func TestRecordLength(t *testing.T) {
	for _, sample := range []time.Duration{time.Second, 990 * time.Millisecond, 1010 * time.Millisecond, 1700 * time.Millisecond} {
		var ends []time.Duration
		begin := time.Duration(0)
		for at := sample; at < 10*time.Minute; at += sample {
			if at-begin >= recordLength(begin) {
				ends, begin = append(ends, at), at
			}
		}
		t.Logf("samples of %s: %v", sample, ends)
		for i, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute} {
			if i >= len(ends) || ends[i] < want-2*sample || ends[i] > want+2*sample {
				t.Fatalf("samples of %s: records end at %v, want one at %s", sample, ends, want)
			}
		}
		if len(ends) > 14 {
			t.Errorf("samples of %s: %d records in ten minutes", sample, len(ends))
		}
	}
}
