package series

import (
	"fmt"
	"math"

	"github.com/storagebench/storagebench/internal/measure"
)

// Observed holds one series of an observation's values during a step.
type Observed struct {
	Name, Step, Labels string
	Points             []ObservedPoint
}

// ObservedPoint is a value of an observation at an instant, in Unix time in nanoseconds.
type ObservedPoint struct {
	Nanoseconds int64
	Value       float64
}

// observedColumn is the serialized form of Observed. Times are in milliseconds. The first one is Unix time; each of the
// others is relative to the previous one.
type observedColumn struct {
	Name   string    `json:"name"`
	Step   string    `json:"step"`
	Labels string    `json:"labels,omitempty"`
	Times  []int64   `json:"times"`
	Values []float64 `json:"values"`
}

const millisecond = 1_000_000

func observedColumnOf(o *Observed) observedColumn {
	made := observedColumn{Name: o.Name, Step: o.Step, Labels: o.Labels, Times: []int64{}, Values: []float64{}}
	before := int64(0)
	for _, p := range o.Points {
		at := p.Nanoseconds / millisecond
		made.Times, made.Values = append(made.Times, at-before), append(made.Values, p.Value)
		before = at
	}
	return made
}

func (c *observedColumn) observed() (Observed, error) {
	made := Observed{Name: c.Name, Step: c.Step, Labels: c.Labels}
	if len(c.Times) != len(c.Values) || len(c.Times) > maxPoints {
		return made, fmt.Errorf("read the series: observation %q has %d times and %d values", c.Name, len(c.Times), len(c.Values))
	}
	const most = measure.MaxInstant / millisecond
	at := int64(0)
	for i, after := range c.Times {
		if after < 0 || after > most-at || math.IsNaN(c.Values[i]) || math.IsInf(c.Values[i], 0) {
			return made, fmt.Errorf("read the series: observation %q has an invalid point %d", c.Name, i)
		}
		at += after
		made.Points = append(made.Points, ObservedPoint{Nanoseconds: at * millisecond, Value: c.Values[i]})
	}
	return made, nil
}
