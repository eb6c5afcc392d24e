package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// histogramOf returns a histogram that counts each latency once.
func histogramOf(nanoseconds ...uint64) Histogram {
	var h Histogram
	for _, ns := range nanoseconds {
		h.AddNanoseconds(ns, 1)
	}
	return h
}

func encoded(t *testing.T, h *Histogram) []byte {
	t.Helper()
	b, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return b
}

func TestHistogramZeroValue(t *testing.T) {
	var h Histogram
	if h.Count() != 0 || h.CountInLastBucket() != 0 || len(maps.Collect(h.Bins())) != 0 {
		t.Error("the zero value is not empty")
	}
	if ns, ok := h.PercentileUnchecked(50); ok {
		t.Errorf("the median of nothing is %d", ns)
	}
	var other Histogram
	h.Merge(&other)
	h.Merge(nil)
	if difference, err := h.Sub(&other); err != nil || difference.Count() != 0 {
		t.Errorf("nothing less nothing is %v, %v", difference, err)
	}
	h.AddNanoseconds(5, 0)
	if !bytes.Equal(encoded(t, &h), []byte{histogramFormat, 0}) {
		t.Errorf("counting zero latencies left %x", encoded(t, &h))
	}
}

func TestHistogramBinsAscend(t *testing.T) {
	h := histogramOf(20_000_000_000, 3, 1_000_000, 3, 130)
	var keys, counts []uint64
	for key, n := range h.Bins() {
		keys, counts = append(keys, key), append(counts, n)
	}
	if want := []uint64{3, 131, 1_003_520, LastBucketNanoseconds}; !slices.Equal(keys, want) {
		t.Errorf("keys %v, want %v", keys, want)
	}
	if want := []uint64{2, 1, 1, 1}; !slices.Equal(counts, want) {
		t.Errorf("counts %v, want %v", counts, want)
	}
	if h.Count() != 5 || h.CountInLastBucket() != 1 {
		t.Errorf("count %d, in the last bucket %d", h.Count(), h.CountInLastBucket())
	}
	for range h.Bins() {
		break // the iterator must not continue after the consumer stops
	}
}

func TestHistogramOfRefusesOtherGrids(t *testing.T) {
	for _, key := range []uint64{128, 130, 1_000_000, 17_112_760_321, math.MaxUint64} {
		if _, err := HistogramOf(maps.All(map[uint64]uint64{129: 1, key: 1})); err == nil || !strings.Contains(err.Error(), "latency bins") {
			t.Errorf("key %d: error %v", key, err)
		}
	}
	if _, err := HistogramOf(maps.All(map[uint64]uint64{129: math.MaxUint64, 131: 1})); err == nil {
		t.Error("an overflow of the sum was accepted")
	}
}

// TestHistogramIsAValue checks that a copy of a histogram never changes with the original: otherwise a snapshot would
// become a wrong figure.
func TestHistogramIsAValue(t *testing.T) {
	original := histogramOf(100, 5_000)
	before := encoded(t, &original)
	changed := original
	changed.AddNanoseconds(100, 7)
	other := histogramOf(100, 5_000, 5_000)
	changed.Merge(&other)
	var empty Histogram
	empty.Merge(&original) // both use the same pages
	empty.AddNanoseconds(100, 1)
	difference, err := original.Sub(new(Histogram))
	if err != nil {
		t.Fatal(err)
	}
	difference.AddNanoseconds(5_000, 9)
	if !bytes.Equal(encoded(t, &original), before) {
		t.Error("changes of copies changed the original")
	}
	if changed.Count() != 2+7+3 || empty.Count() != 3 || difference.Count() != 11 {
		t.Errorf("counts %d, %d, %d", changed.Count(), empty.Count(), difference.Count())
	}
	self := histogramOf(1, 2, 3_000)
	self.Merge(&self)
	if self.Count() != 6 {
		t.Errorf("merged with itself: %d", self.Count())
	}
}

func TestHistogramSaturates(t *testing.T) {
	var h, other Histogram
	h.AddNanoseconds(50, math.MaxUint64)
	other.AddNanoseconds(70, 1)
	if h.Saturated() {
		t.Error("saturated at 2^64-1, which fits")
	}
	for name, sum := range map[string]Histogram{"merge": merged(h, other), "merge back": merged(other, h)} {
		if !sum.Saturated() || sum.Count() != math.MaxUint64 {
			t.Errorf("%s: saturated %v, count %d", name, sum.Saturated(), sum.Count())
		}
		if _, ok := sum.Percentile(50); ok {
			t.Errorf("%s: a percentile of wrong counts", name)
		}
		if _, err := sum.AppendBinary(nil); err == nil {
			t.Errorf("%s: wrong counts were encoded", name)
		}
		if _, err := json.Marshal(sum); err == nil {
			t.Errorf("%s: wrong counts were written as JSON", name)
		}
		if _, err := sum.Sub(&h); err == nil {
			t.Errorf("%s: wrong counts were subtracted from", name)
		}
	}
}

func merged(histograms ...Histogram) Histogram {
	var sum Histogram
	for i := range histograms {
		sum.Merge(&histograms[i])
	}
	return sum
}

