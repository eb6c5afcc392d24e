package series

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

const microsecond = 1000

// Decode rejects logs that exceed these limits, because its input is not trusted.
const (
	maxPoints = 1 << 21
	// MaxDuration is the maximum length of a Minute. A Minute normally lasts about 60 s, but it includes any pause of its
	// clients, so the maximum is longer than the longest run (7 days).
	MaxDuration = 8 * 24 * time.Hour
)

func columnsOf(l *Log) columns {
	made := columns{Version: formatVersion, Steps: []stepColumn{}}
	if l == nil {
		return made
	}
	made.Coarsened = l.Coarsened
	for _, step := range l.Steps {
		column := stepColumn{ID: step.ID, Attempt: step.Attempt}
		for i := range step.Targets {
			column.Targets = append(column.Targets, targetColumnOf(&step.Targets[i]))
		}
		made.Steps = append(made.Steps, column)
	}
	for i := range l.Observed {
		made.Observed = append(made.Observed, observedColumnOf(&l.Observed[i]))
	}
	return made
}

func targetColumnOf(t *Target) targetColumn {
	made := targetColumn{Target: t.Name}
	made.points(t.Points)
	for _, m := range t.Minutes {
		made.Minutes = append(made.Minutes, minuteColumn{Start: m.StartNanoseconds, End: m.EndNanoseconds, Operation: m.Operation,
			Samples: m.Samples, Percentiles: [4]uint64{m.P50, m.P95, m.P99, m.P999}})
	}
	for _, d := range t.Latency {
		column := latencyColumn{Operation: d.Operation, Bins: [][2]uint64{}}
		for _, bin := range d.Bins {
			column.Bins = append(column.Bins, [2]uint64{bin.LowNanoseconds, bin.Count})
		}
		made.Latency = append(made.Latency, column)
	}
	for _, c := range t.Clients {
		made.Clients = append(made.Clients, [2]int64{int64(c.Client), c.BytesPerSecond})
	}
	return made
}

// points appends points to the columns, with timestamps in microseconds since the start of the first point. Each
// timestamp is rounded individually, so that rounding errors do not accumulate.
func (c *targetColumn) points(points []Point) {
	if len(points) == 0 {
		return
	}
	c.Start = points[0].StartNanoseconds
	micros := func(instant int64) int64 { return (instant - c.Start) / microsecond }
	used := [measure.NumOperations]bool{}
	end := int64(0)
	for i := range points {
		start, stop := micros(points[i].StartNanoseconds), micros(points[i].EndNanoseconds)
		c.Gaps = append(c.Gaps, start-end)
		c.Lengths = append(c.Lengths, stop-start)
		c.States = append(c.States, int(points[i].State))
		end = stop
		for operation, counter := range points[i].Counters {
			used[operation] = used[operation] || counter != (measure.Counter{})
		}
	}
	c.Counts = map[string]countColumn{}
	for operation, is := range used {
		if !is {
			continue
		}
		column := countColumn{}
		for i := range points {
			column.Bytes = append(column.Bytes, points[i].Counters[operation].Bytes)
			column.Operations = append(column.Operations, points[i].Counters[operation].Operations)
		}
		c.Counts[measure.Operation(operation).String()] = column
	}
}

func (c *columns) log() (*Log, error) {
	made := &Log{Coarsened: c.Coarsened}
	for _, step := range c.Steps {
		read := Step{ID: step.ID, Attempt: step.Attempt}
		for i := range step.Targets {
			target, err := step.Targets[i].target()
			if err != nil {
				return nil, fmt.Errorf("read the series: step %q, target %q: %w", step.ID, step.Targets[i].Target, err)
			}
			read.Targets = append(read.Targets, target)
		}
		made.Steps = append(made.Steps, read)
	}
	for i := range c.Observed {
		read, err := c.Observed[i].observed()
		if err != nil {
			return nil, err
		}
		made.Observed = append(made.Observed, read)
	}
	return made, nil
}

