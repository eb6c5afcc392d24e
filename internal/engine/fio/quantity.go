package fio

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"
)

// whole gives the value of a quantity that is a whole number. Quantity.AsInt64 is not enough: it
// says no to 100Ti and to 0.5Gi, which Kubernetes keeps as decimals.
func whole(quantity *resource.Quantity) (value int64, ok bool) {
	value = quantity.Value()
	if value == math.MaxInt64 || value == math.MinInt64 {
		return 0, false
	}
	return value, quantity.Cmp(*resource.NewQuantity(value, resource.DecimalSI)) == 0
}
