package filegen

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// spread is the standard deviation of the logarithms of the weights. A weight is a random number that determines a
// file's share of the total size.
const spread = 1.2

// sizes divides a total among files. Each file has at least one byte if there are at least as many bytes as files.
func sizes(count int, total int64, seed uint64) []int64 {
	random := rand.New(rand.NewPCG(seed, 0x73697a6573)) //nolint:gosec // The sequence must be reproducible.
	weights := make([]float64, count)
	var sum float64
	for i := range weights {
		weights[i] = math.Exp(spread * random.NormFloat64())
		sum += weights[i]
	}
	least := min(1, total/int64(count))
	rest := total - least*int64(count)
	all := make([]int64, count)
	var weight float64
	var given int64
	for i := range all {
		weight += weights[i]
		upTo := int64(math.Round(weight / sum * float64(rest)))
		if i == count-1 {
			upTo = rest
		}
		upTo = max(given, min(upTo, rest))
		all[i] = least + upTo - given
		given = upTo
	}
	return all
}

// perFolder is the maximum number of files in a subdirectory.
const perFolder = 100

// nameOf returns the path of a file below the directory: its subdirectory and its name.
func nameOf(index int, extensions []string) string {
	return fmt.Sprintf("%03d/file-%05d.%s", index/perFolder, index, extensions[index%len(extensions)])
}
