package detect

import (
	"math"
	"slices"
)

// Criteria for a lasting drop. Their values follow from the reasons given below and were not tuned to individual
// series.
const (
	// lastingSeconds is the minimum duration of the lower level. It is longer than a dip.
	lastingSeconds = 45
	// separation is the minimum gap between the lowest level before a drop and the highest level after it, as a share
	// of the drop. Without such a gap, the rate was near the lower level before the drop, or returned to the upper
	// level after it.
	separation = 0.25
	// Earlier periods at the lower level are ignored if the rate stays there at least `outlast` times as long after the
	// drop. If the rate merely alternates between two levels, no period is that much longer than the others.
	outlast = 8
	// sharpness is the minimum gap at the drop between the straight lines fitted to the rates before and after it, as a
	// share of the drop. In a drift, these lines meet.
	sharpness = 0.5
	// Each change in the optimal segmentation of n values must reduce the sum of squares by at least (penaltyBase +
	// penaltyGrowth ln n) times the variance of the innovations (see noise).
	penaltyBase, penaltyGrowth = 8, 3
	// A lasting drop among n values must reduce the sum of squares by at least (certainBase + certainGrowth ln n) times
	// the variance of the innovations (see noise). With Gaussian noise and no drop, the probability of such a reduction is
	// less than 10^-5.
	certainBase, certainGrowth = 25, 2
	// cautionSpread raises the threshold for accepting a drop (the required reduction of the sum of squares) if few
	// values are independent, because the noise is then poorly estimated.
	cautionSpread = 5
	// priorNoise is the noise that is assumed before any values are known, as a share of the level. It counts as much
	// as priorValues measured values, because a few equal values do not prove that there is no noise.
	priorNoise, priorValues = 0.02, 4
	// In a drift, a straight line explains the values as well as two levels do. To tell a drop from a drift, the sum of
	// squares for two levels must therefore be less than the sum for a straight line by at least straightBase times the
	// variance of the innovations (see noise).
	straightBase = 5
)

// dropSearch holds the state of the search for lasting drops in a series of blocks. A block is a group of consecutive
// samples that are joined into one.
type dropSearch struct {
	// values are the cleaned logarithms of the blocks' rates. starts and ends are the blocks' times in seconds.
	values []float64
	starts []float64
	ends   []float64
	white  *whitened
	noise  noise
	pace   pace
	// extra is the additional certainty required of a drop, in units of the noise variance. It compensates for
	// searching the series several times, which makes false drops more likely.
	extra float64
	// begin is the index of the first block after the ramp-up.
	begin int
	// segments lists the index of the first block of each segment, except for the first segment. lasting lists the
	// index of the first block of each segment that begins with a lasting drop.
	segments []int
	lasting  []int
	// patched lists the ranges [from, to) of blocks that the function patch has overwritten.
	patched [][2]int
}

// around returns the start of the segment before a change and the end of the segment after it.
func (c *dropSearch) around(at int) (from, to int) {
	bounds := c.bounds()
	i, _ := slices.BinarySearch(bounds, at)
	return bounds[max(i-1, 0)], bounds[min(i+1, len(bounds)-1)]
}

func newDropSearch(blocks []Sample, values []float64) *dropSearch {
	c := &dropSearch{values: values, starts: make([]float64, len(blocks)), ends: make([]float64, len(blocks)), pace: paceOf(blocks)}
	for i, b := range blocks {
		c.starts[i], c.ends[i] = b.StartSeconds, b.EndSeconds
	}
	return c
}

// seconds returns the duration of blocks [from, to).
func (c *dropSearch) seconds(from, to int) float64 {
	if to <= from {
		return 0
	}
	return c.ends[to-1] - c.starts[from]
}

// find determines the segments and the lasting drops.
func (c *dropSearch) find() {
	n := len(c.values)
	c.noise = roughNoise(c.values)
	c.white = whiten(c.values, c.noise.correlation)
	typical := c.seconds(0, n) / float64(n)
	shortest := max(3, int(math.Ceil(c.pace.of(20)/typical)))
	penalty := c.noise.innovation * (penaltyBase + penaltyGrowth*math.Log(float64(n)))
	c.segments = segmentation(c.white, shortest, penalty)
	if c.patch(c.bounds()) {
		c.white = whiten(c.values, c.noise.correlation)
		c.segments = segmentation(c.white, shortest, penalty)
	}
	bounds := c.bounds()
	c.begin = c.rampUp(bounds)
	c.lasting = c.separated(bounds)
	c.confirm()
}

