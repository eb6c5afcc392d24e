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

func TestSumOfAllTime(t *testing.T) {
	a := seriesOf(t, warmUp(reads(0, second, 100)), reads(second, 3*second, 400))
	b := seriesOf(t, reads(second/2, 5*second/2, 1_000), reads(5*second/2, 7*second/2, 10))
	grid, err := SumOver(Window{0, 7 * second / 2}, second, a, b, &Series{})
	if err != nil {
		t.Fatal(err)
	}
	want := []uint64{100 + 250, 200 + 500, 200 + 250 + 5, 5}
	if got := cellBytes(grid); !equalCounts(got, want) {
		t.Errorf("cells %v, want %v", got, want)
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
	grid, err := SumOver(Window{0, second}, second)
	if err != nil || !equalCounts(cellBytes(grid), []uint64{0}) {
		t.Errorf("of nothing: %+v, %v", grid, err)
	}
	grid, err = SumOver(Window{4, 6}, second, seriesOf(t, reads(5, 5, 70)))
	if err != nil || !equalCounts(cellBytes(grid), []uint64{70}) {
		t.Errorf("of a step: %+v, %v", grid, err)
	}
}

func TestSumRefuses(t *testing.T) {
	some := seriesOf(t, reads(0, second, 1_000))
	for _, test := range []struct {
		name   string
		window Window
		step   int64
		series []*Series
	}{
		{"no step", Window{0, second}, 0, []*Series{some}},
		{"no step, no series", Window{0, second}, 0, nil},
		{"a negative step", Window{0, second}, -second, []*Series{some}},
		{"a step out of range", Window{0, second}, math.MaxInt64, []*Series{some}},
		{"too many cells", Window{0, second}, 1, []*Series{some}},
		{"an overflow", Window{0, second}, second, []*Series{seriesOf(t, reads(0, second, math.MaxUint64)), some}},
		{"ages", Window{0, MaxInstant}, second, []*Series{some}},
		{"a window without a length", Window{5, 5}, second, []*Series{some}},
	} {
		if grid, err := SumOver(test.window, test.step, test.series...); err == nil {
			t.Errorf("%s: %d cells", test.name, len(grid.Cells))
		}
	}
}
