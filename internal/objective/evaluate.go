package objective

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// maxMessage is the API's limit on the length of a message.
const maxMessage = 512

// Evaluate evaluates each objective, in order. An objective without a target applies to every target. An objective
// whose cell selector matches several cells applies to each of these cells.
func Evaluate(objectives []v1alpha1.Objective, spec *v1alpha1.BenchmarkRunSpec, status *v1alpha1.BenchmarkRunStatus) []v1alpha1.ObjectiveResult {
	results := make([]v1alpha1.ObjectiveResult, 0, len(objectives))
	for i := range objectives {
		results = append(results, evaluate(&objectives[i], spec, status))
	}
	return results
}

// Overall returns the overall verdict: Missed if any objective is missed, else Unknown if any is unknown, else Met.
func Overall(results []v1alpha1.ObjectiveResult) v1alpha1.Verdict {
	overall := v1alpha1.VerdictMet
	for i := range results {
		if severity(results[i].Verdict) > severity(overall) {
			overall = results[i].Verdict
		}
	}
	return overall
}

func severity(verdict v1alpha1.Verdict) int {
	switch verdict {
	case v1alpha1.VerdictMissed:
		return 2
	case v1alpha1.VerdictMet:
		return 0
	case v1alpha1.VerdictUnknown:
	}
	return 1
}

// bounds holds the lower and the upper bound of a figure, in the figure's unit. nil means that there is no such bound.
type bounds struct {
	unit     string
	min, max *int64
}

func boundsOf(o *v1alpha1.Objective) (bounds, error) {
	switch {
	case o.IOPS != nil:
		return bounds{unit: unitIOPS, min: milli(o.IOPS.Min), max: milli(o.IOPS.Max)}, nil
	case o.Latency != nil:
		return times("latency", o.Latency.Min, o.Latency.Max)
	case o.TimeToBaseline != nil:
		return times("timeToBaseline", o.TimeToBaseline.Min, o.TimeToBaseline.Max)
	case o.Ratio != nil:
		return bounds{unit: unitPermille, min: permille(o.Ratio.MinPercent), max: permille(o.Ratio.MaxPercent)}, nil
	case o.Credits != nil:
		return bounds{unit: unitAmount, min: whole(o.Credits.Min), max: whole(o.Credits.Max)}, nil
	}
	for _, given := range []*v1alpha1.QuantityBounds{o.Throughput, o.Burst, o.Baseline, o.Refill} {
		if given != nil {
			return bounds{unit: unitBytes, min: whole(given.Min), max: whole(given.Max)}, nil
		}
	}
	return bounds{}, nil
}

// times parses the bounds of an objective whose figure is a duration. T is one of the API's two duration types.
func times[T interface{ Parse() (time.Duration, error) }](name string, least, most *T) (bounds, error) {
	made := bounds{unit: unitTime}
	for _, one := range []struct {
		name string
		from *T
		into **int64
	}{{"min", least, &made.min}, {"max", most, &made.max}} {
		if one.from == nil {
			continue
		}
		length, err := (*one.from).Parse()
		if err != nil {
			return bounds{unit: unitTime}, fmt.Errorf("%s.%s: %w", name, one.name, err)
		}
		*one.into = new(length.Nanoseconds())
	}
	return made, nil
}

func permille(percent *int32) *int64 {
	if percent == nil {
		return nil
	}
	return new(int64(*percent) * 10)
}

func whole(quantity *resource.Quantity) *int64 {
	if quantity == nil {
		return nil
	}
	return new(quantity.Value())
}

func milli(quantity *resource.Quantity) *int64 {
	if quantity == nil {
		return nil
	}
	if quantity.Value() > math.MaxInt64/1000 {
		return new(int64(math.MaxInt64))
	}
	return new(quantity.MilliValue())
}

func evaluate(o *v1alpha1.Objective, spec *v1alpha1.BenchmarkRunSpec, status *v1alpha1.BenchmarkRunStatus) v1alpha1.ObjectiveResult {
	limits, err := boundsOf(o)
	result := v1alpha1.ObjectiveResult{Name: o.Name, Figure: Figure(o), Unit: limits.unit}
	if err != nil {
		result.Verdict, result.Message = v1alpha1.VerdictUnknown, v1alpha1.Truncate(err.Error(), maxMessage)
		return result
	}
	var worst judged
	others := 0
	for i, f := range figures(o, spec, status) {
		one := judge(f, &limits)
		if i == 0 || one.worseThan(&worst) {
			worst = one
		}
		others = i
	}
	if worst.figure.unit != "" {
		result.Unit = worst.figure.unit
	}
	result.Verdict = worst.verdict
	if worst.verdict != v1alpha1.VerdictUnknown {
		result.Observed = &worst.figure.value
	}
	result.Required = worst.required
	result.Message = v1alpha1.Truncate(worst.sentence(result.Unit, others), maxMessage)
	return result
}

// judged is a figure with its verdict and the bound that decided it.
type judged struct {
	figure   figure
	verdict  v1alpha1.Verdict
	required *int64
	atMost   bool
	// margin is the distance from the bound to the figure, as a share of the bound. It is negative if the figure
	// misses the bound.
	margin float64
}

