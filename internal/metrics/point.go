package metrics

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Point is the value of one series at one instant.
type Point struct {
	Family *Family
	// Labels are the label values, in the order of the label names in Family.Labels.
	Labels []string
	Value  float64
}

// points collects points whose labels begin with the same values.
type points struct {
	common []string
	all    []Point
}

// add adds a point with the common label values, followed by the given ones.
func (p *points) add(family *Family, value float64, labels ...string) {
	values := make([]string, 0, len(p.common)+len(labels))
	values = append(append(values, p.common...), labels...)
	p.all = append(p.all, Point{Family: family, Labels: values, Value: value})
}

func (p *points) addTime(family *Family, at *metav1.MicroTime, labels ...string) {
	if at != nil {
		p.add(family, unixSeconds(at.Time), labels...)
	}
}

// addEstimate adds the value of an estimate, converted to the metric's base unit. The parameter in is the number of API
// units per base unit, such as 1e9 for nanoseconds.
func (p *points) addEstimate(family *Family, estimate *v1alpha1.Estimate, in float64, labels ...string) {
	if estimate != nil {
		p.add(family, float64(estimate.Value)/in, labels...)
	}
}

// addCount adds a figure, converted to the metric's base unit, unless the figure is nil. The parameter in is the number
// of API units per base unit.
func (p *points) addCount(family *Family, figure *int64, in float64, labels ...string) {
	if figure != nil {
		p.add(family, float64(*figure)/in, labels...)
	}
}

// Conversion factors: the number of API units in one base unit of a metric.
const (
	one         = 1
	milli       = 1e3
	nanoseconds = 1e9
	percent     = 100
)

func unixSeconds(at time.Time) float64 { return float64(at.UnixMicro()) / 1e6 }

func boolValue(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
