package series

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/storagebench/storagebench/internal/measure"
)

// MaxBytes limits the size of an encoded log: a ConfigMap holds 1 MiB, including its name and labels.
const MaxBytes = 900 << 10

// formatVersion is the version of the encoding.
const formatVersion = 1

// maxDecoded limits the number of bytes that Decode decompresses, because its input is not trusted.
const maxDecoded = 64 << 20

// Encode returns the log as gzip-compressed JSON in columns, of at most limit bytes; 0 means no limit. If the log is
// too large, Encode coarsens a copy. It returns an error if that does not suffice.
func (l *Log) Encode(limit int) ([]byte, error) {
	text, err := l.compressed()
	if err != nil || limit <= 0 || len(text) <= limit {
		return text, err
	}
	smaller := l.clone()
	for more := true; len(text) > limit; {
		if !more {
			return nil, fmt.Errorf("the series of %d steps exceed %d bytes", len(l.Steps), limit)
		}
		// Coarsen several times before compressing again, because compressing takes far longer.
		for i := 0; more && i < max(1, 2*(len(smaller.Steps)+len(smaller.Observed))/3); i++ {
			more = smaller.coarsen()
		}
		if text, err = smaller.compressed(); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// clone copies everything that coarsen changes.
func (l *Log) clone() *Log {
	made := &Log{Coarsened: l.Coarsened, Observed: slices.Clone(l.Observed)}
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

// Decode reads the output of Encode. It does not trust its input: it limits the size, and checks points, minutes, bins
// and clients.
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
		return nil, fmt.Errorf("read the series: larger than %d MiB", maxDecoded>>20)
	}
	var from columns
	if err := json.Unmarshal(plain, &from); err != nil {
		return nil, fmt.Errorf("read the series: %w", err)
	}
	if from.Version != formatVersion {
		return nil, fmt.Errorf("read the series: version %d is not supported, want %d", from.Version, formatVersion)
	}
	return from.log()
}

// MarshalJSON writes the encoded log, of at most MaxBytes, as one base64 string.
func (l *Log) MarshalJSON() ([]byte, error) {
	text, err := l.Encode(MaxBytes)
	if err != nil {
		return nil, err
	}
	return json.Marshal(text)
}

// UnmarshalJSON reads the output of MarshalJSON.
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

// columns is the serialized form of a log. It groups similar numbers to improve compression.
type columns struct {
	Version   int              `json:"version"`
	Coarsened bool             `json:"coarsened,omitempty"`
	Steps     []stepColumn     `json:"steps"`
	Observed  []observedColumn `json:"observed,omitempty"`
}

type stepColumn struct {
	ID      string         `json:"id"`
	Attempt int            `json:"attempt"`
	Targets []targetColumn `json:"targets"`
}

type targetColumn struct {
	Target string `json:"target"`
	// Start is the start of the first point in Unix nanoseconds. Gaps and Lengths are in microseconds: the distance
	// from the end of the previous point, and the length of the point.
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
	Percentiles [4]uint64         `json:"percentiles"` // p50, p95, p99 and p99.9 of latency; 0 if unknown
}

type latencyColumn struct {
	Operation measure.Operation `json:"operation"`
	Bins      [][2]uint64       `json:"bins"` // each bin is a pair of its lower edge in nanoseconds and its count
}