func judge(f figure, limits *bounds) judged {
	least := judged{figure: f, verdict: v1alpha1.VerdictUnknown, required: limits.min}
	if limits.min == nil {
		least.required, least.atMost = limits.max, true
	}
	if f.missing != "" || least.required == nil {
		return least
	}
	least.verdict, least.margin = v1alpha1.VerdictMet, math.Inf(1)
	for _, bound := range []struct {
		value  *int64
		atMost bool
	}{{limits.min, false}, {limits.max, true}} {
		if bound.value == nil {
			continue
		}
		margin := (float64(f.value) - float64(*bound.value)) / max(float64(*bound.value), 1)
		if bound.atMost {
			margin = -margin
		}
		// Compare integers to decide whether the figure meets the bound, because floats have only 53 bits of precision.
		missed := !bound.atMost && f.value < *bound.value || bound.atMost && f.value > *bound.value
		if margin < least.margin || missed {
			least.required, least.atMost, least.margin = bound.value, bound.atMost, margin
		}
		if missed {
			least.verdict = v1alpha1.VerdictMissed
		}
	}
	if f.clipped != "" && limits.max != nil && least.verdict == v1alpha1.VerdictMet {
		// The figure is only a lower bound, so the true value may exceed the objective's upper bound.
		least.verdict, least.figure.missing = v1alpha1.VerdictUnknown, f.clipped
	}
	return least
}

// worseThan reports whether j is worse than other. The worst figure determines the verdict on an objective.
func (j *judged) worseThan(other *judged) bool {
	if a, b := severity(j.verdict), severity(other.verdict); a != b {
		return a > b
	}
	return j.margin < other.margin
}

// sentence returns a sentence that explains the verdict.
func (j *judged) sentence(unit string, others int) string {
	if j.figure.missing != "" {
		return fmt.Sprintf("%s: %s", j.figure.where, j.figure.missing)
	}
	if j.required == nil {
		return fmt.Sprintf("%s: the objective has no bound", j.figure.where)
	}
	bound := "at least"
	if j.atMost {
		bound = "at most"
	}
	observed, required := apart(unit, j.figure.value, *j.required), apart(unit, *j.required, j.figure.value)
	text := fmt.Sprintf("%s: %s, want %s %s", j.figure.where, observed, bound, required)
	if j.figure.lower != nil && j.figure.upper != nil && *j.figure.lower <= *j.required && *j.required <= *j.figure.upper {
		text += fmt.Sprintf("; its 95 %% interval, %s to %s, includes the bound", written(unit, *j.figure.lower), written(unit, *j.figure.upper))
	}
	if others > 0 {
		text += fmt.Sprintf("; it is the worst of %d figures", others+1)
	}
	return text
}

func written(unit string, value int64) string {
	switch unit {
	case unitBytes:
		return measure.FormatBytesPerSecond(float64(value))
	case unitIOPS:
		return measure.FormatOperationsPerSecond(float64(value) / 1000)
	case unitTime:
		return measure.FormatLatency(uint64(max(value, 0))) // #nosec G115 -- not negative
	case unitAmount:
		return measure.FormatBytes(uint64(max(value, 0))) // #nosec G115 -- not negative
	case unitOperations:
		return fmt.Sprintf("%d operations", value)
	}
	return strconv.FormatFloat(float64(value)/10, 'f', -1, 64) + " %"
}

// apart formats a value. It uses all digits if value and other differ but would otherwise read the same.
func apart(unit string, value, other int64) string {
	text := written(unit, value)
	if value == other || text != written(unit, other) {
		return text
	}
	switch unit {
	case unitBytes:
		return fmt.Sprintf("%d B/s", value)
	case unitIOPS:
		return fmt.Sprintf("%d.%03d IOPS", value/1000, value%1000)
	case unitTime:
		return fmt.Sprintf("%d ns", value)
	case unitAmount:
		return fmt.Sprintf("%d B", value)
	}
	return text
}

// Direction returns "at most" if the required value is the objective's upper bound, and "at least" if it is the lower
// bound or if both bounds have this value.
func Direction(o *v1alpha1.Objective, required int64) string {
	if limits, err := boundsOf(o); err == nil && limits.max != nil && *limits.max == required && (limits.min == nil || *limits.min != required) {
		return "at most"
	}
	return "at least"
}

// Wanted describes the bounds of an objective, such as "at least 260.0 MB/s".
func Wanted(o *v1alpha1.Objective) string {
	limits, err := boundsOf(o)
	if err != nil {
		return ""
	}
	text := func(value int64) string {
		if limits.unit == unitAmount {
			// Only the result shows whether the credits count bytes or operations.
			return written(unitAmount, value) + " or " + written(unitOperations, value)
		}
		return written(limits.unit, value)
	}
	var words []string
	if limits.min != nil {
		words = append(words, "at least "+text(*limits.min))
	}
	if limits.max != nil {
		words = append(words, "at most "+text(*limits.max))
	}
	return strings.Join(words, ", ")
}

// Observed formats the figure of a result with its unit. It returns "" if there is none.
func Observed(result *v1alpha1.ObjectiveResult) string {
	return optional(result.Unit, result.Observed, result.Required)
}

// Required formats the bound of a result with its unit. It returns "" if there is none.
func Required(result *v1alpha1.ObjectiveResult) string {
	return optional(result.Unit, result.Required, result.Observed)
}

func optional(unit string, value, other *int64) string {
	switch {
	case value == nil:
		return ""
	case other == nil:
		return written(unit, *value)
	}
	return apart(unit, *value, *other)
}
