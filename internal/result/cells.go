package result

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// maxCellsNamed is the maximum number of cells named in one message.
const maxCellsNamed = 8

// cellNames names steps of a ramp or cells of a sweep within a sentence: "at queue depth 8, 16", "cell 3 (4 jobs, block
// size 64Ki)", "cells 0, 1, 2, 3, 4, 5, 6, 7 and 8 more".
func cellNames(phase *v1alpha1.Phase, cells []int32) string {
	if len(cells) == 0 {
		return ""
	}
	if phase.Sweep != nil && len(cells) == 1 {
		return "cell " + strconv.Itoa(int(cells[0])) + " (" + describeCell(phase.Sweep.Axes, int(cells[0])) + ")"
	}
	var names []string
	for _, cell := range cells[:min(len(cells), maxCellsNamed)] {
		name := strconv.Itoa(int(cell))
		if phase.Ramp != nil && int(cell) < len(phase.Ramp.Steps) {
			name = strconv.FormatInt(phase.Ramp.Steps[cell], 10)
		}
		names = append(names, name)
	}
	text := "cells "
	if phase.Ramp != nil {
		text = "at " + phasekind.DimensionName(phase.Ramp.Dimension) + " "
	}
	text += strings.Join(names, ", ")
	if more := len(cells) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// describeCell describes a cell by its value on each axis. The axes are in the order clients, jobs, queueDepth,
// blockSize, readPercent; the last one changes fastest.
func describeCell(axes v1alpha1.SweepAxes, cell int) string {
	var words []string
	pick := func(length int, word func(i int) string) {
		if length > 0 {
			words = append(words, word(cell%length))
			cell /= length
		}
	}
	pick(len(axes.ReadPercent), func(i int) string { return fmt.Sprintf("%d %% reads", axes.ReadPercent[i]) })
	pick(len(axes.BlockSize), func(i int) string { return "block size " + axes.BlockSize[i].String() })
	pick(len(axes.QueueDepth), func(i int) string { return fmt.Sprintf("queue depth %d", axes.QueueDepth[i]) })
	pick(len(axes.Jobs), func(i int) string { return measure.FormatCount(int(axes.Jobs[i]), "job") })
	pick(len(axes.Clients), func(i int) string { return measure.FormatCount(int(axes.Clients[i]), "client") })
	slices.Reverse(words)
	return strings.Join(words, ", ")
}
