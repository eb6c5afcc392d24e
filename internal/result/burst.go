package result

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
)

const (
	// sameLevel is the largest relative difference at which a measured rate and a documented baseline count as equal. A
	// difference of at most confirmedLevel confirms that the limit with this baseline caused the drop.
	sameLevel, confirmedLevel = 0.10, 0.05
	// partEmpty is a fill level in percent. If a drain starts below this level, the result states that the bucket was
	// only partly full.
	partEmpty = 95
	// maxRate is the highest plausible rate in bytes or operations per second. It fits into an int64 even if it is
	// stored in thousandths.
	maxRate = 9e15
	// maxBurstMessage is the API's limit on the length of a message.
	maxBurstMessage = 512
)

// Possible values of BurstResult.Dimension in the API: whether credits count bytes or operations.
const (
	dimensionBytes      = "Bytes"
	dimensionOperations = "Operations"
	dimensionUnknown    = "Unknown"
)

// drain holds the intermediate results from which a BurstResult is built.
type drain struct {
	b *builder
	s summed
	// found holds the analyses of the byte rate and of the operation rate, in this order. ok is true for each rate that
	// could be analyzed.
	found [2]detect.Result
	ok    [2]bool
	// refill holds the refill rates used for byte credits and for operation credits, each with its interval if it was
	// measured.
	refill [2]knownRefill
	result v1alpha1.BurstResult
	says   []string
}

// knownRefill is a refill rate and its source. The source is empty if the rate is unknown. earlier is true if an
// earlier phase measured the rate.
type knownRefill struct {
	value   detect.Estimate
	source  detect.RefillSource
	earlier bool
}

// judgeDrain finds the burst, its end and the baseline in the series summed over all clients.
func (b *builder) judgeDrain(s summed) {
	d := drain{b: b, s: s, result: v1alpha1.BurstResult{Dimension: dimensionUnknown}}
	for _, one := range []dimension{inBytes, inOperations} {
		d.analyze(one)
	}
	if !d.ok[inBytes] && !d.ok[inOperations] {
		b.result.Burst = &d.result
		b.warnings.add(v1alpha1.WarningNoDropSeen, nil, "the rate over time was not recorded")
		return
	}
	d.findDimension()
	if b.step.Redrain {
		d.redrain()
	}
	d.useLevelAsRefill()
	d.fill()
	d.judge()
	d.result.Message = v1alpha1.Truncate(strings.Join(d.says, "; "), maxBurstMessage)
	b.result.Burst = &d.result
}

// analyze finds drops in the rate of one dimension (bytes or operations), using the known refill of that dimension.
func (d *drain) analyze(one dimension) {
	samples := d.s.of(one)
	if rate(samples) == 0 {
		return
	}
	if slices.ContainsFunc(samples, func(s detect.Sample) bool { return !(s.Rate <= maxRate) }) {
		d.say("the time series has invalid rates")
		return
	}
	d.refill[one] = d.knownRefill(one)
	d.analyzeWith(one, d.earlier(one))
}

func (d *drain) analyzeWith(one dimension, earlier []detect.Sample) {
	options := detect.Options{Earlier: earlier}
	if d.b.load.SpansClients {
		options.ReadShares = d.s.readShares
	}
	if known := d.refill[one]; known.source != "" {
		options.Refill, options.RefillSource = &known.value.Value, known.source
	}
	found, err := detect.Analyze(d.s.of(one), options)
	if err != nil {
		d.says = append(d.says, err.Error())
		return
	}
	if !found.Exhausted && d.b.step.Redrain && d.b.history.BucketEmpty {
		var known bool
		if found, known = onKnownLevels(d.s.of(one), d.b.history.drainSpent(one), options, found); known {
			d.sayOnce("the burst was too short to be detected as a level: its end was derived from the levels of the previous drain")
		}
	}
	if d.startsEmpty() || d.atBaseline(one, found.Burst.Value) {
		found.BucketAtLeast = nil
	}
	d.found[one], d.ok[one] = found, true
}

