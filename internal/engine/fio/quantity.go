package fio

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"
)

// whole returns the value of a quantity, and whether it is a whole number. Quantity.AsInt64 is not sufficient, because
// it returns false for 100Ti and 0.5Gi, which Kubernetes stores as decimals.
func whole(quantity *resource.Quantity) (value int64, ok bool) {
	value = quantity.Value()
	if value == math.MaxInt64 || value == math.MinInt64 {
		return 0, false
	}
	return value, quantity.Cmp(*resource.NewQuantity(value, resource.DecimalSI)) == 0
}