func TestSubSeesAReset(t *testing.T) {
	tests := []struct {
		name           string
		earlier, later Histogram
		reset          bool
	}{
		{"grown", histogramOf(5, 300), histogramOf(5, 5, 300, 9_000), false},
		{"equal", histogramOf(5, 300), histogramOf(5, 300), false},
		{"a bin fell", histogramOf(5, 5, 300), histogramOf(5, 300, 300, 300), true},
		{"a bin is gone, its group used", histogramOf(5, 300), histogramOf(5, 5, 5, 6), true},
		{"a group is gone", histogramOf(5_000), histogramOf(5, 5, 5, 6), true},
		{"all is gone", histogramOf(5), Histogram{}, true},
	}
	for _, test := range tests {
		difference, err := test.later.Sub(&test.earlier)
		if got := errors.Is(err, ErrCounterReset); got != test.reset {
			t.Errorf("%s: error %v, want a reset: %v", test.name, err, test.reset)
		}
		if err != nil {
			continue
		}
		difference.Merge(&test.earlier)
		if !bytes.Equal(encoded(t, &difference), encoded(t, &test.later)) {
			t.Errorf("%s: difference and earlier do not add up to later", test.name)
		}
	}
}

func TestHistogramJSON(t *testing.T) {
	h := histogramOf(3, 3, 130, 20_000_000_000)
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"3":2,"131":1,"17112760320":1}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	var back Histogram
	if err := json.Unmarshal([]byte(" {\n\t\"131\" : 1,\r\n\"3\":2 , \"17112760320\":1 } "), &back); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encoded(t, &back), encoded(t, &h)) {
		t.Error("data that was read differs from data that was written")
	}
	if err := back.UnmarshalJSON([]byte("null")); err != nil || back.Count() != 4 {
		t.Errorf("null: error %v, count %d", err, back.Count())
	}
	if err := back.UnmarshalJSON([]byte(" { } ")); err != nil || back.Count() != 0 {
		t.Errorf("empty object: error %v, count %d", err, back.Count())
	}
}

func TestHistogramJSONRefuses(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `3`, `"3"`, `{`, `{"3"`, `{"3":`, `{"3":}`, `{"3":2`, `{"3":2,}`, `{,}`, `{"3":2}}`, `{"3":2} x`,
		`{"3":2 "4":1}`, `{"3":-2}`, `{"-3":2}`, `{"3":2.0}`, `{"3":2e3}`, `{"3":"2"}`, `{"03":2}`, `{"3":02}`,
		`{" 3":2}`, `{"3 ":2}`, `{"":2}`, `{"3":null}`, `{"3":{}}`, `{"128":1}`, `{"3":2,"3":1}`,
		`{"3":18446744073709551616}`, `{"18446744073709551616":1}`, `{"3":18446744073709551615,"4":1}`,
		`{"3":99999999999999999999999999999999999999999999}`, "{\"3\u00a0\":2}", `{"3":+2}`, `{'3':2}`,
	} {
		h := histogramOf(7)
		if err := h.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s was accepted as %v", text, maps.Collect(h.Bins()))
		} else if h.Count() != 1 {
			t.Errorf("%s: the histogram was changed in spite of the error", text)
		}
	}
}

func TestHistogramEncoding(t *testing.T) {
	h := histogramOf(0, 2, 2, 130)
	want := []byte{histogramFormat, 3, 0, 1, 1, 2, 126, 1}
	if got := encoded(t, &h); !bytes.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	prefixed, err := h.AppendBinary([]byte("x"))
	if err != nil || !bytes.Equal(prefixed, append([]byte("x"), want...)) {
		t.Errorf("appended: %v, %v", prefixed, err)
	}
}

func TestHistogramDecodingRefuses(t *testing.T) {
	const highest = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
	for name, data := range map[string]string{
		"nothing":                   "",
		"another version":           "\x02\x00",
		"no number of bins":         "\x01",
		"more bins than the grid":   "\x01\xc1\x0e",
		"bins missing":              "\x01\x01",
		"count missing":             "\x01\x01\x00",
		"empty bin":                 "\x01\x01\x00\x00",
		"bucket beyond the grid":    "\x01\x01\xc0\x0e\x01",
		"second bucket beyond":      "\x01\x02\xbf\x0e\x01\x00\x01",
		"huge distance":             "\x01\x01" + highest + "\x01",
		"left over":                 "\x01\x00\x00",
		"long form of a number":     "\x01\x81\x00\x05\x01",
		"number over 64 bits":       "\x01\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
		"number that does not end":  "\x01\x01\x00\xff\xff\xff",
		"sum over 64 bits":          "\x01\x02\x00" + highest + "\x00\x01",
		"number of over ten digits": "\x01\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	} {
		h := histogramOf(7)
		if err := h.UnmarshalBinary([]byte(data)); err == nil {
			t.Errorf("%s was accepted as %v", name, maps.Collect(h.Bins()))
		} else if h.Count() != 1 {
			t.Errorf("%s: the histogram was changed in spite of the error", name)
		}
	}
	var h Histogram
	if err := h.UnmarshalBinary([]byte("\x01\x01\xbf\x0e" + highest)); err != nil || h.CountInLastBucket() != math.MaxUint64 {
		t.Errorf("a full last bucket: %v, %d", err, h.CountInLastBucket())
	}
}
