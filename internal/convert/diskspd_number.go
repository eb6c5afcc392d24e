package convert

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// diskspdSize reads a size as DiskSpd does: bytes, or a number with the suffix K, M, G or T (powers of 1024) or b
// (blocks). rest is the text after the size.
func diskspdSize(text string, block uint64) (value uint64, rest string, err error) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits == 0 {
		return 0, "", errors.New("use a size such as 4096, 64K, 8G or 8b")
	}
	number, err := strconv.ParseUint(text[:digits], 10, 64)
	if err != nil {
		return 0, "", errors.New("the size is too large")
	}
	rest = text[digits:]
	factor := uint64(1)
	if rest != "" {
		switch rest[0] {
		case 'k', 'K':
			factor = 1 << 10
		case 'm', 'M':
			factor = 1 << 20
		case 'g', 'G':
			factor = 1 << 30
		case 't', 'T':
			factor = 1 << 40
		case 'b', 'B':
			factor = block
		}
		if factor != 1 || rest[0] == 'b' || rest[0] == 'B' {
			rest = rest[1:]
		}
	}
	high, value := bits.Mul64(number, factor)
	if high != 0 || value > 1<<62 {
		return 0, "", errors.New("the size is too large")
	}
	return value, rest, nil
}

// diskspdWhole reads a size, and returns an error if more text follows it.
func diskspdWhole(text string, block uint64) (uint64, error) {
	value, rest, err := diskspdSize(text, block)
	if err == nil && rest != "" {
		err = fmt.Errorf("%q follows the size: use a size such as 4096, 64K, 8G or 8b", shown(rest))
	}
	return value, err
}

// diskspdCount reads a whole number. It returns an error for text such as 4x, which is probably a typing mistake.
// DiskSpd itself uses atoi, which reads 4x as 4.
func diskspdCount(text string, least, most int64) (int64, error) {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < least || value > most || text[0] == '+' {
		return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
	}
	return value, nil
}
