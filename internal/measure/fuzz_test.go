package measure

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The decoders must accept only valid values, and encoding an accepted value must reproduce the input.

func FuzzHistogramUnmarshal(f *testing.F) {
	for _, h := range []Histogram{{}, histogramOf(0), histogramOf(5, 5, 300, 20_000_000_000)} {
		b, err := h.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var h Histogram
		if err := h.UnmarshalBinary(data); err != nil {
			return
		}
		if back := encoded(t, &h); !bytes.Equal(back, data) {
			t.Errorf("accepted %x, wrote %x", data, back)
		}
		checkSound(t, &h)
	})
}

func FuzzHistogramUnmarshalJSON(f *testing.F) {
	f.Add([]byte(`{"3":2,"131":1}`))
	f.Add([]byte(`{ }`))
	f.Add([]byte(`{"3":2,"3":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h Histogram
		if err := h.UnmarshalJSON(data); err != nil {
			return
		}
		if !json.Valid(data) {
			t.Errorf("accepted %q, which is no JSON", data)
		}
		checkSound(t, &h)
	})
}

func FuzzLatencyUnmarshal(f *testing.F) {
	for _, l := range []Latency{{}, latencyOf(0), latencyOf(5, 5, 300, 20_000_000_000)} {
		b, err := l.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var l Latency
		if err := l.UnmarshalBinary(data); err != nil {
			return
		}
		if back := encodedLatency(t, &l); !bytes.Equal(back, data) {
			t.Errorf("accepted %x, wrote %x", data, back)
		}
		checkSound(t, &l.Histogram)
		if mean := l.MeanNanoseconds(); mean < l.MinNanoseconds || mean > l.MaxNanoseconds {
			t.Errorf("mean %d is outside of %d to %d", mean, l.MinNanoseconds, l.MaxNanoseconds)
		}
		l.Summary()
	})
}

func FuzzParseCPUStat(f *testing.F) {
	for _, name := range []string{"cgroup-v1", "cgroup-v2", "cgroup-v2-root"} {
		text, err := os.ReadFile(filepath.Join("testdata", "cpustat", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		stat, err := ParseCPUStat(text)
		if err == nil && !stat.HasUsage && stat.UsageNanoseconds > 0 {
			t.Errorf("%+v has a usage that it does not have", stat)
		}
	})
}

func checkSound(t *testing.T, h *Histogram) {
	t.Helper()
	if h.Saturated() {
		t.Error("a decoder accepted counts that do not fit")
	}
	var sum, last uint64
	first := true
	for key, n := range h.Bins() {
		if n == 0 || (!first && key <= last) {
			t.Errorf("bin %d with count %d after bin %d", key, n, last)
		}
		sum, last, first = sum+n, key, false
	}
	if sum != h.Count() {
		t.Errorf("the bins sum to %d, the count is %d", sum, h.Count())
	}
	if ns, ok := h.PercentileUnchecked(100); ok != (sum > 0) || (ok && ns != last) {
		t.Errorf("p100 = %d, %v, the last bin is %d", ns, ok, last)
	}
}