// patch overwrites short segments that differ from both neighbours: the first half of such a segment with the level
// before it, and the second half with the level after it. These segments remain where dips were too close together for
// the function clean. patch reports whether it overwrote any segment.
func (c *dropSearch) patch(bounds []int) bool {
	patched := false
	for i := 1; i+2 < len(bounds); i++ {
		from, to := bounds[i], bounds[i+1]
		if c.seconds(from, to) > 2.2*c.pace.of(dipSeconds) {
			continue
		}
		left, level, right := c.level(bounds[i-1], from), c.level(from, to), c.level(to, bounds[i+2])
		apart := math.Abs(left - right)
		if level > min(left, right)-apart && level < max(left, right)+apart {
			continue
		}
		for j := from; j < to; j++ {
			c.values[j] = left
			if j >= (from+to)/2 {
				c.values[j] = right
			}
		}
		patched = true
		c.patched = append(c.patched, [2]int{from, to})
	}
	return patched
}

// bounds returns the index of the first block of each segment, followed by the number of blocks.
func (c *dropSearch) bounds() []int {
	return append(append([]int{0}, c.segments...), len(c.values))
}

func (c *dropSearch) level(from, to int) float64 {
	sum := 0.0
	for _, v := range c.values[from:to] {
		sum += v
	}
	return sum / float64(max(to-from, 1))
}

// rampUp returns the first block after the short rising segments at the start.
func (c *dropSearch) rampUp(bounds []int) int {
	longest := min(max(c.pace.of(90), 0.02*c.seconds(0, len(c.values))), 600)
	begin := 0
	for i := 0; i+2 < len(bounds); i++ {
		if c.seconds(0, bounds[i+1]) > longest || c.level(bounds[i], bounds[i+1]) >= c.level(bounds[i+1], bounds[i+2]) {
			break
		}
		begin = bounds[i+1]
	}
	return begin
}

// separated returns the downward changes that separate the levels: apart from short periods, every earlier level must
// exceed every later level by at least `separation` times the drop.
func (c *dropSearch) separated(bounds []int) []int {
	var found []int
	for i := 1; i+1 < len(bounds); i++ {
		at := bounds[i]
		if at <= c.begin || c.seconds(at, len(c.values)) < c.pace.of(lastingSeconds) {
			continue
		}
		before, after := c.level(bounds[i-1], at), c.level(at, bounds[i+1])
		lowest, highest := before, after
		lasted := c.lasted(bounds, i, after-separation*(before-after))
		if lasted < c.pace.of(lastingSeconds) {
			continue
		}
		for j := range len(bounds) - 1 {
			from, to := bounds[j], bounds[j+1]
			switch length := c.seconds(from, to); {
			case from < c.begin || length < c.pace.of(dipSeconds):
			case to <= at && length*outlast > lasted:
				lowest = min(lowest, c.level(from, to))
			case from >= at:
				highest = max(highest, c.level(from, to))
			}
		}
		if before > after && lowest-highest >= separation*(before-after) {
			found = append(found, at)
		}
	}
	return found
}

// lasted returns the seconds from the start of segment i until the rate fell below `bottom` for longer than a dip
// lasts, or until the end of the series.
func (c *dropSearch) lasted(bounds []int, i int, bottom float64) float64 {
	end := i + 1
	for end+1 < len(bounds) && (c.level(bounds[end], bounds[end+1]) >= bottom || c.seconds(bounds[end], bounds[end+1]) < c.pace.of(dipSeconds)) {
		end++
	}
	return c.seconds(bounds[i], bounds[end])
}

// regimes returns the first block of each stretch between lasting drops, followed by the number of blocks.
func (c *dropSearch) regimes() []int {
	return append(append([]int{c.begin}, c.lasting...), len(c.values))
}

// confirm repeatedly removes the least certain candidate drop until all remaining drops are certain.
func (c *dropSearch) confirm() {
	for len(c.lasting) > 0 {
		bounds := c.regimes()
		worst, least := -1, 0.0
		for i := range c.lasting {
			from, at, to := bounds[i], bounds[i+1], bounds[i+2]
			margin := c.marginOf(c.values, from, at, to)
			if margin < 0 {
				if flat, ok := c.flattened(from, at, to); ok {
					margin = max(margin, c.marginOf(flat, from, at, to))
				}
			}
			if worst < 0 || margin < least {
				worst, least = i, margin
			}
		}
		if least >= 0 {
			return
		}
		c.lasting = slices.Delete(c.lasting, worst, worst+1)
	}
}

