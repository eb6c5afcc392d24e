package measure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Decimal units are powers of 1000 and binary units powers of 1024: MB is 10^6 bytes and MiB is 2^20. (DiskSpd prints
// MiB and calls them MB.)
const (
	decimalBase = 1000
	binaryBase  = 1024
	megabyte    = 1e6
)

// notKnown is shown for values that are not finite.
const notKnown = "n/a"

// throughputDigits and latencyDigits are the numbers of significant digits that are shown. Latencies have only three,
// because they come from buckets that are up to 1.6 % wide, so a fourth digit would be noise.
const (
	throughputDigits = 4
	latencyDigits    = 3
)

// FormatBytes formats a size in decimal units, to four digits: "287.5 MB".
func FormatBytes(bytes uint64) string {
	return scale(float64(bytes), decimalBase, throughputDigits, []string{" B", " kB", " MB", " GB", " TB", " PB", " EB"})
}

// FormatBinaryBytes formats a size in binary units, to four digits: "1.500 GiB".
func FormatBinaryBytes(bytes uint64) string {
	return scale(float64(bytes), binaryBase, throughputDigits, []string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"})
}

// FormatBytesPerSecond formats a rate in the appropriate decimal unit, to four digits: "287.5 MB/s", "12.46 GB/s".
func FormatBytesPerSecond(bytesPerSecond float64) string {
	return scale(bytesPerSecond, decimalBase, throughputDigits, []string{" B/s", " kB/s", " MB/s", " GB/s", " TB/s"})
}

// FormatMegabytesPerSecond formats a rate in MB/s (10^6) regardless of its size, for columns of comparable values:
// "12,460 MB/s", "32.00 MB/s".
func FormatMegabytesPerSecond(bytesPerSecond float64) string {
	return withUnit(digits(bytesPerSecond/megabyte, throughputDigits), " MB/s")
}

// FormatOperationsPerSecond formats a rate of operations: "1,985 IOPS", "51,200 IOPS" or, from one million,
// "1.234M IOPS".
func FormatOperationsPerSecond(operationsPerSecond float64) string {
	const million = 1e6
	if math.Abs(operationsPerSecond) >= million-0.5 {
		return withUnit(digits(operationsPerSecond/million, throughputDigits), "M IOPS")
	}
	return withUnit(digits(operationsPerSecond, throughputDigits), " IOPS")
}

// FormatLatency formats a latency to three digits: "870 ns", "12.3 us", "1.23 ms", "17.1 s".
func FormatLatency(nanoseconds uint64) string {
	return scale(float64(nanoseconds), decimalBase, latencyDigits, []string{" ns", " us", " ms", " s"})
}

// FormatShare formats a share between 0 and 1 as a percentage: "99.5 %".
func FormatShare(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return notKnown
	}
	return strconv.FormatFloat(share*100, 'f', 1, 64) + " %"
}

// FormatTail formats a share as a percentage with three digits, for shares that can be far below 1 %: "0.814 %", "4.83
// %", "0.014 %".
func FormatTail(share float64) string {
	const tailDigits = 3
	return withUnit(digits(share*100, tailDigits), " %")
}

// FormatRatio formats a ratio that is given in thousandths: 1980 is "1.98:1".
func FormatRatio(milli int64) string {
	if milli >= 100_000 {
		return strconv.FormatInt(milli/1000, 10) + ":1"
	}
	return strconv.FormatFloat(float64(milli)/1000, 'f', 2, 64) + ":1"
}

// scale divides by base until the rounded value is less than base, and appends the unit. A whole number in the first
// unit is formatted without decimals.
func scale(value, base float64, significant int, units []string) string {
	unit := 0
	for unit < len(units)-1 && math.Abs(roundTo(value, significant)) >= base {
		value /= base
		unit++
	}
	if unit == 0 && value == math.Trunc(value) {
		return group(strconv.FormatFloat(value, 'f', 0, 64)) + units[unit]
	}
	return withUnit(digits(value, significant), units[unit])
}

func withUnit(text, unit string) string {
	if text == notKnown {
		return text
	}
	return text + unit
}

// roundTo rounds to a number of significant digits, but keeps all digits before the decimal point.
func roundTo(value float64, significant int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'f', decimals(value, significant), 64), 64)
	if err != nil {
		return value
	}
	return rounded
}

// decimals returns the number of decimals, at most 3, with which a value has the given number of significant digits. It
// takes rounding into account: 9.9996 to four digits has two decimals, because it rounds to 10.00.
func decimals(value float64, significant int) int {
	_, exponent, found := strings.Cut(strconv.FormatFloat(value, 'e', significant-1, 64), "e")
	if !found {
		return 0 // the value is infinite or not a number, so it has no exponent
	}
	magnitude, err := strconv.Atoi(exponent)
	if err != nil {
		return 0
	}
	const most = 3 // readers do not need more decimals
	return min(max(significant-1-magnitude, 0), most)
}

// digits formats a value with commas between thousands and the given number of significant digits, but keeps all
// digits before the decimal point. Zero is "0".
func digits(value float64, significant int) string {
	if value == 0 {
		return "0"
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return notKnown
	}
	return group(strconv.FormatFloat(value, 'f', decimals(value, significant), 64))
}

// group puts commas between thousands.
func group(number string) string {
	integer, fraction, hasFraction := strings.Cut(number, ".")
	sign := ""
	if strings.HasPrefix(integer, "-") {
		sign, integer = "-", integer[1:]
	}
	for at := len(integer) - 3; at > 0; at -= 3 {
		integer = integer[:at] + "," + integer[at:]
	}
	if hasFraction {
		return sign + integer + "." + fraction
	}
	return sign + integer
}

// FormatList joins at most the given number of names and counts the others: "a, b and 3 more".
func FormatList(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// FormatCount formats a count with its noun, such as "1 client" and "3 clients".
func FormatCount(count int, what string) string {
	if count == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", count, what)
}
