package cli_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/golden"
)

// drain returns a series of 287.5 MB/s that falls to 32 MB/s after 600 of 1,200 s, with a little noise.
func drain() string {
	var text strings.Builder
	text.WriteString("seconds,bytes_per_second\n")
	state := uint32(1)
	for i := range 1200 {
		state = state*1664525 + 1013904223
		rate := 287.5e6
		if i >= 600 {
			rate = 32e6
		}
		_, _ = fmt.Fprintf(&text, "%d,%.0f\n", i, rate*(1+0.01*(float64(state>>16)/32768-1)))
	}
	return text.String()
}

func level(rows int) string {
	var text strings.Builder
	text.WriteString("seconds,bytes_per_second\r\n")
	for i := range rows {
		_, _ = fmt.Fprintf(&text, "%d,%d\r\n", i+1, 100_000_000+i%3*1000)
	}
	return text.String()
}

const ramp = "load,bytes_per_second\n1,100e6\n2,190e6\n4,340e6\n8,520e6\n12,600e6\n16,615e6\n24,620e6\n32,610e6\n"

func TestAnalyzeTexts(t *testing.T) {
	for name, test := range map[string]struct {
		input     string
		arguments []string
	}{
		"help-analyze":        {"", []string{"analyze", "--help"}},
		"help-analyze-burst":  {"", []string{"analyze", "burst", "--help"}},
		"help-analyze-steady": {"", []string{"analyze", "steady", "--help"}},
		"help-analyze-knee":   {"", []string{"analyze", "knee", "--help"}},
		"analyze-burst":       {drain(), []string{"analyze", "burst", "-"}},
		"analyze-burst-json":  {drain(), []string{"analyze", "burst", "-", "-o", "json", "--refill", "30e6"}},
		"analyze-level":       {level(300), []string{"analyze", "burst", "-", "--refill", "4e7"}},
		"analyze-level-json":  {level(300), []string{"analyze", "burst", "-", "-o", "json"}},
		"analyze-steady":      {level(360), []string{"analyze", "steady", "-"}},
		"analyze-steady-json": {level(360), []string{"analyze", "steady", "-", "-o", "json", "--bucket-empty"}},
		"analyze-knee":        {ramp, []string{"analyze", "knee", "-"}},
		"analyze-knee-json":   {ramp, []string{"analyze", "knee", "-", "-o", "json"}},
	} {
		t.Run(name, func(t *testing.T) { golden.Check(t, name, call(test.input, test.arguments...).String()) })
	}
}

