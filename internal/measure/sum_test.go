package measure

import (
	"math"
	"testing"
)

func cellBytes(grid Grid) []uint64 {
	var bytes []uint64
	for _, cell := range grid.Cells {
		bytes = append(bytes, cell[Read].Bytes)
	}
	return bytes
}

func TestSum(t *testing.T) {
	a := seriesOf(t, warmUp(reads(0, second, 100)), reads(second, 3*second, 400))
	b := seriesOf(t, reads(second/2, 5*second/2, 1_000), reads(5*second/2, 7*second/2, 10))
	grid, err := Sum(second, a, b, &Series{})
	if err != nil {
		t.Fatal(err)
	}
	if grid.Window != (Window{0, 7 * second / 2}) {
		t.Errorf("from %d to %d", grid.StartNanoseconds, grid.EndNanoseconds)
	}
	want := []uint64{100 + 250, 200 + 500, 200 + 250 + 5, 5}
	if got := cellBytes(grid); !equalCounts(got, want) {
		t.Errorf("cells %v, want %v", got, want)
	}
	// The last cell is half a second long.
	if rates := grid.CellRates(3); rates[Read].BytesPerSecond != 10 {
		t.Errorf("the last cell has %v bytes a second", rates[Read].BytesPerSecond)
	}
	if rates := grid.CellRates(1); rates[Read].BytesPerSecond != 700 {
		t.Errorf("the second cell has %v bytes a second", rates[Read].BytesPerSecond)
	}
}

func TestSumOver(t *testing.T) {
	a := seriesOf(t, reads(0, 4*second, 4_000))
	window := Window{second / 2, 3 * second}
	grid, err := SumOver(window, second, a)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := cellBytes(grid), []uint64{1_000, 1_000, 500}; !equalCounts(got, want) {
		t.Errorf("cells %v, want %v", got, want)
	}
	if grid.CellWindow(2) != (Window{5 * second / 2, 3 * second}) {
		t.Errorf("the last cell is %v", grid.CellWindow(2))
	}
}

func equalCounts(a, b []uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestSumOfLittle(t *testing.T) {
	grid, err := Sum(second)
	if err != nil || len(grid.Cells) != 0 {
		t.Errorf("of nothing: %+v, %v", grid, err)
	}
	grid, err = Sum(second, seriesOf(t, reads(5, 5, 70)))
	if err != nil || !equalCounts(cellBytes(grid), []uint64{70}) {
		t.Errorf("of a step: %+v, %v", grid, err)
	}
}

func TestSumRefuses(t *testing.T) {
	some := seriesOf(t, reads(0, second, 1_000))
	tests := []struct {
		name   string
		step   int64
		series []*Series
	}{
		{"no step", 0, []*Series{some}},
		{"no step, no series", 0, nil},
		{"a negative step", -second, []*Series{some}},
		{"a step out of range", math.MaxInt64, []*Series{some}},
		{"too many cells", 1, []*Series{some}},
		{"an overflow", second, []*Series{seriesOf(t, reads(0, second, math.MaxUint64)), some}},
		{"samples ages apart", second, []*Series{some, seriesOf(t, reads(maxInstant-1, maxInstant, 1))}},
	}
	for _, test := range tests {
		if grid, err := Sum(test.step, test.series...); err == nil {
			t.Errorf("%s: %d cells", test.name, len(grid.Cells))
		}
	}
	if _, err := SumOver(Window{5, 5}, second, some); err == nil {
		t.Error("a window without a length was accepted")
	}
	if _, err := SumOver(Window{0, second}, 0, some); err == nil {
		t.Error("a window without a step was accepted")
	}
}
