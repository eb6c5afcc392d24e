package detect

import (
	"math"
	"slices"
)

// What makes a change of level a lasting drop. None was fitted to the tests' series one by one; the
// reasons stand beside each.
const (
	// lastingSeconds is how long the lower level must have held: longer than a dip.
	lastingSeconds = 45
	// separation is the least share of a drop that must lie between the lowest that was before and the
	// highest that came after: a level that was there before, or comes back, is no change.
	separation = 0.25
	// outlast is how many times longer than any earlier time on the lower level the last one must be,
	// before those earlier ones are forgotten. Of turns between two levels none lasts so long.
	outlast = 8
	// sharpness is the least share of a drop that must be left at its edge between straight lines
	// fitted to either side; of a drift nothing is left.
	sharpness = 0.5
	// penaltyBase and penaltyGrowth: a change of the optimal segmentation must take away this many times
	// the noise, and penaltyGrowth times the logarithm of the number of values.
	penaltyBase, penaltyGrowth = 8, 3
	// certainBase is the same for a lasting drop of the result. 25 more than the multiplicity is below
	// one in 10^5 for normal noise.
	certainBase, certainGrowth = 25, 2
	// cautionSpread: how much more is asked where few values are independent, and the noise is known badly.
	cautionSpread = 5
	// priorNoise is what noise is taken to be before it is seen, as a share, which counts as much as so many values:
	// some that happen to be alike do not show that there is none.
	priorNoise, priorValues = 0.02, 4
	// straightBase is how much worse a straight line must explain what is on both sides.
	straightBase = 5
)

// course is a compressed series on its way to its lasting drops.
type course struct {
	// values are cleaned logarithms of rates, of blocks that last `seconds` each.
	values []float64
	starts []float64
	ends   []float64
	white  *whitened
	noise  noise
	pace   pace
	// extra is how much more certain a drop must be, where many looks are taken.
	extra float64
	// begin is the first block after the ramp-up.
	begin int
	// segments are the first blocks of all segments but the first, lasting that of the lasting drops.
	segments []int
	lasting  []int
	// patched are the first and the last block, plus one, of what was patched.
	patched [][2]int
}

// around is the start and the end of the segments on either side of a change.
func (c *course) around(at int) (from, to int) {
	bounds := c.bounds()
	i, _ := slices.BinarySearch(bounds, at)
	return bounds[max(i-1, 0)], bounds[min(i+1, len(bounds)-1)]
}

func newCourse(blocks []Sample, values []float64) *course {
	c := &course{values: values, starts: make([]float64, len(blocks)), ends: make([]float64, len(blocks)), pace: paceOf(blocks)}
	for i, b := range blocks {
		c.starts[i], c.ends[i] = b.StartSeconds, b.EndSeconds
	}
	return c
}

// seconds of blocks [from, to).
func (c *course) seconds(from, to int) float64 {
	if to <= from {
		return 0
	}
	return c.ends[to-1] - c.starts[from]
}

// find fills in the segments and the lasting drops.
func (c *course) find() {
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

// patch overwrites short segments that stand out from both of their neighbours, which are the rest of
// dips that came too close for clean, with what was before and after.
func (c *course) patch(bounds []int) bool {
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

// bounds are the first blocks of all segments, and the end.
func (c *course) bounds() []int {
	return append(append([]int{0}, c.segments...), len(c.values))
}

func (c *course) level(from, to int) float64 {
	sum := 0.0
	for _, v := range c.values[from:to] {
		sum += v
	}
	return sum / float64(max(to-from, 1))
}

// rampUp is the first block after leading short segments that rise.
func (c *course) rampUp(bounds []int) int {
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

// separated are the changes down that have all that was before above all that comes after.
func (c *course) separated(bounds []int) []int {
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

// lasted is how long the rate stayed from a bound on, until it fell below a bottom.
func (c *course) lasted(bounds []int, i int, bottom float64) float64 {
	end := i + 1
	for end+1 < len(bounds) && (c.level(bounds[end], bounds[end+1]) >= bottom || c.seconds(bounds[end], bounds[end+1]) < c.pace.of(dipSeconds)) {
		end++
	}
	return c.seconds(bounds[i], bounds[end])
}

// regimes are the first blocks between lasting drops, and the end.
func (c *course) regimes() []int {
	return append(append([]int{c.begin}, c.lasting...), len(c.values))
}

// confirm drops the least certain of the candidates, one at a time, until each is certain.
func (c *course) confirm() {
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

// marginOf is margin with the noise of both sides of the drop. Blocks that this or
// another drop may cut are no noise.
func (c *course) marginOf(values []float64, from, at, to int) float64 {
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
	pair := course{values: values, starts: c.starts, ends: c.ends, noise: fitNoise(stretches), extra: c.extra}
	known := max(lengths(stretches)-float64(len(stretches)), 0)
	pair.noise.innovation = (known*pair.noise.innovation + priorValues*priorNoise*priorNoise) / (known + priorValues)
	pair.white = whiten(values, pair.noise.correlation)
	return pair.margin(from, at, to)
}

// flattened takes turns between levels out of both sides, so that they are no noise: all segments
// before the drop are moved to the lowest of them, all after it to the highest. That makes the drop
// smaller, not greater. Only sides that went up again count as turns; a drift is none.
func (c *course) flattened(from, at, to int) ([]float64, bool) {
	flat := slices.Clone(c.values)
	turned := c.flatten(flat, from, at, func(level, other float64) bool { return level < other })
	turned = c.flatten(flat, at, to, func(level, other float64) bool { return level > other }) || turned
	return flat, turned
}

// flatten moves the segments of [from, to) to that level of them that is before all others in order,
// if they turn.
func (c *course) flatten(flat []float64, from, to int, before func(level, other float64) bool) bool {
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

// margin is by how much a drop at a block is more certain than it must be, in squares of the noise:
// the least over all that is asked of it. Negative: it is not certain.
func (c *course) margin(from, at, to int) float64 {
	n := float64(to - from)
	_, before, after := c.white.two(from, at, to)
	drop := before - after
	if drop <= smallestDrop {
		return math.Inf(-1)
	}
	squares, _, _ := c.white.two(from, at, to)
	caution := 1 + (cautionSpread+c.extra)/c.noise.freedom(n)
	gain := (c.white.one(from, to)-squares)/c.noise.innovation/caution - certainBase - certainGrowth*math.Log(n) - c.extra
	straight := (c.white.line(from, to)-squares)/c.noise.innovation - straightBase - c.extra -
		certainGrowth*c.noise.correlation*math.Log(n)
	left, leftVariance := edge(c.values, from, at, float64(at)-0.5)
	right, rightVariance := edge(c.values, at, to, float64(at)-0.5)
	inflation := c.noise.variance() * (1 + c.noise.correlation) / (1 - c.noise.correlation)
	allowed := 1.5 * math.Sqrt((leftVariance+rightVariance)*inflation)
	sharp := (left - right + allowed - sharpness*drop) / math.Sqrt(c.noise.variance())
	return min(gain, straight, sharp)
}

// smallestDrop is the smallest one that is reported, as a difference of logarithms: 1 %.
const smallestDrop = 0.01
