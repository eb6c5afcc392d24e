package ior

import (
	"fmt"
	"strings"

	"github.com/storagebench/storagebench/internal/measure"
)

const (
	kibibyte = 1 << 10
	mebibyte = 1 << 20
	second   = 1e9
)

// figure identifies a figure of a repetition. Each output format has its own name for the same figure.
type figure int

const (
	figureBandwidth figure = iota
	figureOperations
	figureLatency
	figureBlock
	figureTransfer
	figureOpen
	figureMove
	figureClose
	figureTotal
	numFigures
)

// column describes the content of a column of the table or the CSV.
type column struct {
	kind   columnKind
	figure figure
}

type columnKind int

const (
	columnOther columnKind = iota
	columnAccess
	columnFigure
	columnTasks
	columnIndex
)

// columnNames maps the column headings used by IOR versions 3.0 through 4.1 to their meanings. Latencies are in
// seconds, even in the CSV, whose heading does not name the unit.
var columnNames = map[string]column{
	"access": {kind: columnAccess}, "numTasks": {kind: columnTasks}, "iter": {kind: columnIndex},
	"bw(MiB/s)": {columnFigure, figureBandwidth}, "IOPS": {columnFigure, figureOperations},
	"Latency": {columnFigure, figureLatency}, "Latency(s)": {columnFigure, figureLatency},
	"block(KiB)": {columnFigure, figureBlock}, "xfer(KiB)": {columnFigure, figureTransfer},
	"open(s)": {columnFigure, figureOpen}, "wr/rd(s)": {columnFigure, figureMove},
	"close(s)": {columnFigure, figureClose}, "total(s)": {columnFigure, figureTotal},
}

// jsonFigures maps the names in the JSON format to figures.
var jsonFigures = map[string]figure{
	"bwMiB": figureBandwidth, "iops": figureOperations, "latency": figureLatency, "blockKiB": figureBlock,
	"xferKiB": figureTransfer, "openTime": figureOpen, "wrRdTime": figureMove, "closeTime": figureClose, "totalTime": figureTotal,
}

// readHeading returns the columns of a heading. It returns nil if a required column is missing, or if a known column
// occurs twice.
func readHeading(fields []string) []column {
	columns := make([]column, 0, len(fields))
	seen := map[column]bool{}
	for _, name := range fields {
		known := columnNames[name]
		if known.kind != columnOther && seen[known] {
			return nil
		}
		seen[known] = true
		columns = append(columns, known)
	}
	for _, needed := range []column{{kind: columnAccess}, {kind: columnIndex}, {columnFigure, figureBandwidth}, {columnFigure, figureTotal}} {
		if !seen[needed] {
			return nil
		}
	}
	return columns
}

// row holds the figures of a line before they are checked.
type row struct {
	access  string
	figures [numFigures]number
	index   int
	tasks   int
}

func newRow() row {
	empty := row{index: -1}
	for i := range empty.figures {
		empty.figures[i].absent = true
	}
	return empty
}

// readRow reads the fields of a line. It is strict, because a line that two ranks wrote at once must not be mistaken
// for figures.
func readRow(columns []column, fields []string) (row, error) {
	if len(fields) != len(columns) {
		return row{}, fmt.Errorf("the row has %d fields, but there are %d headings", len(fields), len(columns))
	}
	read := newRow()
	for i, text := range fields {
		switch columns[i].kind {
		case columnAccess:
			read.access = text
		case columnTasks, columnIndex:
			count, ok := parseCount(text)
			if !ok || count > 1<<30 {
				return row{}, fmt.Errorf("%q is not a count", clip(text))
			}
			if columns[i].kind == columnTasks {
				read.tasks = int(count)
			} else {
				read.index = int(count)
			}
		case columnFigure:
			if text == "-" {
				continue
			}
			value, ok := parseNumber(text)
			if !ok {
				return row{}, fmt.Errorf("%q is not a number", clip(text))
			}
			read.figures[columns[i].figure] = value
		case columnOther:
		}
	}
	return read, nil
}

// operationOf translates IOR's word for an operation. It returns false for "remove" and all other words.
func operationOf(access string) (measure.Operation, bool) {
	switch access {
	case "write":
		return measure.Write, true
	case "read":
		return measure.Read, true
	}
	return 0, false
}

// repetition turns a row into a Repetition. moved is the number of bytes that IOR printed before the row or that its
// parameters imply, or 0 if unknown.
func (r *row) repetition(operation measure.Operation, moved int64) (Repetition, error) {
	f := &r.figures
	if f[figureBandwidth].absent || f[figureTotal].absent {
		return Repetition{}, fmt.Errorf("the %s row lacks the bandwidth or the total time", r.access)
	}
	result := Repetition{
		Operation: operation, Index: r.index, Tasks: r.tasks,
		BytesPerSecond:           f[figureBandwidth].scaled(mebibyte),
		OperationsPerSecondMilli: f[figureOperations].scaled(1000),
		BlockBytes:               max(f[figureBlock].scaled(kibibyte), 0),
		TransferBytes:            max(f[figureTransfer].scaled(kibibyte), 0),
		OpenNanoseconds:          f[figureOpen].scaled(second),
		TransferNanoseconds:      f[figureMove].scaled(second),
		CloseNanoseconds:         f[figureClose].scaled(second),
		TotalNanoseconds:         f[figureTotal].scaled(second),
	}
	possible := f[figureBandwidth].span().by(mebibyte).times(f[figureTotal].span()).widened()
	if result.TransferBytes > 0 && !f[figureOperations].absent && !f[figureMove].absent {
		transfers := f[figureOperations].span().times(f[figureMove].span())
		possible = possible.and(transfers.times(f[figureTransfer].span().by(kibibyte)).widened())
	}
	if possible.empty() {
		return Repetition{}, fmt.Errorf("bandwidth, rate and times of a %s are inconsistent", r.access)
	}
	result.Bytes = rounded((possible.low + possible.high) / 2)
	if block, ok := r.blockBytes(); ok {
		if exact, ok := possible.multiple(block * int64(min(r.tasks, 1<<24))); ok {
			result.Bytes, result.BytesExact = exact, true
		}
	}
	if moved > 0 {
		if float64(moved) < possible.low || float64(moved) > possible.high {
			return Repetition{}, fmt.Errorf("%d bytes at %s MiB/s do not match the duration of the %s", moved,
				strings.TrimRight(fmt.Sprintf("%.4f", f[figureBandwidth].value), "0"), r.access)
		}
		result.Bytes, result.BytesExact = moved, true
	}
	return result, nil
}

// blockBytes returns the size of a block if the printed figures determine it. The transfer size is a multiple of 8, and
// the block size is a multiple of the transfer size. IOR's table rounds sizes of 3,600 KiB and more to whole KiB.
func (r *row) blockBytes() (int64, bool) {
	transfer, ok := r.figures[figureTransfer].span().by(kibibyte).multiple(8)
	if !ok || r.figures[figureTransfer].absent || r.figures[figureBlock].absent {
		return 0, false
	}
	block, ok := r.figures[figureBlock].span().by(kibibyte).multiple(transfer)
	return block, ok && block <= 1<<52
}
