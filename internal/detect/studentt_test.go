package detect

import (
	"math"
	"testing"
)

// TestStudent compares with tables that are printed in every textbook.
func TestStudent(t *testing.T) {
	for _, one := range []struct{ p, freedom, want float64 }{
		{0.05, 1, 6.3138}, {0.025, 2, 4.3027}, {0.025, 10, 2.2281}, {0.005, 19, 2.8609}, {0.001, 3, 10.2145}, {0.0005, 30, 3.6460}, {0.025, 1000, 1.9623},
	} {
		if got := studentQuantile(one.p, one.freedom); math.Abs(got-one.want) > 1e-4 {
			t.Errorf("upper %g of t with %g: %g, want %g", one.p, one.freedom, got, one.want)
		}
		if got := studentTail(one.want, one.freedom); math.Abs(got-one.p) > 1e-4*one.p*10 {
			t.Errorf("the tail above %g with %g: %g, want %g", one.want, one.freedom, got, one.p)
		}
	}
	if got := studentTail(0, 7); math.Abs(got-0.5) > 1e-12 {
		t.Errorf("half of it is above 0, got %g", got)
	}
}
