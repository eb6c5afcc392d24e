package result_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// TestBytesWithoutOperations checks the warning if bytes and operations do not agree, so that one of the two rates must
// be wrong.
func TestBytesWithoutOperations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		warmUp     string
		operations uint64
		want       bool
	}{
		{"2s", 100, false}, {"2s", 97, false}, {"2s", 80, true}, {"2s", 120, true},
		{"", 80, false}, // without a warm-up, the tool omits nothing
	} {
		benchmark := builders.Benchmark("b").Target("data").Workload(builders.Fio().BlockSize("1Mi")).Prepare("layout").Steady("write", "10s")
		if test.warmUp != "" {
			benchmark.WarmUp(v1alpha1.Duration(test.warmUp))
		}
		each := measure.Counter{Bytes: 100 * mebibyte, Operations: test.operations}
		client := builders.Client("data", 0).WarmUp(2, measure.Write, each).Does(10, measure.Write, each, 10*ms)
		made := result.Target(stepOf(t, benchmark), "data", objects(client), result.History{})
		at := slices.IndexFunc(made.Warnings, func(w v1alpha1.Warning) bool { return w.Type == v1alpha1.WarningBytesUncertain })
		if (at >= 0) != test.want || at >= 0 && !strings.Contains(made.Warnings[at].Message, "20 % from the number computed from the bytes") {
			t.Errorf("%+v: warnings %+v", test, made.Warnings)
		}
	}
}
