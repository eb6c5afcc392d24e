package detect

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/soak"
)

// TestLiveCost checks that a sample of a long series costs the live detector little time. Each run does the same work,
// so the shortest time of several runs is the cost without competition for the CPU. The times of the first run are
// logged too.
func TestLiveCost(t *testing.T) {
	soak.Only(t)
	const runs = 7
	lengths := []int{43_200, 604_800}
	var text strings.Builder
	for _, length := range lengths {
		least := make([]time.Duration, length)
		for run := range runs {
			took := watchLong(t, length)
			if run == 0 {
				copy(least, took)
				fmt.Fprintf(&text, "%d samples, one run: %s\n", length, distribution(took))
			}
			for i := range least {
				least[i] = min(least[i], took[i])
			}
		}
		fmt.Fprintf(&text, "%d samples, the least of %d runs: %s\n", length, runs, distribution(least))
		slices.Sort(least)
		const allowed = 50 * time.Microsecond
		if p999 := least[length*999/1000]; p999 > allowed {
			t.Errorf("%d samples: one of a thousand takes %v", length, p999)
		}
	}
	soak.Report(t, "cost of a live sample", "\n%s", text.String())
}

// watchLong returns the time that the live detector took for each sample of a series with one drop.
func watchLong(t *testing.T, length int) []time.Duration {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	live := NewLive(LiveOptions{})
	took := make([]time.Duration, length)
	for i := range took {
		level := 1e8
		if i > length*6/10 {
			level = 0.8e8
		}
		s := Sample{float64(i), float64(i) + 1, level * (1 + 0.03*random.NormFloat64())}
		before := time.Now()
		_, err := live.Add(s)
		took[i] = time.Since(before)
		if err != nil {
			t.Fatal(err)
		}
	}
	if !live.state.Certain {
		t.Error("the drop was not found")
	}
	return took
}

func distribution(took []time.Duration) string {
	ordered := slices.Clone(took)
	slices.Sort(ordered)
	sum := time.Duration(0)
	for _, d := range ordered {
		sum += d
	}
	n := len(ordered)
	return fmt.Sprintf("mean %v, p50 %v, p99 %v, p99.9 %v, most %v", sum/time.Duration(n), ordered[n/2], ordered[n*99/100], ordered[n*999/1000], ordered[n-1])
}
