package measure

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// MarshalJSON writes the bins in the format of fio's json+: an object that maps nanoseconds to counts, in ascending
// order. It returns an error if the histogram is saturated.
func (h Histogram) MarshalJSON() ([]byte, error) {
	if h.saturated {
		return nil, errors.New("encode histogram: a count overflows 64 bits")
	}
	b := []byte{'{'}
	for key, n := range h.Bins() {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendUint(b, key, 10)
		b = append(b, '"', ':')
		b = strconv.AppendUint(b, n, 10)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads a JSON object that maps latencies in nanoseconds to counts, such as "bins" in fio's json+. The
// keys may be in any order. It returns an error, and leaves h unchanged, if a key is not on fio's grid or is repeated,
// if a count is not a plain unsigned integer, or if the sum of the counts overflows. By convention, null changes
// nothing.
//
// It does not use encoding/json, which would silently keep the last of two equal keys and would take longer. Speed
// matters, because fio's dumps hold thousands of bins per second.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var decoded Histogram
	scan := binScanner{data: data}
	for {
		key, n, more, err := scan.next()
		if err != nil {
			return fmt.Errorf("decode histogram: %w", err)
		}
		if !more {
			break
		}
		index, err := indexOfKey(key)
		if err != nil {
			return fmt.Errorf("decode histogram: %w", err)
		}
		if counts := decoded.pages[index/bucketsInGroup]; counts != nil && counts[index%bucketsInGroup] != 0 {
			return fmt.Errorf("decode histogram: duplicate bin %d ns", key)
		}
		if n > math.MaxUint64-decoded.total {
			return fmt.Errorf("decode histogram: bin %d ns with count %d: the sum of all counts overflows 64 bits", key, n)
		}
		decoded.addFresh(index, n)
	}
	*h = decoded
	return nil
}

// binScanner scans a JSON object that maps latencies in nanoseconds to counts, such as {"1200": 3}.
type binScanner struct {
	data   []byte
	opened bool
}

var errNotBins = errors.New(`bins must be an object that maps latencies in nanoseconds to counts, such as {"1200": 3}`)

// next returns the next pair. more is false after the last pair, which only white space may follow.
func (s *binScanner) next() (key, n uint64, more bool, err error) {
	first := !s.opened
	if first {
		if !s.take('{') {
			return 0, 0, false, errNotBins
		}
		s.opened = true
	}
	if s.take('}') {
		if s.skipSpace(); len(s.data) != 0 {
			return 0, 0, false, errNotBins
		}
		return 0, 0, false, nil
	}
	if !first && !s.take(',') {
		return 0, 0, false, errNotBins
	}
	if !s.take('"') {
		return 0, 0, false, errNotBins
	}
	if key, err = s.digits(); err != nil {
		return 0, 0, false, err
	}
	if len(s.data) == 0 || s.data[0] != '"' {
		return 0, 0, false, errNotBins
	}
	s.data = s.data[1:]
	if !s.take(':') {
		return 0, 0, false, errNotBins
	}
	s.skipSpace()
	if n, err = s.digits(); err != nil {
		return 0, 0, false, err
	}
	return key, n, true, nil
}

func (s *binScanner) skipSpace() {
	for len(s.data) != 0 {
		switch s.data[0] {
		case ' ', '\t', '\n', '\r':
			s.data = s.data[1:]
		default:
			return
		}
	}
}

// take skips white space. If the wanted byte follows, take skips it too and returns true.
func (s *binScanner) take(wanted byte) bool {
	s.skipSpace()
	if len(s.data) == 0 || s.data[0] != wanted {
		return false
	}
	s.data = s.data[1:]
	return true
}

// digits reads an unsigned integer without sign, leading zero, fraction or exponent.
func (s *binScanner) digits() (uint64, error) {
	length := 0
	for length < len(s.data) && s.data[length] >= '0' && s.data[length] <= '9' {
		length++
	}
	text := s.data[:length]
	s.data = s.data[length:]
	if length == 0 || (length > 1 && text[0] == '0') {
		return 0, errNotBins
	}
	value, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the number %.30s in bins overflows 64 bits", text)
	}
	return value, nil
}