// startsEmpty reports whether the bucket is known to be empty at the start of the drain. A redrain does not start
// empty, because credits come back during the idle time before it.
func (d *drain) startsEmpty() bool { return d.b.history.BucketEmpty && !d.b.step.Redrain }

// atBaseline reports whether the rate of a drain without a drop is a baseline that is documented or that an earlier
// drain measured. Such a rate does not show that there were credits, even if it is above the refill, because the store
// still delivers the baseline when the bucket is empty. The baseline and the burst may be almost equal, so a rate that
// is closer to the burst does not count as the baseline.
func (d *drain) atBaseline(one dimension, rate float64) bool {
	known := []documented{d.documented(one)}
	if spent := d.b.history.drainSpent(one); spent != nil {
		known = append(known, documented{baseline: spent.Baseline, burst: spent.Burst})
	}
	return slices.ContainsFunc(known, func(levels documented) bool {
		return within(rate, levels.baseline, sameLevel) && math.Abs(rate-levels.baseline) <= math.Abs(rate-levels.burst)
	})
}

// knownRefill returns the refill rate that an earlier redrain (a second drain after idle time) measured, or else the
// documented one.
func (d *drain) knownRefill(one dimension) knownRefill {
	if measured, known := d.b.history.measuredRefill(one); known {
		return knownRefill{value: detect.Estimate{Value: measured}, source: detect.RefillMeasured, earlier: true}
	}
	if known := d.documented(one); known.refill > 0 && known.refill <= maxRate {
		return knownRefill{value: detect.Estimate{Value: known.refill}, source: detect.RefillDocumented}
	}
	return knownRefill{}
}

// useLevelAsRefill uses the measured level after the drop as the refill of the credits that ran out, if the documented
// refill equals the documented baseline. With the documented refill, its difference from the level would count as spent
// credits throughout the burst. The error is relatively large if the burst is only a little above the baseline, because
// such a burst spends few credits.
//
// Earlier I/O at up to the documented baseline spent no credits, even if it was faster than the level.
func (d *drain) useLevelAsRefill() {
	one := d.mainDimension()
	known, level := d.documented(one), d.found[one].Baseline.Value
	if d.result.Dimension == dimensionUnknown || d.refill[one].source != detect.RefillDocumented || !known.refillsAtBaseline {
		return
	}
	earlier := d.earlier(one)
	for i := range earlier {
		if earlier[i].Rate <= known.baseline {
			earlier[i].Rate = min(earlier[i].Rate, level)
		}
	}
	d.refill[one] = knownRefill{}
	d.analyzeWith(one, earlier)
}

// earlier returns the I/O that may have spent credits before the series starts: the I/O of earlier steps and of the
// warm-up. Its times are on the time axis of the series.
//
// It omits all steps up to the last one after which the bucket was certainly empty, because the credits that these
// steps spent no longer matter. Including these steps would also falsify the result: the store still delivers the
// baseline when the bucket is empty, and if the baseline is above the refill, the difference would be mistaken for
// spent credits. For the same reason, earlier omits all earlier steps if the store has no credits.
func (d *drain) earlier(one dimension) []detect.Sample {
	var all []detect.Sample
	warmUp, warm := d.warmUp(one)
	limit := 0.0
	if warm {
		limit = warmUp.StartSeconds
	}
	if !d.b.history.BucketEmpty {
		for _, span := range d.b.history.Earlier {
			if !span.End.After(d.b.history.EmptyAt) {
				continue
			}
			amount := span.Bytes
			if one == inOperations {
				amount = span.Operations
			}
			start, end := d.s.seconds(span.Start), d.s.seconds(span.End)
			if len(all) > 0 {
				start = max(start, all[len(all)-1].EndSeconds)
			}
			if end = min(end, limit); end <= start || !(float64(amount) <= maxRate*(end-start)) {
				continue
			}
			all = append(all, detect.Sample{StartSeconds: start, EndSeconds: end, Rate: float64(amount) / (end - start)})
		}
	}
	if warm {
		all = append(all, warmUp)
	}
	return all
}

