package truth

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// Row compares a figure of a run with the store's record. Missing values are NaN.
type Row struct {
	Phase, Figure string
	// Unit is the unit of the figures: B/s, IO/s, B, IO, s, or "".
	Unit string
	// Ours is the run's figure. Lower and Upper are its interval.
	Ours, Lower, Upper float64
	// Truth is the figure by the store's record, and Parameter by its configuration.
	Truth, Parameter float64
	// Bounds holds the bounds of Ours by the record, or NaN if they are unknown.
	Bounds Bounds
}

// Outside reports whether the figure is missing or outside its bounds. For a time, it is enough that its interval
// overlaps the bounds.
func (r Row) Outside() bool {
	switch {
	case math.IsNaN(r.Ours):
		return true
	case math.IsNaN(r.Bounds.Least):
		return false
	case r.Unit == "s" && !math.IsNaN(r.Lower) && !math.IsNaN(r.Upper):
		return r.Upper < r.Bounds.Least || r.Lower > r.Bounds.Most
	}
	return !r.Bounds.Hold(r.Ours)
}

// OffPercent returns the relative error of Ours in percent.
func (r Row) OffPercent() float64 {
	if r.Ours == r.Truth {
		return 0
	}
	return 100 * (r.Ours/r.Truth - 1)
}

// Off reports whether the relative error of the figure exceeds the given percentage, or the figure is missing.
func (r Row) Off(percent float64) bool { return !(math.Abs(r.OffPercent()) <= percent) }

// Compare compares the phases of a run with the record of the store that was its only target. A figure that a phase
// lacks becomes a row without Ours.
func Compare(record Record, config model.Config, run v1alpha1.BenchmarkRunStatus) []Row {
	c := comparison{record: record, config: config}
	for i, phase := range run.Phases {
		// All times are known only for steps that have ended.
		c.steps = slices.DeleteFunc(slices.Clone(run.Steps), func(step v1alpha1.StepStatus) bool {
			return !strings.HasPrefix(step.ID, fmt.Sprintf("%02d-", i)) || step.State != v1alpha1.StepSucceeded
		})
		loads := slices.DeleteFunc(slices.Clone(c.steps), func(step v1alpha1.StepStatus) bool { return step.MeasuredTime == nil })
		if c.phase = phase.Name; len(loads) == 0 || len(phase.Targets) != 1 {
			continue
		}
		load := loads[len(loads)-1]
		c.from, c.to = load.MeasuredTime.Time, loadEnd(load)
		if c.since.IsZero() {
			c.since = loads[0].FirstIOTime.Time
		}
		switch target := phase.Targets[0]; {
		case phase.Kind == v1alpha1.PhaseCooldown:
			c.redrain(target)
		case target.Burst != nil:
			c.drain(*target.Burst)
		case phase.Kind == v1alpha1.PhaseSteady:
			c.steady(target)
		}
	}
	c.everything(run.Steps)
	return c.rows
}

// loadEnd returns the time at which the clients were to end their load, or at which it ended, if that was earlier.
func loadEnd(step v1alpha1.StepStatus) time.Time {
	var end time.Time
	for _, one := range []*metav1.MicroTime{step.PlannedEndTime, step.ConcludedTime, step.LastIOTime} {
		if one != nil && (end.IsZero() || one.Time.Before(end)) {
			end = one.Time
		}
	}
	return end
}

type comparison struct {
	record Record
	config model.Config
	since  time.Time // time of the first I/O of the run
	rows   []Row

	phase string
	steps []v1alpha1.StepStatus
	// from and to are the start and end of the phase's measured load.
	from, to time.Time
}

var none = math.NaN()

// figure adds a row. scale converts the estimate to the unit, such as 1e-3 for thousandths of an operation.
func (c *comparison) figure(name, unit string, ours *v1alpha1.Estimate, scale, truth, parameter float64) {
	row := Row{Phase: c.phase, Figure: name, Unit: unit, Ours: none, Lower: none, Upper: none, Truth: truth, Parameter: parameter,
		Bounds: Bounds{none, none}}
	if ours != nil {
		row.Ours = float64(ours.Value) * scale
		if ours.Lower != nil {
			row.Lower = float64(*ours.Lower) * scale
		}
		if ours.Upper != nil {
			row.Upper = float64(*ours.Upper) * scale
		}
	}
	c.rows = append(c.rows, row)
}

