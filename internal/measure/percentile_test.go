package measure

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"
)

// TestRankEqualsTheCExpression compares with testdata/rank.csv, the output of testdata/rank.c, which contains fio's own
// expression.
func TestRankEqualsTheCExpression(t *testing.T) {
	file, err := os.Open("testdata/rank.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 2000 {
		t.Fatalf("only %d rows", len(rows))
	}
	differsFromDouble := 0
	for _, row := range rows[1:] {
		p, errP := strconv.ParseFloat(row[0], 64)
		total, errTotal := strconv.ParseUint(row[1], 10, 64)
		want, errWant := strconv.ParseUint(row[2], 10, 64)
		if errP != nil || errTotal != nil || errWant != nil {
			t.Fatalf("row %v: %v, %v, %v", row, errP, errTotal, errWant)
		}
		if got := fioRank(p, total); got != want {
			t.Errorf("p%v of %d samples: rank %d, want %d", p, total, got, want)
		}
		if uint64(math.Ceil(p/100*float64(total))) != want {
			differsFromDouble++
		}
	}
	if differsFromDouble == 0 {
		t.Error("no row differs between 80-bit arithmetic and doubles, so the table proves too little")
	}
}

func TestPercentileRule(t *testing.T) {
	var h Histogram // 1,000 samples: 1..100 ns ten times each
	for ns := range uint64(100) {
		h.AddNanoseconds(ns+1, 10)
	}
	tests := []struct {
		p    float64
		want uint64
		ok   bool // whether enough samples are above
	}{
		{0.000001, 1, true},
		{1, 1, true},
		{1.000001, 2, true},
		{50, 50, true},
		{50.1, 51, true},
		{99, 99, true}, // exactly ten samples are above
		{99.000001, 100, false},
		{99.9, 100, false},
		{100, 100, false},
	}
	for _, test := range tests {
		if got, ok := h.PercentileUnchecked(test.p); !ok || got != test.want {
			t.Errorf("p%v = %d, %v, want %d", test.p, got, ok, test.want)
		}
		got, ok := h.Percentile(test.p)
		if ok != test.ok || (ok && got != test.want) {
			t.Errorf("checked p%v = %d, %v, want %d, %v", test.p, got, ok, test.want, test.ok)
		}
	}
	for _, p := range []float64{0, -1, 100.0000001, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got, ok := h.PercentileUnchecked(p); ok {
			t.Errorf("p%v = %d, want none", p, got)
		}
		if above := h.SamplesAbove(p); above != 0 {
			t.Errorf("p%v has %d samples above", p, above)
		}
	}
}

func TestSamplesAbove(t *testing.T) {
	tests := []struct {
		p           float64
		total, want uint64
	}{
		{50, 20, 10},
		{50, 19, 9},
		{99, 1_000, 10},
		{99, 999, 9},
		{99.9, 10_000, 10}, // although the double 99.9 is slightly larger
		{99.9, 9_999, 9},
		{99.99, 100_000, 10},
		{99.99, 99_999, 9},
		{99.999999, 1_000_000_000, 10},
		{99.9999999, math.MaxUint64, 0}, // fio supports six decimals
		{0.000001, 10, 9},
		{1, math.MaxUint64, 18262276632972456098},
		{100, math.MaxUint64, 0},
	}
	for _, test := range tests {
		var h Histogram
		h.AddNanoseconds(40, test.total)
		if got := h.SamplesAbove(test.p); got != test.want {
			t.Errorf("p%v of %d samples has %d above, want %d", test.p, test.total, got, test.want)
		}
		if _, ok := h.Percentile(test.p); ok != (test.want >= MinSamplesAbove) {
			t.Errorf("p%v of %d samples is given: %v", test.p, test.total, ok)
		}
	}
}