// warmUp returns the I/O of this step before the measured time. The tool does not report the I/O between the last
// sample of the warm-up and the first measured sample, so warmUp assumes that the rate stayed the same until then.
func (d *drain) warmUp(one dimension) (detect.Sample, bool) {
	var first int64
	rate, found := 0.0, false
	for _, series := range d.b.contributing() {
		var amount uint64
		var nanoseconds int64
		for i := range series.Len() {
			sample := series.At(i)
			if !sample.WarmUp {
				continue
			}
			nanoseconds += sample.EndNanoseconds - sample.StartNanoseconds
			if !found || sample.StartNanoseconds < first {
				first, found = sample.StartNanoseconds, true
			}
			charged := measure.Charged(sample.Counters)
			if one == inBytes {
				amount = measure.Sum(amount, charged.Bytes)
			} else {
				amount = measure.Sum(amount, charged.Operations)
			}
		}
		if nanoseconds > 0 {
			rate += float64(amount) / (float64(nanoseconds) / 1e9)
		}
	}
	start := float64(first-d.s.start.UnixNano()) / 1e9
	return detect.Sample{StartSeconds: start, Rate: rate}, found && start < 0 && rate > 0 && rate <= maxRate
}

// mainDimension returns the dimension of the more important of the two analyses. This is the operation analysis if
// operation credits ran out, or if the byte series could not be analyzed; otherwise, it is the byte analysis.
func (d *drain) mainDimension() dimension {
	if d.result.Dimension == dimensionOperations || !d.ok[inBytes] {
		return inOperations
	}
	return inBytes
}

func (d *drain) main() *detect.Result { return &d.found[d.mainDimension()] }

// findDimension determines whether byte credits or operation credits ran out: those whose documented baseline agrees
// with the level after the drop. If both baselines agree, findDimension chooses the closer one.
func (d *drain) findDimension() {
	nearest := sameLevel
	for _, one := range []dimension{inBytes, inOperations} {
		baseline := d.documented(one).baseline
		if !d.ok[one] || !d.found[one].Exhausted || baseline == 0 {
			continue
		}
		if off := max(d.found[one].Baseline.Value/baseline-1, 1-d.found[one].Baseline.Value/baseline); off <= nearest {
			nearest = off
			d.result.Dimension = [2]string{dimensionBytes, dimensionOperations}[one]
		}
	}
	if d.result.Exhausted = d.main().Exhausted; !d.result.Exhausted {
		return
	}
	switch d.result.Dimension {
	case dimensionBytes:
		if d.ok[inOperations] {
			d.says = append(d.says, "the byte credits ran out: the operation credits spent are only a lower bound")
		}
	case dimensionOperations:
		if d.ok[inBytes] {
			d.says = append(d.says, "the operation credits ran out: the byte credits spent are only a lower bound")
		}
	default:
		d.says = append(d.says, "no documented baseline agrees with the level after the drop, so it is unknown whether byte or operation credits ran out")
	}
}

