package measure

import "fmt"

// maxGridCells bounds the memory of a Grid. It is the number of seconds in 14 days, twice the length of the longest
// run.
const maxGridCells = 14 * 24 * 3600

// Grid holds the total I/O of several clients in each of its cells. A cell is StepNanoseconds long, except for the last
// one, which ends with the window and can be shorter.
type Grid struct {
	Window
	StepNanoseconds int64
	Cells           [][NumOperations]Counter
}

// SumOver adds up the series of several clients in the cells of a grid, which starts and ends with the window. Each
// cell is stepNanoseconds long, but the last one can be shorter. I/O inside a sample is spread evenly. The sum over all
// cells is exactly the I/O that Throughput counts in the window. The sum includes any warm-up in the window, because a
// warm-up spends credits too. SumOver returns an error if the window is empty, the length of a cell is not positive,
// the grid would have more than 1,209,600 cells (the seconds of 14 days), or a sum does not fit in 64 bits.
func SumOver(window Window, stepNanoseconds int64, series ...*Series) (Grid, error) {
	if !window.sound() {
		return Grid{}, fmt.Errorf("sum of series: the window from %d to %d ns is empty", window.StartNanoseconds, window.EndNanoseconds)
	}
	grid, err := newGrid(stepNanoseconds, window, series)
	if err != nil {
		return Grid{}, err
	}
	for _, one := range series {
		grid.add(one, one.CountersAt(window.StartNanoseconds))
	}
	return grid, nil
}

func checkStep(stepNanoseconds int64) error {
	if stepNanoseconds <= 0 || stepNanoseconds > MaxInstant {
		return fmt.Errorf("sum of series: the interval of %d ns is out of range", stepNanoseconds)
	}
	return nil
}

// newGrid creates a grid with empty cells. It returns an error if the sum over the series would overflow, or if there
// would be too many cells.
func newGrid(stepNanoseconds int64, window Window, series []*Series) (Grid, error) {
	if err := checkStep(stepNanoseconds); err != nil {
		return Grid{}, err
	}
	cells := (window.Nanoseconds()-1)/stepNanoseconds + 1
	if cells > maxGridCells {
		return Grid{}, fmt.Errorf("sum of series: too many intervals (%d of %d ns each): the limit is %d", cells, stepNanoseconds, maxGridCells)
	}
	totals := make([][NumOperations]Counter, len(series))
	for client, one := range series {
		totals[client] = one.Total()
	}
	if _, err := sumOf(totals); err != nil {
		return Grid{}, fmt.Errorf("sum of series: %w", err)
	}
	return Grid{
		Window:          window,
		StepNanoseconds: stepNanoseconds,
		Cells:           make([][NumOperations]Counter, cells),
	}, nil
}

// add adds a client's series to the cells. before holds the client's counters at the start of the grid.
func (g *Grid) add(one *Series, before [NumOperations]Counter) {
	for i := range g.Cells {
		now := one.CountersAt(g.CellWindow(i).EndNanoseconds)
		for operation, c := range subtract(now, before) {
			g.Cells[i][operation].Bytes += c.Bytes
			g.Cells[i][operation].Operations += c.Operations
		}
		before = now
	}
}

// CellWindow returns the window of the i-th cell.
func (g *Grid) CellWindow(i int) Window {
	start := g.StartNanoseconds + int64(i)*g.StepNanoseconds
	return Window{StartNanoseconds: start, EndNanoseconds: min(start+g.StepNanoseconds, g.EndNanoseconds)}
}
