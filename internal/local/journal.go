package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/series"
)

// Entry is what a runner tells its guard, so that the guard can finish for it.
type Entry struct {
	// Run as its facts stand.
	Run *v1alpha1.BenchmarkRun `json:"run,omitempty"`
	// Series of a step that has ended.
	Series *series.Step `json:"series,omitempty"`
	// Data that is to be removed at the end.
	Data []Data `json:"data,omitempty"`
	// Printed says that the result has been told to the user.
	Printed bool `json:"printed,omitempty"`
}

// Data is a benchmark's own directory on a target.
type Data struct {
	Path         string `json:"path"`
	BenchmarkUID string `json:"benchmarkUID"`
}

// Journal writes entries, leaving out those that tell nothing new. A nil Journal writes nothing.
type Journal struct {
	w    io.Writer
	last []byte
}

// NewJournal writes to a guard.
func NewJournal(w io.Writer) *Journal { return &Journal{w: w} }

// Write tells an entry. A guard that is gone is noticed by other means.
func (j *Journal) Write(entry Entry) {
	if j == nil {
		return
	}
	line, err := json.Marshal(entry)
	if err != nil || bytes.Equal(line, j.last) {
		return
	}
	j.last = line
	_, _ = j.w.Write(append(line, '\n'))
}

// told is all that a runner has told.
type told struct {
	Entry
	series series.Log
}

// readJournal gives the newest run, the series of its steps, and whether the result was printed, when the writer is gone.
func readJournal(r io.Reader) (told, error) {
	var sum told
	decoder := json.NewDecoder(r)
	for {
		var entry Entry
		err := decoder.Decode(&entry)
		if err != nil {
			// A runner that is killed may leave half a line; what came before it counts.
			return sum, ignoreEnd(err)
		}
		if entry.Run != nil {
			sum.Run = entry.Run
		}
		if entry.Series != nil {
			sum.series.Add(*entry.Series)
		}
		if entry.Data != nil {
			sum.Data = entry.Data
		}
		sum.Printed = sum.Printed || entry.Printed
	}
}

func ignoreEnd(err error) error {
	switch err { //nolint:errorlint // The decoder gives exactly these two at the end of its input.
	case io.EOF, io.ErrUnexpectedEOF:
		return nil
	}
	return fmt.Errorf("read the runner's journal: %w", err)
}
