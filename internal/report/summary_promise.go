package report

import (
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// aboveBaseline is the share of the documented baseline above which a rate is compared with the burst.
const aboveBaseline = 1.1

// promise adds the documented value of a figure, the share of it that was reached, and what limited the rate.
func (f *summaryFigure) promise(target *v1alpha1.TargetResult, value int64) {
	bytes := f.figure == v1alpha1.FigureThroughput
	level := v1alpha1.AttributionLevel("")
	switch f.figure {
	case v1alpha1.FigureBurst, v1alpha1.FigurePeak, v1alpha1.FigureSustained:
		level, bytes = v1alpha1.LevelBurst, f.operation == ""
	case v1alpha1.FigureBaseline:
		level, bytes = v1alpha1.LevelBaseline, f.operation == ""
	case v1alpha1.FigureThroughput, v1alpha1.FigureIOPS:
	default:
		return
	}
	told := attributionOf(target, level, f.operation)
	if told == nil {
		return
	}
	f.heldBack = heldBack(told)
	documented := func(of *v1alpha1.DocumentedRate) *int64 {
		switch {
		case of == nil:
			return nil
		case bytes:
			return of.BytesPerSecond
		}
		return of.IOPSMilli
	}
	promised := documented(told.Baseline)
	if burst := documented(told.Burst); burst != nil && level != v1alpha1.LevelBaseline &&
		(level == v1alpha1.LevelBurst || promised == nil || float64(value) > aboveBaseline*float64(*promised)) {
		promised = burst
	}
	if promised == nil || *promised <= 0 {
		return
	}
	f.percent = measure.FormatShare(float64(value) / float64(*promised))
	if bytes {
		f.documented = rateText(*promised)
		return
	}
	f.documented = iopsText(*promised)
}

// attributionOf returns the attribution of a level of a drain, or of an operation; nil if there is none. If the target
// did only one operation, the attribution of reads and writes together counts too.
func attributionOf(target *v1alpha1.TargetResult, level v1alpha1.AttributionLevel, operation string) *v1alpha1.Attribution {
	for i := range target.Attributions {
		one := &target.Attributions[i]
		if one.Level != level {
			continue
		}
		if level != "" || one.Operation == "" && len(target.Operations) == 1 || string(one.Operation) == operation {
			return one
		}
	}
	return nil
}

// heldBack names the likeliest cause, and those that explain the rate equally well.
func heldBack(a *v1alpha1.Attribution) string {
	var causes []string
	for i := range a.Suspects {
		if i > 0 && !a.Suspects[i].Tied {
			break
		}
		name := causeWords(a.Suspects[i].Cause)
		if len(causes) == 0 || causes[len(causes)-1] != name {
			causes = append(causes, name)
		}
	}
	return strings.Join(causes, " or ")
}

// causeWords returns a cause in words: ClientCPU as client CPU.
func causeWords(cause v1alpha1.Cause) string {
	switch cause {
	case v1alpha1.CauseServerCache:
		return "server cache"
	case v1alpha1.CauseLimit:
		return "given limit"
	case v1alpha1.CauseClientCPU:
		return "client CPU"
	case v1alpha1.CauseQueueDepth:
		return "queue depth"
	default:
	}
	return printable(strings.ToLower(string(cause)))
}
