package series

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/storagebench/storagebench/internal/measure"
)

// MaxBytes is how large an encoded log may be: a ConfigMap holds 1 MiB, with its name and labels.
const MaxBytes = 900 << 10

// formatVersion is that of the encoding.
const formatVersion = 1

// maxDecoded bounds what is read from a compressed text that somebody else wrote.
const maxDecoded = 64 << 20

// Encode is the log as JSON in columns, compressed, in at most so many bytes. The log itself is not changed. limit 0 is
// no limit.
func (l *Log) Encode(limit int) ([]byte, error) {
	text, err := l.compressed()
	if err != nil || limit <= 0 || len(text) <= limit {
		return text, err
	}
	smaller := l.clone()
	for more := true; len(text) > limit; {
		if !more {
			return nil, fmt.Errorf("the series of %d steps cannot be made to fit into %d bytes", len(l.Steps), limit)
		}
		// A few at a time: to compress takes far longer than to join.
		for i := 0; more && i < max(1, 2*len(smaller.Steps)/3); i++ {
			more = smaller.coarsen()
		}
		if text, err = smaller.compressed(); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// clone is deep as far as coarsen changes anything.
func (l *Log) clone() *Log {
	made := &Log{Coarsened: l.Coarsened}
	for _, step := range l.Steps {
		step.Targets = append([]Target(nil), step.Targets...)
		made.Steps = append(made.Steps, step)
	}
	return made
}

func (l *Log) compressed() ([]byte, error) {
	var buffer bytes.Buffer
	w, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress the series: %w", err)
	}
	if err := errors.Join(json.NewEncoder(w).Encode(columnsOf(l)), w.Close()); err != nil {
		return nil, fmt.Errorf("compress the series: %w", err)
	}
	return buffer.Bytes(), nil
}

// Decode reads what Encode wrote. It takes nothing for granted.
func Decode(text []byte) (*Log, error) {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the series: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxDecoded+1))
	if err != nil {
		return nil, fmt.Errorf("read the series: %w", err)
	}
	if len(plain) > maxDecoded {
		return nil, fmt.Errorf("read the series: they take more than %d MiB", maxDecoded>>20)
	}
	var from columns
	if err := json.Unmarshal(plain, &from); err != nil {
		return nil, fmt.Errorf("read the series: %w", err)
	}
	if from.Version != formatVersion {
		return nil, fmt.Errorf("read the series: they are of version %d, and this program knows %d", from.Version, formatVersion)
	}
	return from.log()
}

// MarshalJSON writes the encoded log as one string in base 64.
func (l *Log) MarshalJSON() ([]byte, error) {
	text, err := l.Encode(MaxBytes)
	if err != nil {
		return nil, err
	}
	return json.Marshal(text)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Log) UnmarshalJSON(data []byte) error {
	var text []byte
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("read the series: %w", err)
	}
	if len(text) == 0 {
		*l = Log{}
		return nil
	}
	read, err := Decode(text)
	if err != nil {
		return err
	}
	*l = *read
	return nil
}

// columns is the form in which a log is written: numbers that resemble each other lie beside each other.
type columns struct {
	Version   int          `json:"version"`
	Coarsened bool         `json:"coarsened,omitempty"`
	Steps     []stepColumn `json:"steps"`
}

type stepColumn struct {
	ID      string         `json:"id"`
	Attempt int            `json:"attempt"`
	Targets []targetColumn `json:"targets"`
}

type targetColumn struct {
	Target string `json:"target"`
	// Start is nanoseconds since 1970 of the first point; gaps and lengths are microseconds: from the end of the point
	// before, and of the point itself.
	Start   int64                  `json:"start,omitempty"`
	Gaps    []int64                `json:"gaps,omitempty"`
	Lengths []int64                `json:"lengths,omitempty"`
	States  []int                  `json:"states,omitempty"`
	Counts  map[string]countColumn `json:"counts,omitempty"`
	Minutes []minuteColumn         `json:"minutes,omitempty"`
	Latency []latencyColumn        `json:"latency,omitempty"`
	Clients [][2]int64             `json:"clients,omitempty"`
}

type countColumn struct {
	Bytes      []uint64 `json:"bytes"`
	Operations []uint64 `json:"operations"`
}

type minuteColumn struct {
	Start       int64             `json:"start"`
	End         int64             `json:"end"`
	Operation   measure.Operation `json:"operation"`
	Samples     uint64            `json:"samples"`
	Percentiles [4]uint64         `json:"percentiles"` // 50, 95, 99, 99.9; 0 is none
}

type latencyColumn struct {
	Operation measure.Operation `json:"operation"`
	Bins      [][2]uint64       `json:"bins"` // low, count
}
