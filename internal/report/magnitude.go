package report

import (
	"strconv"
	"strings"
	"time"
)

// factors maps the units of figures to their size in the base unit (bytes, nanoseconds, operations), so that cells with
// different units can be sorted.
var factors = map[string]float64{
	"": 1, "%": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12,
	"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9,
	"IOPS": 1, "k": 1e3, "M": 1e6, "G": 1e9, "kIOPS": 1e3, "MIOPS": 1e6, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "clients": 1, "client": 1,
}

// magnitude parses a figure into a number in its base unit. It ignores the marks *, = and ! at the end, and returns
// false if text is not a figure.
func magnitude(text string) (float64, bool) {
	text = strings.TrimRight(strings.TrimLeft(strings.TrimSpace(text), "+"), "*=! ")
	text, _, _ = strings.Cut(text, ":1") // ratios are written as N:1
	number, unit, found := strings.Cut(text, " ")
	if !found {
		end := strings.LastIndexAny(text, "0123456789.") + 1
		number, unit = text[:end], text[end:]
	}
	number = strings.ReplaceAll(number, ",", "")
	value, err := strconv.ParseFloat(number, 64)
	factor, known := factors[unit]
	if err == nil && known {
		return value * factor, true
	}
	if took, err := time.ParseDuration(text); err == nil {
		return float64(took.Nanoseconds()), true
	}
	return 0, false
}