func (c *targetColumn) target() (Target, error) {
	made := Target{Name: c.Target}
	var err error
	if made.Points, err = c.readPoints(); err != nil {
		return made, err
	}
	for _, m := range c.Minutes {
		if m.End < m.Start || m.Start < -measure.MaxInstant || m.End > measure.MaxInstant || m.End-m.Start > int64(MaxDuration) {
			return made, fmt.Errorf("invalid per-minute latencies: %d to %d ns is not a valid interval", m.Start, m.End)
		}
		p := m.Percentiles
		known := slices.DeleteFunc(slices.Clone(p[:]), func(nanoseconds uint64) bool { return nanoseconds == 0 })
		if !slices.IsSorted(known) {
			return made, fmt.Errorf("the percentiles %d ns are not in increasing order", p)
		}
		made.Minutes = append(made.Minutes, Minute{StartNanoseconds: m.Start, EndNanoseconds: m.End, Operation: m.Operation, Samples: m.Samples,
			P50: p[0], P95: p[1], P99: p[2], P999: p[3]})
	}
	for _, d := range c.Latency {
		read := Distribution{Operation: d.Operation}
		for i, bin := range d.Bins {
			low, high := binOf(bin[0])
			if low != bin[0] || i > 0 && d.Bins[i-1][0] >= bin[0] {
				return made, fmt.Errorf("%d ns is not the lower edge of a bin, or is out of order", bin[0])
			}
			read.Bins = append(read.Bins, Bin{LowNanoseconds: low, HighNanoseconds: high, Count: bin[1]})
		}
		made.Latency = append(made.Latency, read)
	}
	for _, one := range c.Clients {
		if one[0] < 0 || one[0] > math.MaxInt32 || one[1] < 0 {
			return made, fmt.Errorf("invalid client rate: client %d, %d bytes/s", one[0], one[1])
		}
		made.Clients = append(made.Clients, ClientRate{Client: int(one[0]), BytesPerSecond: one[1]})
	}
	return made, nil
}

func (c *targetColumn) readPoints() ([]Point, error) {
	count := len(c.Gaps)
	if count > maxPoints || len(c.Lengths) != count || len(c.States) != count || c.Start < -measure.MaxInstant || c.Start > measure.MaxInstant {
		return nil, fmt.Errorf("invalid points: %d gaps, %d lengths and %d states", count, len(c.Lengths), len(c.States))
	}
	if count == 0 {
		return nil, nil
	}
	points := make([]Point, count)
	at := c.Start
	for i := range points {
		const longest = measure.MaxInstant / microsecond / 4
		if c.Gaps[i] < 0 || c.Gaps[i] > longest || c.Lengths[i] < 0 || c.Lengths[i] > longest || c.States[i] < 0 || c.States[i] >= int(numStates) {
			return nil, fmt.Errorf("invalid point %d: gap %d us, length %d us, state %d", i, c.Gaps[i], c.Lengths[i], c.States[i])
		}
		points[i].StartNanoseconds = at + c.Gaps[i]*microsecond
		points[i].EndNanoseconds = points[i].StartNanoseconds + c.Lengths[i]*microsecond
		points[i].State = State(c.States[i])
		at = points[i].EndNanoseconds
		if at > measure.MaxInstant {
			return nil, fmt.Errorf("the end of point %d is out of range", i)
		}
	}
	for name, counts := range c.Counts {
		operation, err := measure.ParseOperation(name)
		if err != nil {
			return nil, err
		}
		if len(counts.Bytes) != count || len(counts.Operations) != count {
			return nil, fmt.Errorf("%d points, but %d byte counts and %d operation counts of %s", count, len(counts.Bytes), len(counts.Operations), name)
		}
		for i := range points {
			points[i].Counters[operation] = measure.Counter{Bytes: counts.Bytes[i], Operations: counts.Operations[i]}
		}
	}
	return points, nil
}
