package measure

import "testing"

// TestHistogramMean checks that the mean computed from buckets is within a bucket's width of the true mean.
func TestHistogramMean(t *testing.T) {
	var h Histogram
	if h.MeanNanoseconds() != 0 {
		t.Error("the mean of nothing is not 0")
	}
	sum, count := uint64(0), uint64(0)
	for nanoseconds := uint64(900); nanoseconds < 50_000_000; nanoseconds += nanoseconds / 7 {
		h.AddNanoseconds(nanoseconds, 3)
		sum, count = sum+3*nanoseconds, count+3
	}
	mean := float64(sum) / float64(count)
	if got := float64(h.MeanNanoseconds()); got < mean*0.99 || got > mean*1.01 {
		t.Errorf("the mean is %.0f ns, want %.0f within 1 %%", got, mean)
	}
}
