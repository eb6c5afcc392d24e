package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
)

// latencyOf returns a Latency that counts each latency once.
func latencyOf(nanoseconds ...uint64) Latency {
	var l Latency
	for _, ns := range nanoseconds {
		l.AddNanoseconds(ns, 1)
	}
	return l
}

func encodedLatency(t *testing.T, l *Latency) []byte {
	t.Helper()
	b, err := l.AppendBinary(nil)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return b
}

func checkLatencyRoundTrip(t *testing.T, l Latency) {
	t.Helper()
	binary := encodedLatency(t, &l)
	var back Latency
	if err := back.UnmarshalBinary(binary); err != nil {
		t.Fatalf("decode: %v", err)
	}
	if !bytes.Equal(encodedLatency(t, &back), binary) {
		t.Error("binary: data that was read differs from data that was written")
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var fromJSON Latency
	if err := json.Unmarshal(text, &fromJSON); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if !bytes.Equal(encodedLatency(t, &fromJSON), binary) {
		t.Error("JSON: data that was read differs from data that was written")
	}
}

func TestLatencyFromMean(t *testing.T) {
	tests := []struct {
		name     string
		count    uint64
		mean     float64
		min, max uint64
		sum      string
		wantMean uint64
		fails    bool
	}{
		{"one", 1, 5, 5, 5, "5", 5, false},
		{"printed mean of 1, 1, 2", 3, 1.333333, 1, 2, "4", 1, false},
		{"halves up", 2, 2.5, 2, 3, "5", 3, false},
		{"kept over the least", 10, 99.9999999, 100, 200, "1000", 100, false},
		{"kept under the most", 10, 200.0000001, 100, 200, "2000", 200, false},
		{"over 64 bits", 1 << 40, 1 << 40, 1, 1 << 41, "1208925819614629174706176", 1 << 40, false},
		{"greatest", math.MaxUint64, math.MaxUint64, 0, math.MaxUint64, "340282366920938463426481119284349108225", math.MaxUint64, false},
		{"nothing", 0, 0, 0, 0, "0", 0, false},
		{"mean is not a number", 1, math.NaN(), 1, 1, "", 0, true},
		{"mean is infinite", 1, math.Inf(1), 1, 1, "", 0, true},
		{"mean is negative", 1, -1, 0, 1, "", 0, true},
		{"mean under min", 10, 98, 100, 200, "", 0, true},
		{"mean over max", 10, 202, 100, 200, "", 0, true},
		{"min over max", 10, 150, 200, 100, "", 0, true},
	}
	for _, test := range tests {
		l, err := LatencyFromMean(Histogram{}, test.count, test.mean, test.min, test.max)
		if (err != nil) != test.fails {
			t.Errorf("%s: error %v", test.name, err)
		}
		if err != nil {
			continue
		}
		if got := l.SumNanoseconds.String(); got != test.sum || l.MeanNanoseconds() != test.wantMean {
			t.Errorf("%s: sum %s, mean %d, want %s, %d", test.name, got, l.MeanNanoseconds(), test.sum, test.wantMean)
		}
		checkLatencyRoundTrip(t, l)
	}
	if _, err := LatencyFromMean(histogramOf(5), 0, 0, 0, 0); err == nil {
		t.Error("bins without samples were accepted")
	}
}

func TestLatencyMergeKeepsExtremes(t *testing.T) {
	slow, fast := latencyOf(900, 1_000), latencyOf(10, 20)
	var sum Latency
	for _, one := range []*Latency{{}, &slow, nil, {}, &fast, {}} {
		sum.Merge(one)
	}
	if sum.Count != 4 || sum.MinNanoseconds != 10 || sum.MaxNanoseconds != 1_000 || sum.MeanNanoseconds() != 483 {
		t.Errorf("got %d operations from %d to %d ns, mean %d", sum.Count, sum.MinNanoseconds, sum.MaxNanoseconds, sum.MeanNanoseconds())
	}
	full := Latency{Count: math.MaxUint64}
	full.Merge(&fast)
	if !full.Histogram.Saturated() {
		t.Error("an overflow of the count was not noticed")
	}
	if _, err := full.AppendBinary(nil); err == nil {
		t.Error("an overflow was encoded")
	}
}

func TestLatencySub(t *testing.T) {
	earlier := latencyOf(100, 5_000)
	later := earlier
	added := latencyOf(300, 301, 4_000)
	later.Merge(&added)
	difference, err := later.Sub(&earlier)
	if err != nil {
		t.Fatal(err)
	}
	if difference.Count != 3 || difference.SumNanoseconds != added.SumNanoseconds {
		t.Errorf("count %d, sum %v, want %d, %v", difference.Count, difference.SumNanoseconds, added.Count, added.SumNanoseconds)
	}
	// The bounds are those of the bins: 300 is in a bin that starts at 300, and 4,000 in one that ends at 4,031.
	if difference.MinNanoseconds != 300 || difference.MaxNanoseconds != 4_031 {
		t.Errorf("extremes %d and %d", difference.MinNanoseconds, difference.MaxNanoseconds)
	}
	checkLatencyRoundTrip(t, difference)

	slowest := latencyOf(20_000_000_000)
	if difference, err = slowest.Sub(&Latency{}); err != nil || difference.MaxNanoseconds != 20_000_000_000 {
		t.Errorf("the last bucket: max %d, %v", difference.MaxNanoseconds, err)
	}
	if difference, err = later.Sub(&later); err != nil || difference.Count != 0 || difference.MaxNanoseconds != 0 {
		t.Errorf("nothing new: %+v, %v", difference, err)
	}
	for name, pair := range map[string][2]Latency{
		"bins":  {latencyOf(100, 100), earlier},
		"count": {{Count: 1, SumNanoseconds: Uint128{Low: 5}}, {Count: 2, SumNanoseconds: Uint128{Low: 5}}},
		"sum":   {{Count: 3, SumNanoseconds: Uint128{Low: 4}}, {Count: 2, SumNanoseconds: Uint128{Low: 5}}},
	} {
		if _, err := pair[0].Sub(&pair[1]); !errors.Is(err, ErrCounterReset) {
			t.Errorf("%s went down: error %v", name, err)
		}
	}
}

// TestLatencyWithout checks that Without removes latencies that are known only by their bins. The width of these bins
// must not affect the mean of the rest.
func TestLatencyWithout(t *testing.T) {
	stall := histogramOf(2_455_000_000, 2_455_000_000)
	all := latencyOf(2_455_000_000, 2_455_000_000, 500_000, 500_100)
	rest, err := all.Without(&stall)
	if err != nil {
		t.Fatal(err)
	}
	if mean := rest.MeanNanoseconds(); rest.Count != 2 || rest.Histogram.Count() != 2 || mean < 495_000 || mean > 505_000 {
		t.Errorf("%d latencies, %d in bins, mean %d", rest.Count, rest.Histogram.Count(), mean)
	}
	checkLatencyRoundTrip(t, rest)
	if rest, err = all.Without(&all.Histogram); err != nil || rest.Count != 0 || rest.SumNanoseconds != (Uint128{}) {
		t.Errorf("nothing remains: %+v, %v", rest, err)
	}
	for name, l := range map[string]Latency{
		"bins":  latencyOf(2_455_000_000, 500_000),
		"count": {Histogram: stall, Count: 1, SumNanoseconds: Uint128{Low: 5}, MinNanoseconds: 5, MaxNanoseconds: 5},
	} {
		if _, err := l.Without(&stall); !errors.Is(err, ErrCounterReset) {
			t.Errorf("%s of another latency: error %v", name, err)
		}
	}
}

func TestLatencyDecodingRefuses(t *testing.T) {
	for name, l := range map[string]Latency{
		"sum without operations": {SumNanoseconds: Uint128{Low: 1}},
		"max without operations": {MaxNanoseconds: 1},
		"min over max":           {Count: 1, SumNanoseconds: Uint128{Low: 5}, MinNanoseconds: 6, MaxNanoseconds: 5},
		"sum too small":          {Count: 2, SumNanoseconds: Uint128{Low: 9}, MinNanoseconds: 5, MaxNanoseconds: 6},
		"sum too great":          {Count: 2, SumNanoseconds: Uint128{High: 1}, MinNanoseconds: 5, MaxNanoseconds: 6},
	} {
		back := latencyOf(7)
		if err := back.UnmarshalBinary(encodedLatency(t, &l)); err == nil || back.Count != 1 {
			t.Errorf("%s: binary was accepted (%v) or the latency changed", name, err)
		}
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &back); err == nil || back.Count != 1 {
			t.Errorf("%s: JSON was accepted (%v) or the latency changed", name, err)
		}
	}
	whole := latencyOf(5, 6_000)
	binary := encodedLatency(t, &whole)
	for length := range binary {
		if err := new(Latency).UnmarshalBinary(binary[:length]); err == nil {
			t.Errorf("the first %d of %d bytes were accepted", length, len(binary))
		}
	}
	if err := new(Latency).UnmarshalBinary(append(slices.Clone(binary), 0)); err == nil {
		t.Error("a byte left over was accepted")
	}
}

