package chart

import (
	"fmt"
	"math"
	"time"
)

// Linear returns an axis that starts at 0 and ends slightly above most, the highest value in the chart. labels is the
// approximate number of labels; format returns the text of a label.
func Linear(most float64, labels int, format func(float64) string) Axis {
	if !(most > 1e-300) || math.IsInf(most, 0) { // with a smaller maximum, the distance between labels could round to 0
		most = 1
	}
	most *= 1.06
	step := niceStep(most / float64(max(labels, 1)))
	axis := Axis{Max: most}
	for i := 0; float64(i)*step <= most; i++ {
		axis.Ticks = append(axis.Ticks, Tick{Value: float64(i) * step, Label: format(float64(i) * step)})
	}
	return axis
}

// niceStep rounds up to the next 1, 2 or 5 times a power of ten.
func niceStep(rough float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, nice := range []float64{1, 2, 5} {
		if nice*power >= rough*0.999 {
			return nice * power
		}
	}
	return 10 * power
}

// Logarithmic returns a logarithmic axis that covers the values from least to most, which must be positive. It begins
// and ends at 1, 2 or 5 times a power of ten.
func Logarithmic(least, most float64, format func(float64) string) Axis {
	if !(least > 0) || !(most >= least) {
		least, most = 1, 10
	}
	first, last := math.Floor(math.Log10(least)+1e-9), math.Ceil(math.Log10(most)-1e-9)
	if last <= first {
		last = first + 1
	}
	axis := Axis{Min: math.Pow(10, first), Max: math.Pow(10, last), Log: true}
	if least > 2*axis.Min {
		axis.Min *= 2
	}
	if least > 2.5*axis.Min {
		axis.Min *= 2.5
	}
	if most < axis.Max/5 {
		axis.Max /= 5
	} else if most < axis.Max/2 {
		axis.Max /= 2
	}
	decades := last - first
	for e := first; e <= last; e++ {
		for _, factor := range []float64{1, 2, 5} {
			value := factor * math.Pow(10, e)
			if factor > 1 && decades > 2 || value > axis.Max*1.001 || value < axis.Min*0.999 {
				continue
			}
			axis.Ticks = append(axis.Ticks, Tick{Value: value, Label: format(value)})
		}
	}
	return axis
}

// timeSteps lists the possible intervals between the labels of a time axis.
var timeSteps = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour}

// Seconds returns a time axis from one time to another, both in seconds since the start of the run. If either time is
// infinite, there is no data, and the axis covers the first second of the run.
func Seconds(from, to float64) Axis {
	if math.IsInf(from, 0) || math.IsInf(to, 0) {
		from, to = 0, 1
	}
	if !(to > from) {
		to = from + 1
	}
	step := timeSteps[len(timeSteps)-1]
	for _, one := range timeSteps {
		if (to-from)/one.Seconds() <= 9 {
			step = one
			break
		}
	}
	axis := Axis{Min: from, Max: to}
	for value := math.Ceil(from/step.Seconds()) * step.Seconds(); value <= to; value += step.Seconds() {
		axis.Ticks = append(axis.Ticks, Tick{Value: value, Label: timeLabel(value, step)})
	}
	return axis
}

func timeLabel(seconds float64, step time.Duration) string {
	whole := int(math.Round(seconds))
	switch {
	case step < time.Minute && whole < 60:
		return fmt.Sprintf("%d s", whole)
	case step < time.Minute && whole < 600, step < time.Hour && whole < 3600 && whole%60 != 0:
		return fmt.Sprintf("%d:%02d", whole/60, whole%60)
	case step < time.Hour && whole < 3600:
		return fmt.Sprintf("%d min", whole/60)
	case step < time.Minute && whole >= 3600 && whole%60 != 0:
		return fmt.Sprintf("%d:%02d:%02d h", whole/3600, whole/60%60, whole%60)
	case whole%3600 == 0:
		return fmt.Sprintf("%d h", whole/3600)
	}
	return fmt.Sprintf("%d:%02d h", whole/3600, whole/60%60)
}