// TestAnalyzeRefuses checks that an invalid file is refused with an error that names the line, the value and the
// remedy.
func TestAnalyzeRefuses(t *testing.T) {
	const head = "seconds,bytes_per_second\n"
	var all strings.Builder
	for _, test := range []struct{ name, input string }{
		{"nothing", ""},
		{"another header", "time,bw\n1,2\n"},
		{"no header", "1,2\n2,3\n"},
		{"header alone", head},
		{"one row", head + "1,100\n"},
		{"three fields", head + "1,100\n2,100,5\n"},
		{"thousands", head + "1,100\n2,1,000\n"},
		{"a decimal comma", head + "1,100\n\n2;100\n"},
		{"no number", head + "1,100\n2,fast\n"},
		{"not a number", head + "1,100\n2,NaN\n"},
		{"infinite", head + "1,100\n2,1e400\n"},
		{"negative rate", head + "1,100\n2,-5\n"},
		{"negative time", head + "-1,100\n2,5\n"},
		{"twice the same time", head + "1,100\n2,100\n2,100\n"},
		{"backwards", head + "1,100\n\n3,100\n2,100\n"},
		{"a long line", head + strings.Repeat("1", 5000) + "\n"},
		{"too great", head + "1,100\n2,1e19\n"},
	} {
		got := call(test.input, "analyze", "burst", "-", "-o", "json")
		if got.code != 1 || got.stdout != "" {
			t.Errorf("%s: %s", test.name, got)
		}
		_, _ = fmt.Fprintf(&all, "%s\n  %s", test.name, got.stderr)
	}
	for _, arguments := range [][]string{
		{"analyze", "burst", "-", "--refill", "-5"},
		{"analyze", "burst", "-", "--refill", "NaN"},
		{"analyze", "burst", "-", "-o", "xml"},
		{"analyze", "burst"},
		{"analyze", "burst", "testdata/nothing.csv"},
		{"analyze", "bursts", "x.csv"},
	} {
		got := call(drain(), arguments...)
		if got.code != 1 || got.stdout != "" {
			t.Errorf("%s: %s", arguments, got)
		}
		_, _ = fmt.Fprintf(&all, "%s\n  %s", arguments, got.stderr)
	}
	for name, input := range map[string]string{"knee of four": "load,bytes_per_second\n1,1\n2,2\n3,3\n4,4\n", "knee of nothing": "load,bytes_per_second\n0,1\n"} {
		if got := call(input, "analyze", "knee", "-"); got.code != 1 || got.stdout != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	golden.Check(t, "analyze-refuses", all.String())
}

type burst struct {
	SchemaVersion      int
	Exhausted          bool
	Burst              float64  `json:"burstBytesPerSecond"`
	Sustained          float64  `json:"sustainedBytesPerSecond"`
	Peak               float64  `json:"peakBytesPerSecond"`
	Baseline           float64  `json:"baselineBytesPerSecond"`
	SecondsToBaseline  *float64 `json:"secondsToBaseline"`
	BucketAtLeastBytes *float64
	Drops              []struct {
		Seconds                                               float64
		BeforeBytesPerSecond, AfterBytesPerSecond, SpentBytes float64
	}
	Segments []struct{ StartSeconds, EndSeconds, MeanBytesPerSecond float64 }
}

// TestAnalyzeBurstContract checks the fields that other programs rely on against the known values of a synthetic
// series.
func TestAnalyzeBurstContract(t *testing.T) {
	var got burst
	if err := json.Unmarshal([]byte(call(drain(), "analyze", "burst", "-", "-o", "json", "--refill", "32000000").stdout), &got); err != nil {
		t.Fatal(err)
	}
	near := func(name string, got, want, share float64) {
		t.Helper()
		if !(math.Abs(got-want) <= share*want) {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	if got.SchemaVersion != 1 || !got.Exhausted || len(got.Drops) != 1 || len(got.Segments) != 2 || got.SecondsToBaseline == nil {
		t.Fatalf("%+v", got)
	}
	near("burst", got.Burst, 287.5e6, 0.005)
	near("sustained", got.Sustained, 287.5e6, 0.005)
	near("peak", got.Peak, 287.5e6, 0.005)
	near("baseline", got.Baseline, 32e6, 0.005)
	near("seconds to baseline", *got.SecondsToBaseline, 600, 0.002)
	near("spent", got.Drops[0].SpentBytes, 600*(287.5e6-32e6), 0.005)
	near("before", got.Drops[0].BeforeBytesPerSecond, 287.5e6, 0.005)
	near("after", got.Drops[0].AfterBytesPerSecond, 32e6, 0.005)
	near("the end of the first segment", got.Segments[0].EndSeconds, 600, 0.002)

	if err := json.Unmarshal([]byte(call(level(300), "analyze", "burst", "-", "-o", "json", "--refill", "4e7").stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Exhausted || got.SecondsToBaseline != nil || len(got.Drops) != 0 || got.BucketAtLeastBytes == nil {
		t.Fatalf("%+v", got)
	}
	near("bucket", *got.BucketAtLeastBytes, 300*60e6, 0.001)
}

// FuzzAnalyze checks that any file results in either a document or an error, never both.
func FuzzAnalyze(f *testing.F) {
	f.Add("seconds,bytes_per_second\n0,5\n1,5\n2,7\n")
	f.Add("seconds,bytes_per_second\n1,5\n2,5\n3,0\n900,1e18\n900.1,1\n")
	f.Add(level(20))
	f.Add("load,bytes_per_second\n1,5\n2,5\n3,9\n4,0\n5,1e17\n6,2\n")
	f.Fuzz(func(t *testing.T, input string) {
		for _, verb := range []string{"burst", "steady", "knee"} {
			got := call(input, "analyze", verb, "-", "-o", "json")
			valid := json.Valid([]byte(got.stdout)) && got.stdout != ""
			if got.code == 0 != valid || got.code == 1 != (got.stderr != "") {
				t.Errorf("%s of %q: %s", verb, input, got)
			}
		}
	})
}