func TestSummary(t *testing.T) {
	var l Latency
	l.AddNanoseconds(1_000, 9_989)
	l.AddNanoseconds(2_000_000, 10)
	l.AddNanoseconds(30_000_000_000, 1)
	summary := l.Summary()
	text, err := json.Marshal(summary)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"count":10000,"meanNanoseconds":3002999,"minNanoseconds":1000,"p50Nanoseconds":1004,` +
		`"p95Nanoseconds":1004,"p99Nanoseconds":1004,"p999Nanoseconds":2007040,"maxNanoseconds":30000000000,` +
		`"countInLastBucket":1,"tooFewSamples":["p9999"]}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	noBins, err := LatencyFromMean(Histogram{}, 100_000, 50, 10, 90)
	if err != nil {
		t.Fatal(err)
	}
	if s := noBins.Summary(); s.P50Nanoseconds != nil || s.TooFewSamples != nil || s.MeanNanoseconds != 50 {
		t.Errorf("without bins: %+v", s)
	}
}

func TestUint128Text(t *testing.T) {
	for text, want := range map[string]Uint128{
		"0":                    {},
		"18446744073709551615": {Low: math.MaxUint64},
		"18446744073709551616": {High: 1},
		"340282366920938463463374607431768211455": maxUint128,
	} {
		var got Uint128
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "+1", " 1", "1.0", "0x1", "1_0", "340282366920938463463374607431768211456",
		"9999999999999999999999999999999999999999"} {
		var got Uint128
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was accepted as %v", text, got)
		}
	}
	if got := maxUint128.Add(Uint128{Low: 1}); got != maxUint128 {
		t.Errorf("an overflow gives %v", got)
	}
}
