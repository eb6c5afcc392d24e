package ior

import (
	"math"
	"strconv"
	"strings"
)

// maxNumber is the largest figure that is accepted. It ensures that products of two figures do not overflow.
const maxNumber = 1e15

// number is a printed, and therefore rounded, figure. The exact value lies between value-half and value+half.
type number struct {
	value, half float64
	// absent is true if the tool printed "-", "NA" or a similar placeholder instead of a figure.
	absent bool
}

// parseNumber reads a finite, non-negative figure in the form that C's %f prints. It returns false for any other text.
func parseNumber(text string) (number, bool) {
	whole, fraction, dotted := strings.Cut(text, ".")
	if !digits(whole) || dotted && !digits(fraction) {
		return number{}, false
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value > maxNumber {
		return number{}, false
	}
	return number{value: value, half: math.Pow10(-len(fraction)) / 2}, true
}

// parseCount reads a whole number.
func parseCount(text string) (int64, bool) {
	if !digits(text) {
		return 0, false
	}
	count, err := strconv.ParseInt(text, 10, 64)
	return count, err == nil
}

// scaled returns the figure in a smaller unit, as an integer; -1 if it is absent.
func (n number) scaled(factor float64) int64 {
	if n.absent {
		return -1
	}
	return rounded(n.value * factor)
}

func rounded(value float64) int64 {
	if !(value < math.MaxInt64/2) {
		return math.MaxInt64 / 2
	}
	return int64(math.Round(max(value, 0)))
}

// span is the range of exact values that correspond to a rounded figure.
type span struct{ low, high float64 }

func (n number) span() span { return span{max(n.value-n.half, 0), n.value + n.half} }

func (s span) times(o span) span { return span{s.low * o.low, s.high * o.high} }

func (s span) by(factor float64) span { return span{s.low * factor, s.high * factor} }

func (s span) and(o span) span { return span{max(s.low, o.low), min(s.high, o.high)} }

// widened returns a slightly larger span, which allows for floating-point errors.
func (s span) widened() span { return span{s.low * (1 - 1e-9), s.high * (1 + 1e-9)} }

func (s span) empty() bool { return s.low > s.high }

// multiple returns the positive multiple of unit in the span, if there is exactly one.
func (s span) multiple(unit int64) (int64, bool) {
	if unit <= 0 || s.high > maxNumber {
		return 0, false
	}
	first, last := math.Ceil(s.low/float64(unit)), math.Floor(s.high/float64(unit))
	if first != last || first < 1 {
		return 0, false
	}
	return int64(first) * unit, true
}