// within sets the bounds of the newest row.
func (c *comparison) within(bounds Bounds) { c.rows[len(c.rows)-1].Bounds = bounds }

// levels compares the rates before and after the end of the credits, the time until then, and the credits spent from
// the time since on.
func (c *comparison) levels(s series, burst v1alpha1.BurstResult, truth Drain, since time.Time, size float64) {
	found := s.of(burst)
	segment := func(i int) Bounds {
		if i < 0 || i >= len(found.Segments) {
			return Bounds{none, none}
		}
		from, to := found.Segments[i].StartNanoseconds, found.Segments[i].EndNanoseconds
		return c.record.Rate(s.quantity, Span{c.from.Add(time.Duration(from)), c.from.Add(time.Duration(to)), Edge})
	}
	c.figure("burst", s.rate, found.Burst, s.rateScale, truth.Burst, s.bucket.BurstPerSecond)
	c.within(segment(slices.IndexFunc(found.Segments, func(one v1alpha1.Segment) bool { return one.Shape != "RampUp" })))
	c.figure("baseline", s.rate, found.Baseline, s.rateScale, truth.Baseline, s.bucket.BaselinePerSecond)
	c.within(segment(len(found.Segments) - 1))
	c.figure("time to baseline", "s", burst.NanosecondsToBaseline, 1e-9, truth.Seconds, none)
	end := c.from.Add(time.Duration(truth.Seconds * 1e9))
	c.within(c.record.end(c.from, end))
	c.figure("spent", s.amount, spent(found), 1, truth.Spent, size)
	c.within(c.spentBounds(s, found, truth, since, end))
}

// spentBounds returns bounds for the spent credits: the value by the record, widened by the effect of moving the edges.
func (c *comparison) spentBounds(s series, found v1alpha1.BurstSeries, truth Drain, since, end time.Time) Bounds {
	if s.bucket.CountsStored || s.bucket.CompressionRatio > 0 {
		return Bounds{none, none} // credits do not count the bytes read and written
	}
	back := s.bucket.Refill()
	if found.Refill != nil {
		back = float64(found.Refill.Value) * s.rateScale
	}
	at := c.record.Amount(s.quantity, Span{From: since, To: end}, back)
	around := c.record.Amount(s.quantity, Span{since, end, Edge}, back)
	middle := (at.Least + at.Most) / 2
	return Bounds{truth.Spent + around.Least - middle, truth.Spent + around.Most - middle}
}

// drain compares the figures of a burst drain.
func (c *comparison) drain(burst v1alpha1.BurstResult) {
	truth := c.record.Drain(c.config, c.since, c.from, c.to)
	c.exhausted(burst, truth)
	if truth.Bucket == "" {
		if burst.Bytes != nil {
			c.figure("mean", "B/s", burst.Bytes.Burst, 1, truth.MeanBytes, none)
		}
		return
	}
	s := c.seriesOf(truth)
	c.levels(s, burst, truth, c.since, s.bucket.Size)
}

func (c *comparison) exhausted(burst v1alpha1.BurstResult, truth Drain) {
	number := func(yes bool) (n int64) {
		if yes {
			n = 1
		}
		return n
	}
	c.figure("exhausted", "", &v1alpha1.Estimate{Value: number(burst.Exhausted)}, 1, float64(number(truth.Bucket != "")), none)
}

