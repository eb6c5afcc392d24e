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
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// Row is one figure of a run beside the truth. What there is none of is NaN.
type Row struct {
	Phase, Figure string
	// Unit of the figures: B/s, IO/s, B, IO, s, or nothing.
	Unit string
	// Ours is what the run says, Lower and Upper its interval.
	Ours, Lower, Upper float64
	// Truth is by the store's record, Parameter by its configuration.
	Truth, Parameter float64
}

// OffPercent is by how much ours is off.
func (r Row) OffPercent() float64 {
	if r.Ours == r.Truth {
		return 0
	}
	return 100 * (r.Ours/r.Truth - 1)
}

// Off says whether a figure is off by more than some percent, or is missing.
func (r Row) Off(percent float64) bool { return !(math.Abs(r.OffPercent()) <= percent) }

// Compare holds the phases of a run against the record of the store that was its only target. What a phase lacks
// is a row without ours.
func Compare(record Record, config model.Config, run v1alpha1.BenchmarkRunStatus) []Row {
	c := comparison{record: record, config: config}
	for i, phase := range run.Phases {
		// Only of steps that are over all times are known.
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

// loadEnd is when the clients were to end their load, or when it was done.
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
	since  time.Time // the first I/O of the run
	rows   []Row

	phase string
	steps []v1alpha1.StepStatus
	// from and to are the measured load of the phase.
	from, to time.Time
}

var none = math.NaN()

// figure adds a row. A rate or an amount of operations is in thousandths or not, as scale says.
func (c *comparison) figure(name, unit string, ours *v1alpha1.Estimate, scale, truth, parameter float64) {
	row := Row{Phase: c.phase, Figure: name, Unit: unit, Ours: none, Lower: none, Upper: none, Truth: truth, Parameter: parameter}
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

// drain compares what a burst drain found.
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
	series := s.of(burst)
	c.figure("burst", s.rate, series.Burst, s.rateScale, truth.Burst, s.bucket.BurstPerSecond)
	c.figure("baseline", s.rate, series.Baseline, s.rateScale, truth.Baseline, s.bucket.BaselinePerSecond)
	c.figure("time to baseline", "s", burst.NanosecondsToBaseline, 1e-9, truth.Seconds, none)
	c.figure("spent", s.amount, spent(series), 1, truth.Spent, s.bucket.Size)
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

// redrain compares a pause and the drain after it.
func (c *comparison) redrain(target v1alpha1.TargetResult) {
	pause, ok := c.record.LongestPause(c.steps[0].StartTime.Time, c.to)
	if !ok || target.Burst == nil {
		return
	}
	var idle *v1alpha1.Estimate
	if known := target.Burst.IdleNanoseconds; known != nil {
		idle = &v1alpha1.Estimate{Value: *known}
	}
	c.figure("idle", "s", idle, 1e-9, pause.Length().Seconds(), none)
	truth := c.record.Drain(c.config, pause.To, pause.To, c.to)
	c.exhausted(*target.Burst, truth)
	if truth.Bucket == "" {
		return
	}
	s := c.seriesOf(truth)
	series := s.of(*target.Burst)
	c.figure("burst", s.rate, series.Burst, s.rateScale, truth.Burst, s.bucket.BurstPerSecond)
	c.figure("baseline", s.rate, series.Baseline, s.rateScale, truth.Baseline, s.bucket.BaselinePerSecond)
	c.figure("time to baseline", "s", target.Burst.NanosecondsToBaseline, 1e-9, truth.Seconds, none)
	c.figure("spent", s.amount, spent(series), 1, truth.Spent, min(s.bucket.Size, s.bucket.Refill()*pause.Length().Seconds()))
	refill := series.Refill
	if series.RefillSource != "Measured" {
		refill = nil // what was documented or assumed is no figure of ours
	}
	c.figure("refill", s.rate, refill, s.rateScale, c.record.Refill(c.config, truth.Bucket, pause), s.bucket.Refill())
}

// Window is the time that a run's figures of a target are of, when its load is measured from an instant on; it begins
// when the last client has begun.
func Window(target v1alpha1.TargetResult, measured time.Time) (from, to time.Time) {
	from = measured
	if skew := target.StartSkewNanoseconds; skew != nil && !target.WorkBound {
		from = from.Add(time.Duration(*skew))
	}
	return from, from.Add(time.Duration(target.WindowNanoseconds))
}

// steady compares rates in the window that the run says.
func (c *comparison) steady(target v1alpha1.TargetResult) {
	from, to := Window(target, c.from)
	truth, seconds := c.record.Between(from, to), to.Sub(from).Seconds()
	for _, operation := range target.Operations {
		bytes, operations := truth.ReadBytes, truth.ReadOperations
		if operation.Operation == v1alpha1.OperationWrite {
			bytes, operations = truth.WriteBytes, truth.WriteOperations
		}
		name := strings.ToLower(string(operation.Operation))
		if operation.BytesPerSecond != nil && bytes > 0 {
			c.figure(name, "B/s", &v1alpha1.Estimate{Value: *operation.BytesPerSecond}, 1, bytes/seconds, none)
		}
		// Requests of over 1 MiB come to the store in pieces, and with the data come the small files that name its owner.
		if !target.WorkBound && operation.IOPSMilli != nil && operations > 0 && operation.Operations > 0 && operation.Bytes/operation.Operations <= 1<<20 {
			c.figure(name+" operations", "IO/s", &v1alpha1.Estimate{Value: *operation.IOPSMilli}, 1e-3, operations/seconds, none)
		}
	}
}

// everything compares all I/O that was done, in flight at ends of steps included.
func (c *comparison) everything(steps []v1alpha1.StepStatus) {
	c.phase = "all steps"
	ours := int64(0)
	for _, step := range steps {
		for _, io := range step.IO {
			ours += io.Bytes
		}
	}
	sums := c.record.Between(c.record.Start, c.record.At(time.Duration(len(c.record.Seconds))*time.Second))
	c.figure("read and written", "B", &v1alpha1.Estimate{Value: ours}, 1, sums.ReadBytes+sums.WriteBytes, none)
}

// series says where the figures of a drain are: in bytes or in operations, as its bucket counts.
type series struct {
	bucket       model.Bucket
	rate, amount string
	rateScale    float64
	of           func(v1alpha1.BurstResult) v1alpha1.BurstSeries
}

func (c *comparison) seriesOf(drain Drain) series {
	i := slices.IndexFunc(c.config.Buckets, func(b model.Bucket) bool { return b.Name == drain.Bucket })
	s := series{bucket: c.config.Buckets[i], rate: "B/s", amount: "B", rateScale: 1}
	pick := func(burst v1alpha1.BurstResult) *v1alpha1.BurstSeries { return burst.Bytes }
	if drain.Counts == model.CountsOperations {
		s.rate, s.amount, s.rateScale = "IO/s", "IO", 1e-3
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

// spent is that of the last drop, which is the one that the store's credits end at.
func spent(series v1alpha1.BurstSeries) *v1alpha1.Estimate {
	if len(series.Drops) == 0 {
		return nil
	}
	return series.Drops[len(series.Drops)-1].Spent
}

// Table is for people: a line a figure.
func Table(rows []Row) string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells ...string) { _, _ = fmt.Fprintln(table, strings.Join(cells, "\t")+"\t") } // into memory
	line("phase", "figure", "measured", "95 % interval", "store's record", "off", "its parameters")
	last := ""
	for _, row := range rows {
		phase := row.Phase
		if phase == last {
			phase = ""
		}
		last = row.Phase
		line(phase, row.Figure, amount(row.Ours, row.Unit), interval(row), amount(row.Truth, row.Unit), percent(row), amount(row.Parameter, row.Unit))
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

func interval(row Row) string {
	if math.IsNaN(row.Lower) || math.IsNaN(row.Upper) {
		return ""
	}
	return strings.TrimSuffix(amount(row.Lower, row.Unit), " "+unitOf(row.Unit)) + " .. " + amount(row.Upper, row.Unit)
}

func unitOf(unit string) string {
	if strings.HasPrefix(unit, "B") {
		return "M" + unit
	}
	return unit
}

// amount is a figure with its unit; bytes are in 10^6.
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
