package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// maxCells is the API's limit on the number of cells in a sweep.
const maxCells = 256

// cell is one combination of a sweep's axes.
type cell struct {
	// clients is the number of clients that take part, or 0 if no axis sets it.
	clients   int
	overrides Overrides
}

// put applies the cell's values to a step.
func (c cell) put(step *Step) {
	step.Overrides = c.overrides
	if c.clients > 0 {
		step.Clients = c.clients
	}
}

// cellsOf returns the combinations of the axes by index. The axes are in the order clients, jobs, queueDepth,
// blockSize, readPercent, and the last one changes fastest.
func cellsOf(axes *v1alpha1.SweepAxes) []cell {
	cells := []cell{{}}
	cells = cross(cells, axes.Clients, func(c *cell, value int32) { c.clients = int(value) })
	cells = cross(cells, axes.Jobs, func(c *cell, value int32) { c.overrides.Jobs = value })
	cells = cross(cells, axes.QueueDepth, func(c *cell, value int32) { c.overrides.QueueDepth = value })
	cells = cross(cells, blockSizes(axes), func(c *cell, value int64) { c.overrides.BlockSizeBytes = value })
	return cross(cells, axes.ReadPercent, func(c *cell, value int32) { c.overrides.ReadPercent = &value })
}

// cross combines each cell with each value of an axis. An absent axis leaves the cells unchanged.
func cross[T any](cells []cell, values []T, set func(*cell, T)) []cell {
	if len(values) == 0 {
		return cells
	}
	combined := make([]cell, 0, len(cells)*len(values))
	for _, one := range cells {
		for _, value := range values {
			next := one
			set(&next, value)
			combined = append(combined, next)
		}
	}
	return combined
}

func blockSizes(axes *v1alpha1.SweepAxes) []int64 {
	var sizes []int64
	for i := range axes.BlockSize {
		sizes = append(sizes, axes.BlockSize[i].Value())
	}
	return sizes
}

// heaviest returns the load that spends the most credits. It has the largest value of each axis, but the lowest
// readPercent, because reads may be served from the server's memory.
func heaviest(axes *v1alpha1.SweepAxes) cell {
	var c cell
	if len(axes.Clients) > 0 {
		c.clients = int(slices.Max(axes.Clients))
	}
	if len(axes.Jobs) > 0 {
		c.overrides.Jobs = slices.Max(axes.Jobs)
	}
	if len(axes.QueueDepth) > 0 {
		c.overrides.QueueDepth = slices.Max(axes.QueueDepth)
	}
	if sizes := blockSizes(axes); len(sizes) > 0 {
		c.overrides.BlockSizeBytes = slices.Max(sizes)
	}
	if len(axes.ReadPercent) > 0 {
		c.overrides.ReadPercent = new(slices.Min(axes.ReadPercent))
	}
	return c
}

// refuseAxes reports invalid values, too many cells, and a sweep without axes. Admission refuses them too. In addition,
// refuseAxes reports duplicate values, because each cell is one entry in a matrix of results.
func (p *phaseMaker) refuseAxes(at *field.Path, axes *v1alpha1.SweepAxes) {
	refuseTwice(p.maker, at.Child("clients"), axes.Clients)
	refuseTwice(p.maker, at.Child("jobs"), axes.Jobs)
	refuseTwice(p.maker, at.Child("queueDepth"), axes.QueueDepth)
	refuseTwice(p.maker, at.Child("blockSize"), blockSizes(axes))
	refuseTwice(p.maker, at.Child("readPercent"), axes.ReadPercent)
	for i, count := range axes.Clients {
		if count < 1 || int(count) > p.plan.ClientsPerTarget {
			p.problems = append(p.problems, field.Invalid(at.Child("clients").Index(i), count,
				fmt.Sprintf("must be from 1 to clients.count (%d): lower it, or raise clients.count", p.plan.ClientsPerTarget)))
		}
	}
	refuseBelowOne(p.maker, at.Child("jobs"), axes.Jobs)
	refuseBelowOne(p.maker, at.Child("queueDepth"), axes.QueueDepth)
	refuseBelowOne(p.maker, at.Child("blockSize"), blockSizes(axes))
	count := 1
	for _, length := range []int{len(axes.Clients), len(axes.Jobs), len(axes.QueueDepth), len(axes.BlockSize), len(axes.ReadPercent)} {
		count *= max(1, min(length, maxCells+1)) // count is at most (maxCells+1)^5 = 257^5, which fits into an int
	}
	switch {
	case count > maxCells:
		p.problems = append(p.problems, field.Invalid(at, field.OmitValueType{}, fmt.Sprintf(
			"%d cells (the product of the lengths of all axes) exceed the limit of %d: shorten an axis, or split the phase in two", count, maxCells)))
	case len(axes.Clients)+len(axes.Jobs)+len(axes.QueueDepth)+len(axes.BlockSize)+len(axes.ReadPercent) == 0:
		p.problems = append(p.problems, field.Required(at, "set at least one axis, such as jobs: [1, 2, 4]"))
	}
}

// refuseBelowOne reports values below 1. The value 0 would mean that the axis is not set.
func refuseBelowOne[T int32 | int64](m *maker, at *field.Path, values []T) {
	for i, value := range values {
		if value < 1 {
			m.problems = append(m.problems, field.Invalid(at.Index(i), value, "must be at least 1"))
		}
	}
}

func refuseTwice[T comparable](m *maker, at *field.Path, values []T) {
	for i, value := range values {
		if slices.Contains(values[:i], value) {
			m.problems = append(m.problems, field.Duplicate(at.Index(i), value))
		}
	}
}

// shuffled returns a random order of count cells. The order depends only on the seed and must never change between
// versions, because a newer operator that resumes the run must find the same steps. The random numbers come from
// splitmix64 by Sebastiano Vigna; the shuffle is Fisher-Yates.
func shuffled(count int, seed uint64) []int {
	order := make([]int, count)
	for i := range order {
		order[i] = i
	}
	for i := count - 1; i > 0; i-- {
		seed += 0x9e3779b97f4a7c15
		mixed := seed
		mixed = (mixed ^ mixed>>30) * 0xbf58476d1ce4e5b9
		mixed = (mixed ^ mixed>>27) * 0x94d049bb133111eb
		mixed ^= mixed >> 31
		j := int(mixed % uint64(i+1)) //nolint:gosec // At most maxCells; the modulo bias is then below 1e-16.
		order[i], order[j] = order[j], order[i]
	}
	return order
}