// judge adds warnings about problems with the drain, and explains them in the result's message.
func (d *drain) judge() {
	found, one, format := d.main(), d.mainDimension(), measure.FormatBytesPerSecond
	if one == inOperations {
		format = measure.FormatOperationsPerSecond
	}
	d.judgeFill()
	seconds := length(d.s.of(one))
	told := []detect.WarningKind{detect.WarnTurned, detect.WarnGaps, detect.WarnFewIndependent}
	for _, warning := range found.Warnings {
		if slices.Contains(told, warning.Kind) {
			d.says = append(d.says, warning.Message)
		}
	}
	if start := found.FastStart; start != nil {
		d.says = append(d.says, fmt.Sprintf("the first %.4g s averaged %s and the rest %s: a spike, or a burst that is too short or too irregular to be measured",
			start.Seconds, format(start.Rate), format(start.Rest)))
	}
	if found.Exhausted {
		return
	}
	if !d.b.history.Concluded.IsZero() && !d.b.lasted() {
		d.says = append(d.says, "the step was ended because a drop was detected, but the analysis of the whole series does not confirm the drop")
	}
	atBaseline := d.atBaseline(one, found.Burst.Value)
	switch {
	case found.BucketAtLeast != nil:
		d.says = append(d.says, "the credits lasted for the whole step: the bucket holds more than "+amountText(one, *found.BucketAtLeast))
	case d.startsEmpty():
		d.b.warnings.add(v1alpha1.WarningNoDropSeen, nil, "the rate averaged %s over %s: the burst credits were already spent at the start",
			format(found.Burst.Value), duration(seconds))
	case atBaseline:
		d.b.warnings.add(v1alpha1.WarningNoDropSeen, nil,
			"the rate averaged %s, the baseline, over %s: the burst credits may have been spent before the step",
			format(found.Burst.Value), duration(seconds))
	default:
		d.b.warnings.add(v1alpha1.WarningNoDropSeen, nil, "the rate averaged %s over %s without a lasting drop: no conclusion about credits",
			format(found.Burst.Value), duration(seconds))
	}
	limits := d.documented(one)
	above := found.Burst.Value - limits.refill
	switch {
	case limits.bucket == 0 || limits.refill == 0 || d.b.history.BucketEmpty || atBaseline:
	case above <= 0:
		d.b.warnings.add(v1alpha1.WarningRunTooShort, nil, "the load of %s does not exceed the documented refill of %s, so it never spends credits",
			format(found.Burst.Value), format(limits.refill))
	case limits.bucket/above > seconds:
		d.b.warnings.add(v1alpha1.WarningRunTooShort, nil, "the documented bucket of %s lasts %s at %s, but the step took only %s: raise maxDuration",
			amountText(one, limits.bucket), duration(limits.bucket/above), format(found.Burst.Value), duration(seconds))
	}
}

// judgeFill warns if the fill level of the bucket at the start was unknown, or if the bucket was only partly full. It
// does not warn about a redrain, which starts with a partly full bucket on purpose.
func (d *drain) judgeFill() {
	percent := d.b.history.CreditPercentAtStart
	switch {
	case d.b.step.Redrain || d.b.history.BucketEmpty:
	case percent == nil:
		d.b.warnings.add(v1alpha1.WarningCreditsUnknown, nil,
			"initial credit balance unknown: the credits spent are a lower bound on the bucket's size")
	case *percent < partEmpty:
		d.b.warnings.add(v1alpha1.WarningCreditsUnknown, nil,
			"according to its documented limits and the previous load, the bucket was only about %d %% full at the start: the burst was shorter than with a full bucket", *percent)
	}
}

// ObserveCredits adds the credit level that was observed at the start of a drain to the drain's result. It removes the
// warning that the level is unknown and, except for a redrain, warns if the bucket was only partly full. A redrain
// starts with a partly full bucket on purpose.
func ObserveCredits(target *v1alpha1.TargetResult, planned *v1alpha1.ResolvedStep, percent int32, observation string) {
	if target.Burst == nil {
		return
	}
	target.Burst.ObservedCreditPercentAtStart = &percent
	target.Warnings = slices.DeleteFunc(target.Warnings, func(w v1alpha1.Warning) bool { return w.Type == v1alpha1.WarningCreditsUnknown })
	if percent < partEmpty && (planned.Redrain == nil || !*planned.Redrain) {
		target.Warnings = append(target.Warnings, v1alpha1.NewWarning(v1alpha1.WarningCreditsUnknown, planned.Kind, fmt.Sprintf(
			"the bucket was %d %% full at the start, as observed by %s: the burst was shorter than with a full bucket", percent, observation)))
	}
}

func amountText(one dimension, amount float64) string {
	if one == inOperations {
		return plainNumber(amount) + " operations"
	}
	return measure.FormatBytes(uint64(max(amount, 0)))
}

// plainNumber formats a number with commas between thousands.
func plainNumber(value float64) string {
	return strings.TrimSuffix(measure.FormatOperationsPerSecond(value), " IOPS")
}

// say adds a sentence to the message.
func (d *drain) say(format string, arguments ...any) {
	d.says = append(d.says, fmt.Sprintf(format, arguments...))
}

// sayOnce adds a sentence unless the message already contains it. It is for sentences that apply to both bytes and
// operations.
func (d *drain) sayOnce(words string) {
	if !slices.Contains(d.says, words) {
		d.says = append(d.says, words)
	}
}