// marginOf is like margin, but estimates the noise from the blocks before and after the drop. The estimate excludes
// blocks in which this or another drop may lie.
func (c *dropSearch) marginOf(values []float64, from, at, to int) float64 {
	if from > c.begin && at-from > 2 {
		from++
	}
	if to < len(values) && to-at > 2 {
		to--
	}
	var stretches [][]float64
	for _, side := range [][2]int{{from, at - 1}, {at + 1, to}} {
		if side[1]-side[0] >= 2 {
			stretches = append(stretches, deviations(values[side[0]:side[1]]))
		}
	}
	pair := dropSearch{values: values, starts: c.starts, ends: c.ends, noise: fitNoise(stretches), extra: c.extra}
	known := max(lengths(stretches)-float64(len(stretches)), 0)
	pair.noise.innovation = (known*pair.noise.innovation + priorValues*priorNoise*priorNoise) / (known + priorValues)
	pair.white = whiten(values, pair.noise.correlation)
	return pair.margin(from, at, to)
}

// flattened removes the alternation between levels on either side of a drop, because alternation is not noise. It
// shifts all segments before the drop to the lowest of their levels, and all segments after the drop to the highest of
// their levels. Both shifts can only make the drop smaller. A side alternates only if the rate rose several times, so a
// drift does not count as alternation. flattened reports whether a side alternated.
func (c *dropSearch) flattened(from, at, to int) ([]float64, bool) {
	flat := slices.Clone(c.values)
	turned := c.flatten(flat, from, at, func(level, other float64) bool { return level < other })
	turned = c.flatten(flat, at, to, func(level, other float64) bool { return level > other }) || turned
	return flat, turned
}

// flatten shifts the segments in [from, to) to a common level if they alternate, and reports whether they do. The
// function `before` orders the levels. The first in that order, the lowest or the highest, becomes the common level.
func (c *dropSearch) flatten(flat []float64, from, to int, before func(level, other float64) bool) bool {
	var levels []float64
	bounds := []int{from}
	for _, b := range c.segments {
		if b > from && b < to {
			bounds = append(bounds, b)
		}
	}
	bounds = append(bounds, to)
	target := 0.0
	for i := range len(bounds) - 1 {
		levels = append(levels, c.level(bounds[i], bounds[i+1]))
		if i == 0 || before(levels[i], target) {
			target = levels[i]
		}
	}
	rises, width := 0, slices.Max(levels)-slices.Min(levels)
	for i := 1; i < len(levels); i++ {
		if levels[i]-levels[i-1] > width/2 {
			rises++
		}
	}
	if rises < leastTurns {
		return false
	}
	for i := range len(bounds) - 1 {
		for j := bounds[i]; j < bounds[i+1]; j++ {
			flat[j] += target - levels[i]
		}
	}
	return true
}

// margin returns the smallest margin by which a drop at block `at` meets a criterion, in standard deviations of the
// noise. If the margin is negative, the drop is not certain.
func (c *dropSearch) margin(from, at, to int) float64 {
	n := float64(to - from)
	squares, before, after := c.white.two(from, at, to)
	drop := before - after
	if drop <= smallestDrop {
		return math.Inf(-1)
	}
	caution := 1 + (cautionSpread+c.extra)/c.noise.freedom(n)
	gain := overRoot((c.white.one(from, to)-squares)/c.noise.innovation/caution,
		certainBase+c.extra+certainGrowth*math.Log(n))
	straight := overRoot((c.white.line(from, to)-squares)/c.noise.innovation,
		straightBase+c.extra+certainGrowth*c.noise.correlation*math.Log(n))
	left, leftVariance := edge(c.values, from, at, float64(at)-0.5)
	right, rightVariance := edge(c.values, at, to, float64(at)-0.5)
	inflation := c.noise.variance() * (1 + c.noise.correlation) / (1 - c.noise.correlation)
	allowed := 1.5 * math.Sqrt((leftVariance+rightVariance)*inflation)
	sharp := (left - right + allowed - sharpness*drop) / math.Sqrt(c.noise.variance())
	return min(gain, straight, sharp)
}

// overRoot returns by how much a criterion exceeds its requirement, in standard deviations of the noise. Both arguments
// are in units of the noise variance, so the result is the difference between their square roots.
func overRoot(square, required float64) float64 {
	return math.Sqrt(max(square, 0)) - math.Sqrt(required)
}

// smallestDrop is the smallest reported drop, as a difference of logarithms: 1 %.
const smallestDrop = 0.01
