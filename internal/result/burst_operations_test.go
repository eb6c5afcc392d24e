package result_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// TestDropsOfBytesAndOperations checks that a drain with one block size shows the same drops in operations as in bytes,
// even if the clients complete only a few operations per second and their samples start at different times.
func TestDropsOfBytesAndOperations(t *testing.T) {
	t.Parallel()
	const clients, burst, seconds, blockSize = 4, 12, 60, 1 << 20
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 14))
		var all []result.Client
		for index := range clients {
			client := builders.Client("data", index).Later(time.Duration(random.IntN(1000)) * time.Millisecond)
			level := 4 + random.IntN(3)
			for second := range seconds {
				if second == burst {
					level = 2
				}
				count := uint64(max(level+random.IntN(3)-1, 0))
				client.Sample(time.Second, measure.Write, builders.Counter(count, blockSize), time.Second/8)
			}
			all = append(all, client.Obj())
		}
		got := result.Target(drainStep(seconds), "data", all, result.History{}).Burst
		var inBytes, inOperations []int64
		for _, drop := range got.Bytes.Drops {
			inBytes = append(inBytes, drop.AtNanoseconds.Value)
		}
		for _, drop := range got.Operations.Drops {
			inOperations = append(inOperations, drop.AtNanoseconds.Value)
		}
		if !slices.Equal(inBytes, inOperations) {
			t.Errorf("seed %d: drops of bytes at %d ns, of operations at %d ns", seed, inBytes, inOperations)
		}
		if each := float64(got.Bytes.Burst.Value) / float64(got.Operations.Burst.Value) * 1000; each < blockSize*0.999 || each > blockSize*1.001 {
			t.Errorf("seed %d: a burst of %d bytes and %d thousandths of operations per second", seed, got.Bytes.Burst.Value, got.Operations.Burst.Value)
		}
	}
}
