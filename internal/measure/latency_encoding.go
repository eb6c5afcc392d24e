package measure

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// latencyFormat is the first byte of an encoded latency. Change it whenever the encoding changes.
const latencyFormat = 1

// AppendBinary appends the format byte, five unsigned varints (the count, the high half of the sum, its low half, min
// and max) and the histogram. The encoding is canonical: equal latencies have equal bytes. AppendBinary returns an
// error for a saturated Latency.
func (l *Latency) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, latencyFormat)
	for _, value := range []uint64{
		l.Count, l.SumNanoseconds.High, l.SumNanoseconds.Low, l.MinNanoseconds, l.MaxNanoseconds,
	} {
		b = binary.AppendUvarint(b, value)
	}
	return l.Histogram.AppendBinary(b)
}

// MarshalBinary returns the encoding of AppendBinary in a new slice.
func (l *Latency) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// UnmarshalBinary decodes the output of AppendBinary. It returns an error, and leaves l unchanged, if the figures are
// impossible, such as a sum that is not between Count*min and Count*max.
func (l *Latency) UnmarshalBinary(data []byte) error {
	if len(data) == 0 || data[0] != latencyFormat {
		return fmt.Errorf("decode latency: the first byte is not %d: not a latency, or encoded by a different version", latencyFormat)
	}
	data = data[1:]
	var decoded Latency
	var err error
	for _, field := range []*uint64{
		&decoded.Count, &decoded.SumNanoseconds.High, &decoded.SumNanoseconds.Low,
		&decoded.MinNanoseconds, &decoded.MaxNanoseconds,
	} {
		if *field, data, err = takeUvarint(data); err != nil {
			return fmt.Errorf("decode latency: %w", err)
		}
	}
	if err := decoded.Histogram.UnmarshalBinary(data); err != nil {
		return fmt.Errorf("decode latency: %w", err)
	}
	if err := decoded.validate(); err != nil {
		return fmt.Errorf("decode latency: %w", err)
	}
	*l = decoded
	return nil
}

// UnmarshalJSON reads the JSON that encoding/json writes for a Latency, with the checks of UnmarshalBinary.
func (l *Latency) UnmarshalJSON(data []byte) error {
	type plain Latency // plain has no UnmarshalJSON method, which avoids infinite recursion
	var decoded plain
	if err := json.Unmarshal(data, &decoded); err != nil {
		return fmt.Errorf("decode latency: %w", err)
	}
	checked := Latency(decoded)
	if err := checked.validate(); err != nil {
		return fmt.Errorf("decode latency: %w", err)
	}
	if checked.Histogram.saturated {
		return errors.New("decode latency: a count overflows 64 bits")
	}
	*l = checked
	return nil
}