// redrain compares the length of a pause and the figures of the drain after it.
func (c *comparison) redrain(target v1alpha1.TargetResult) {
	pause, ok := c.record.LongestPause(c.steps[0].StartTime.Time, c.to)
	if !ok || target.Burst == nil {
		return
	}
	var idle *v1alpha1.Estimate
	if known := target.Burst.IdleNanoseconds; known != nil {
		idle = &v1alpha1.Estimate{Value: *known}
	}
	const clocks = 2 * (Edge - result.SampleInterval)
	length := pause.Length()
	c.figure("idle", "s", idle, 1e-9, length.Seconds(), none)
	c.within(Bounds{(length - clocks).Seconds(), (length + clocks).Seconds()})
	truth := c.record.Drain(c.config, pause.To, pause.To, c.to)
	c.exhausted(*target.Burst, truth)
	if truth.Bucket == "" {
		return
	}
	s := c.seriesOf(truth)
	series := s.of(*target.Burst)
	c.levels(s, *target.Burst, truth, pause.To, min(s.bucket.Size, s.bucket.Refill()*length.Seconds()))
	spent := c.rows[len(c.rows)-1].Bounds
	refill := series.Refill
	if series.RefillSource != "Measured" {
		refill = nil // a documented or assumed refill was not measured
	}
	c.figure("refill", s.rate, refill, s.rateScale, c.record.Refill(c.config, truth.Bucket, pause), s.bucket.Refill())
	c.within(Bounds{spent.Least / (length + clocks).Seconds(), spent.Most / (length - clocks).Seconds()})
}

// Window returns the time to which the figures of a target apply, for a load that is measured from the given instant
// on. It begins when the last client has started.
func Window(target v1alpha1.TargetResult, measured time.Time) (from, to time.Time) {
	from = measured
	if skew := target.StartSkewNanoseconds; skew != nil && !target.WorkBound {
		from = from.Add(time.Duration(*skew))
	}
	return from, from.Add(time.Duration(target.WindowNanoseconds))
}

// steady compares the rates in the window that the run reports.
func (c *comparison) steady(target v1alpha1.TargetResult) {
	from, to := Window(target, c.from)
	truth, seconds := c.record.Between(from, to), to.Sub(from).Seconds()
	for _, operation := range target.Operations {
		bytes, operations := truth.ReadBytes, truth.ReadOperations
		countBytes, countOperations := ReadBytes, ReadOperations
		if operation.Operation == v1alpha1.OperationWrite {
			bytes, operations = truth.WriteBytes, truth.WriteOperations
			countBytes, countOperations = WriteBytes, WriteOperations
		}
		name := strings.ToLower(string(operation.Operation))
		if operation.BytesPerSecond != nil && bytes > 0 {
			c.figure(name, "B/s", &v1alpha1.Estimate{Value: *operation.BytesPerSecond}, 1, bytes/seconds, none)
			c.within(c.record.Rate(countBytes, Span{from, to, Edge}))
		}
		// The store's count of operations differs from the client's if requests exceed 1 MiB, which arrive in pieces, or if
		// the phase has a fixed amount of work, which includes writing the small ownership files.
		if !target.WorkBound && operation.IOPSMilli != nil && operations > 0 && operation.Operations > 0 && operation.Bytes/operation.Operations <= 1<<20 {
			c.figure(name+" operations", "IO/s", &v1alpha1.Estimate{Value: *operation.IOPSMilli}, 1e-3, operations/seconds, none)
			c.within(c.record.Rate(countOperations, Span{from, to, Edge}))
		}
	}
}

// everything compares the total I/O of all steps, including requests in flight at the ends of steps. I/O between fio's
// last dump in a warm-up and the end of the warm-up is in no dump, and I/O of the batch that completes at that end may
// be in two.
func (c *comparison) everything(steps []v1alpha1.StepStatus) {
	c.phase = "all steps"
	ours, unsure := int64(0), 0.0
	for _, step := range steps {
		for _, io := range step.IO {
			ours += io.Bytes
		}
		if first, measured := step.FirstIOTime, step.MeasuredTime; first != nil && measured != nil && measured.Sub(first.Time) > result.SampleInterval {
			around := c.record.Between(measured.Add(-Edge), measured.Add(Edge))
			unsure += around.ReadBytes + around.WriteBytes
		}
	}
	sums := c.record.Between(c.record.Start, c.record.At(time.Duration(len(c.record.Seconds))*time.Second))
	c.figure("read and written", "B", &v1alpha1.Estimate{Value: ours}, 1, sums.ReadBytes+sums.WriteBytes, none)
	c.within(Bounds{sums.ReadBytes + sums.WriteBytes - notes - unsure, sums.ReadBytes + sums.WriteBytes + unsure})
}

