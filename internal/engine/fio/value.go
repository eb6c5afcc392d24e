package fio

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// valueRule checks the value of an option and returns the form in which it is written to the job file. This form
// contains no character that is special to fio's parser, a shell or the calculator bc, such as quotes or "$". It
// contains a "/" only between a size and its percentage (bssplit, zoned distributions).
type valueRule func(value string) (written string, err error)

// flag01 checks an option with the value 0 or 1. An omitted value means 1.
func flag01(value string) (string, error) {
	switch value {
	case "":
		return "1", nil
	case "0", "1":
		return value, nil
	}
	return "", errors.New("use 0 or 1")
}

func bool01(value string) (string, error) {
	if value != "0" && value != "1" {
		return "", errors.New("use 0 or 1")
	}
	return value, nil
}

func integer(least, most int64) valueRule {
	return func(value string) (string, error) {
		number, err := strconv.ParseInt(value, 10, 64)
		if err != nil || number < least || number > most || value[0] == '+' {
			return "", fmt.Errorf("use a whole number from %d to %d", least, most)
		}
		return strconv.FormatInt(number, 10), nil
	}
}

func oneOf(words ...string) valueRule {
	return func(value string) (string, error) {
		if !slices.Contains(words, value) {
			return "", fmt.Errorf("use one of %s", strings.Join(words, ", "))
		}
		return value, nil
	}
}

func matching(pattern, remedy string) valueRule {
	compiled := regexp.MustCompile(`^(?:` + pattern + `)$`)
	return func(value string) (string, error) {
		if len(value) > 512 || !compiled.MatchString(value) {
			return "", errors.New(remedy)
		}
		return value, nil
	}
}

// size checks a number of bytes in fio's notation, and returns the number without a unit.
func size(value string) (string, error) {
	bytes, err := parseSize(value)
	if err != nil {
		return "", err
	}
	return strconv.FormatUint(bytes, 10), nil
}

// sizes checks up to three sizes, for reads, writes and trims.
func sizes(value string) (string, error) {
	parts := strings.Split(value, ",")
	if len(parts) > 3 {
		return "", errors.New("use at most three sizes, for reads, writes and trims")
	}
	for i, part := range parts {
		written, err := size(part)
		if err != nil {
			return "", err
		}
		parts[i] = written
	}
	return strings.Join(parts, ","), nil
}

// blockSizes checks up to three block sizes, for reads, writes and trims.
func blockSizes(value string) (string, error) {
	for part := range strings.SplitSeq(value, ",") {
		if bytes, err := parseSize(part); err == nil && (bytes == 0 || bytes > maxBlockBytes) {
			return "", errors.New("use a block size from 1 byte to 1g")
		}
	}
	return sizes(value)
}

var knownSplits = matching(`[0-9]{1,12}[kKmM]?(?:/[0-9]{0,3})?(?:[:,][0-9]{1,12}[kKmM]?(?:/[0-9]{0,3})?)*`,
	"use sizes with percentages, such as 4k/60:64k/40")

// splits checks block sizes with their percentages (bssplit).
func splits(value string) (string, error) {
	written, err := knownSplits(value)
	if err != nil {
		return "", err
	}
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ':' || r == ',' }) {
		size, _, _ := strings.Cut(part, "/")
		if bytes, err := parseSize(size); err != nil || bytes == 0 || bytes > maxBlockBytes {
			return "", errors.New("use block sizes from 1 byte to 1g")
		}
	}
	return written, nil
}

// ranges checks up to three block size ranges (MIN-MAX), for reads, writes and trims.
func ranges(value string) (string, error) {
	parts := strings.Split(value, ",")
	if len(parts) > 3 {
		return "", errors.New("use at most three ranges, for reads, writes and trims")
	}
	for i, part := range parts {
		least, most, found := strings.Cut(part, "-")
		low, errLow := parseSize(least)
		high, errHigh := parseSize(most)
		if err := errors.Join(errLow, errHigh); !found || err != nil || low == 0 || low > high || high > maxBlockBytes {
			return "", errors.New("use a range of sizes such as 4k-64k")
		}
		parts[i] = fmt.Sprintf("%d-%d", low, high)
	}
	return strings.Join(parts, ","), nil
}

var sizePattern = regexp.MustCompile(`^([0-9]{1,18})([kmgtp]?)(i?)(b?)$`)

// parseSize reads a size as fio does: k, m, g, t and p are powers of 1024. fio reads "KiB" as 1000 bytes and "KB" as
// 1024 (kb_base=1024, for old job files). Users who write KiB expect 1024 bytes, so sizes with iB are refused.
func parseSize(value string) (uint64, error) {
	parts := sizePattern.FindStringSubmatch(strings.ToLower(value))
	if parts == nil || parts[3] != "" && parts[2] == "" || parts[4] != "" && parts[2] == "" {
		return 0, errors.New("use a size in bytes, or with the suffix k, m, g or t (powers of 1024), such as 4k")
	}
	if parts[3] != "" && parts[4] != "" {
		return 0, fmt.Errorf("fio reads %s as a power of 1000: use %s%s for a power of 1024, or plain bytes", value, parts[1], parts[2])
	}
	number, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the size %s: %w", value, err)
	}
	power := strings.Index(" kmgtp", parts[2])
	if parts[2] == "" {
		power = 0
	}
	high, bytes := bits.Mul64(number, 1<<(10*power))
	if high != 0 || bytes > 1<<62 {
		return 0, fmt.Errorf("the size %s is too large", value)
	}
	return bytes, nil
}
