package report

import (
	"slices"
	"testing"
)

// TestShadesCompareLikeFigures checks that the cells of a matrix are shaded column by column if it shows several
// figures, and over all columns if it shows one. Both compare all tables of the matrix.
func TestShadesCompareLikeFigures(t *testing.T) {
	tables := []partTable{
		{lines: [][]string{{"depth", "MB/s", "ms"}, {"1", "100", "1"}, {"2", "200", "2"}}, left: 1, matrix: true},
		{lines: [][]string{{"depth", "MB/s", "ms"}, {"1", "300", "3"}, {"2", "400", "4"}}, left: 1, matrix: true},
	}
	for mixed, want := range map[bool][]string{
		false: {"number h2", "number h0", "number h4", "number h0"},
		true:  {"number h0", "number h0", "number h3", "number h3"},
	} {
		for i := range tables {
			tables[i].mixed = mixed
		}
		var got []string
		for _, line := range htmlTableOf("", tables[0], tables).Lines {
			got = append(got, line[1].Class, line[2].Class)
		}
		if !slices.Equal(got, want) {
			t.Errorf("mixed %t: %q, want %q", mixed, got, want)
		}
	}
}