// notes is the maximum number of bytes that clients write in addition to their load: ownership files and descriptions
// of the data.
const notes = 64 << 10

// series selects the figures of a drain, in bytes or in operations, depending on what its bucket counts.
type series struct {
	bucket       model.Bucket
	rate, amount string
	rateScale    float64
	quantity     Quantity
	of           func(v1alpha1.BurstResult) v1alpha1.BurstSeries
}

func (c *comparison) seriesOf(drain Drain) series {
	i := slices.IndexFunc(c.config.Buckets, func(b model.Bucket) bool { return b.Name == drain.Bucket })
	s := series{bucket: c.config.Buckets[i], rate: "B/s", amount: "B", rateScale: 1, quantity: Bytes}
	pick := func(burst v1alpha1.BurstResult) *v1alpha1.BurstSeries { return burst.Bytes }
	if drain.Counts == model.CountsOperations {
		s.rate, s.amount, s.rateScale, s.quantity = "IO/s", "IO", 1e-3, Operations
		pick = func(burst v1alpha1.BurstResult) *v1alpha1.BurstSeries { return burst.Operations }
	}
	s.of = func(burst v1alpha1.BurstResult) v1alpha1.BurstSeries {
		if found := pick(burst); found != nil {
			return *found
		}
		return v1alpha1.BurstSeries{}
	}
	return s
}

// spent returns the credits spent up to the last drop of the rate, at which the store's credits run out.
func spent(series v1alpha1.BurstSeries) *v1alpha1.Estimate {
	if len(series.Drops) == 0 {
		return nil
	}
	return series.Drops[len(series.Drops)-1].Spent
}

// Table formats the rows for people, one line per figure.
func Table(rows []Row) string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells ...string) { _, _ = fmt.Fprintln(table, strings.Join(cells, "\t")+"\t") } // into memory
	line("phase", "figure", "measured", "95 % interval", "store's record", "off", "may be", "its parameters")
	last := ""
	for _, row := range rows {
		phase := row.Phase
		if phase == last {
			phase = ""
		}
		last = row.Phase
		line(phase, row.Figure, amount(row.Ours, row.Unit), interval(row), amount(row.Truth, row.Unit), percent(row), bounds(row), amount(row.Parameter, row.Unit))
	}
	_ = table.Flush() // into memory
	return text.String()
}

func percent(row Row) string {
	if math.IsNaN(row.OffPercent()) {
		return "missing"
	}
	return fmt.Sprintf("%+.2f %%", row.OffPercent())
}

func interval(row Row) string { return fromTo(row.Lower, row.Upper, row.Unit) }

func bounds(row Row) string { return fromTo(row.Bounds.Least, row.Bounds.Most, row.Unit) }

func fromTo(lower, upper float64, unit string) string {
	if math.IsNaN(lower) || math.IsNaN(upper) {
		return ""
	}
	return strings.TrimSuffix(amount(lower, unit), " "+unitOf(unit)) + " .. " + amount(upper, unit)
}

func unitOf(unit string) string {
	if strings.HasPrefix(unit, "B") {
		return "M" + unit
	}
	return unit
}

// amount formats a figure with its unit. Bytes are in MB (10^6).
func amount(value float64, unit string) string {
	switch {
	case math.IsNaN(value):
		return ""
	case unit == "":
		return map[float64]string{0: "no", 1: "yes"}[value]
	case strings.HasPrefix(unit, "B"):
		return fmt.Sprintf("%.2f %s", value/1e6, unitOf(unit))
	default:
		return fmt.Sprintf("%.2f %s", value, unit)
	}
}
