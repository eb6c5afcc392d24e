package limits

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// kind is the quantity that a unit measures, such as bytes per second.
type kind string

const (
	byteRate      kind = "bytes per second"
	operationRate kind = "operations per second"
	byteAmount    kind = "bytes"
	ioAmount      kind = "operations"
	duration      kind = "seconds"
)

// Binary units of capacity, in bytes. Throughout the project, decimal units are powers of 1000 and binary units are
// powers of 1024.
const (
	gibibyte = 1 << 30
	tebibyte = 1 << 40
)

// unit is the unit of a figure, such as MB/s or IOPS/TiB.
type unit struct {
	kind   kind
	factor float64
	// perBytes is the capacity, in bytes, that a figure per capacity refers to, such as 2^40 for IOPS/TiB. It is 0 for
	// other figures.
	perBytes float64
}

var baseUnits = map[string]unit{
	"B/s": {kind: byteRate, factor: 1}, "kB/s": {kind: byteRate, factor: 1e3}, "MB/s": {kind: byteRate, factor: 1e6}, "GB/s": {kind: byteRate, factor: 1e9},
	"KiB/s": {kind: byteRate, factor: 1 << 10}, "MiB/s": {kind: byteRate, factor: 1 << 20}, "GiB/s": {kind: byteRate, factor: 1 << 30},
	"Mbit/s": {kind: byteRate, factor: 1e6 / 8}, "Gbit/s": {kind: byteRate, factor: 1e9 / 8},
	"IOPS": {kind: operationRate, factor: 1}, "IO": {kind: ioAmount, factor: 1}, "s": {kind: duration, factor: 1},
	"KiB": {kind: byteAmount, factor: 1 << 10}, "MiB": {kind: byteAmount, factor: 1 << 20}, "GiB": {kind: byteAmount, factor: gibibyte},
	"TiB": {kind: byteAmount, factor: tebibyte}, "MB": {kind: byteAmount, factor: 1e6}, "GB": {kind: byteAmount, factor: 1e9}, "TB": {kind: byteAmount, factor: 1e12},
}

var capacityUnits = map[string]float64{"GiB": gibibyte, "TiB": tebibyte}

// unitOf parses the name of a unit: a base unit such as MB/s, or a base unit per GiB or TiB of capacity such as
// MB/s/TiB.
func unitOf(name string) (unit, bool) {
	if base, known := baseUnits[name]; known {
		return base, true
	}
	at := strings.LastIndexByte(name, '/')
	if at < 0 {
		return unit{}, false
	}
	base, known := baseUnits[name[:at]]
	per, capacity := capacityUnits[name[at+1:]]
	base.perBytes = per
	return base, known && capacity
}

// quantity is a figure in the catalog's notation: "150 MB/s", "12 MiB/s/TiB".
type quantity struct {
	number float64
	name   string
	unit   unit
}

// value converts the quantity to bytes, operations or seconds. It converts rates to bytes or operations per second. The
// quantity must not be per capacity.
func (q quantity) value() float64 { return q.number * q.unit.factor }

// String formats the quantity in the catalog's notation: "2,880 MB/s".
func (q quantity) String() string { return number(q.number) + " " + q.name }

// parseQuantity parses a number with a unit, which must measure one of the given quantities, such as bytes per second.
func parseQuantity(text string, kinds ...kind) (quantity, error) {
	figure, name, found := strings.Cut(strings.TrimSpace(text), " ")
	parsed, err := strconv.ParseFloat(figure, 64)
	if err != nil || math.IsNaN(parsed) || math.IsInf(parsed, 0) || parsed < 0 {
		return quantity{}, fmt.Errorf("%.60q is not a figure; use a number, a space and a unit, such as %s", text, example(kinds))
	}
	if !found {
		return quantity{}, fmt.Errorf("%.60q has no unit; add it after the number, such as %s", text, example(kinds))
	}
	known, ok := unitOf(name)
	if !ok {
		return quantity{}, fmt.Errorf("%.60q has the unknown unit %.20q; use %s, or one of them per GiB or TiB of capacity, such as MB/s/TiB",
			text, name, strings.Join(slices.Sorted(maps.Keys(baseUnits)), ", "))
	}
	if !slices.Contains(kinds, known.kind) {
		return quantity{}, fmt.Errorf("%.60q has the wrong unit (%s); use a value such as %s", text, known.kind, example(kinds))
	}
	return quantity{number: parsed, name: name, unit: known}, nil
}

func example(kinds []kind) string {
	return map[kind]string{byteRate: "150 MB/s", operationRate: "3000 IOPS", byteAmount: "4 GiB", ioAmount: "5400000 IO", duration: "1800 s"}[kinds[0]]
}

// in formats a value in a unit: in(2.88e9, "MB/s") is "2,880 MB/s".
func in(value float64, name string) string {
	known, ok := unitOf(name)
	if !ok {
		return number(value)
	}
	return number(value/known.factor) + " " + name
}

// flat returns the unit without its capacity: MB/s for MB/s/TiB.
func (q quantity) flat() string {
	if q.unit.perBytes == 0 {
		return q.name
	}
	return q.name[:strings.LastIndexByte(q.name, '/')]
}

// number formats a figure with commas, to seven significant digits and at most six decimals. It never shortens the
// integer part.
func number(value float64) string {
	if value == 0 || math.IsNaN(value) || math.IsInf(value, 0) {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	digits := 6 - int(math.Floor(math.Log10(math.Abs(value))))
	text := strconv.FormatFloat(value, 'f', max(0, min(digits, 6)), 64)
	whole, fraction, _ := strings.Cut(text, ".")
	fraction = strings.TrimRight(fraction, "0")
	for at := len(whole) - 3; at > 0 && whole[at-1] != '-'; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}
