package measure

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/storagebench/storagebench/test/golden"
)

// TestFormatsGolden writes a line per figure to a golden file, which shows what users see.
func TestFormatsGolden(t *testing.T) {
	var got bytes.Buffer
	for _, n := range []uint64{0, 1, 999, 1_000, 1_024, 1_999, 9_999, 10_000, 999_949, 999_950, 1_000_000, 1_048_576,
		268_435_456, 1_073_741_824, 1_610_612_736, 5 << 40, math.MaxUint64} {
		fmt.Fprintf(&got, "size      %20d  %-12s %s\n", n, FormatBytes(n), FormatBinaryBytes(n))
	}
	for _, v := range []float64{0, 0.5, 1, 999.96, 12_345, 29_430_000, 32e6, 287.5e6, 999.949e6, 999.96e6, 1e9,
		3_560e6, 12_460e6, 1.5e15, -1_500, 1e-12, math.NaN(), math.Inf(1)} {
		fmt.Fprintf(&got, "rate      %20v  %-12s %s\n", v, FormatBytesPerSecond(v), FormatMegabytesPerSecond(v))
	}
	for _, v := range []float64{0, 0.25, 7, 12.345, 1_985, 1_985.4, 51_200, 999_999.4, 999_999.6, 1e6, 1_234_567, 2.5e9, math.NaN()} {
		fmt.Fprintf(&got, "IOPS      %20v  %s\n", v, FormatOperationsPerSecond(v))
	}
	for _, n := range []uint64{0, 1, 870, 999, 1_000, 1_004, 12_345, 99_949, 99_950, 999_499, 999_500, 1_234_567,
		100_000_000, LastBucketNanoseconds, 1_000_000_000_000, 1_234_567_000_000, math.MaxUint64} {
		fmt.Fprintf(&got, "latency   %20d  %s\n", n, FormatLatency(n))
	}
	for _, v := range []float64{0, 0.005, 0.9949, 0.9999, 1, 1.25, math.NaN(), math.Inf(-1)} {
		fmt.Fprintf(&got, "share     %20v  %s\n", v, FormatShare(v))
	}
	for _, n := range []int{0, 1, 2} {
		fmt.Fprintf(&got, "count     %20d  %s\n", n, FormatCount(n, "client"))
	}
	golden.Check(t, "units", got.String())
}

func TestFormatList(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{"": nil, "a": {"a"}, "a, b": {"a", "b"}, "a, b and 1 more": {"a", "b", "c"}} {
		if got := FormatList(names, 2); got != want {
			t.Errorf("%v: %q, want %q", names, got, want)
		}
	}
}

func TestFormatTail(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 0.00814: "0.814 %", 0.0483: "4.83 %", 0.000138: "0.014 %", 0.998: "99.8 %", 1: "100 %", math.NaN(): notKnown} {
		if got := FormatTail(share); got != want {
			t.Errorf("%g: %q, want %q", share, got, want)
		}
	}
}
