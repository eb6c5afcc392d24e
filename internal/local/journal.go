package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/series"
)

// Entry is a report from a runner to its guard. With these entries, the guard can complete the run's record if the
// runner dies.
type Entry struct {
	// Run is the current state of the run.
	Run *v1alpha1.BenchmarkRun `json:"run,omitempty"`
	// Series is the time series of a completed step.
	Series *series.Step `json:"series,omitempty"`
	// Observed holds the values of the run's observations.
	Observed []series.Observed `json:"observed,omitempty"`
	// Data lists the directories to remove at the end of the run.
	Data []Data `json:"data,omitempty"`
	// Ended is true once the run has ended, removed its data and released its directories. Another run may then use the
	// directories.
	Ended bool `json:"ended,omitempty"`
	// Printed is true once the result has been printed for the user.
	Printed bool `json:"printed,omitempty"`
}

// Data is a benchmark's own directory on a target.
type Data struct {
	Path         string `json:"path"`
	BenchmarkUID string `json:"benchmarkUID"`
	// Device and Inode identify the target's directory. 0 matches any directory.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
}

// Journal writes entries and skips an entry that equals the previous one. A nil Journal writes nothing.
type Journal struct {
	w    io.Writer
	last []byte
}

// NewJournal returns a Journal that writes to w.
func NewJournal(w io.Writer) *Journal { return &Journal{w: w} }

// Write writes an entry. It ignores errors, because the runner notices the guard's death when the lifeline pipe breaks.
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

// Result is a run with the series of its steps.
type Result struct {
	Run    *v1alpha1.BenchmarkRun
	Series series.Log
}

// journalSummary accumulates a runner's entries.
type journalSummary struct {
	Entry
	series series.Log
	// earlier holds the runs before the current one, oldest first.
	earlier []Result
}

// readJournal reads until the writer exits. It returns the earlier runs, the latest state of the current run, the
// series of its steps, the data to remove, whether the run has ended, and whether the results were printed.
func readJournal(r io.Reader) (journalSummary, error) {
	var sum journalSummary
	decoder := json.NewDecoder(r)
	for {
		var entry Entry
		err := decoder.Decode(&entry)
		if err != nil {
			// A killed runner may leave an incomplete line at the end. The entries before it are valid.
			return sum, ignoreEnd(err)
		}
		if entry.Run != nil {
			if sum.Run != nil && sum.Run.UID != entry.Run.UID {
				// The runner has started another run.
				sum.earlier = append(sum.earlier, Result{sum.Run, sum.series})
				sum.series, sum.Ended = series.Log{}, false
			}
			sum.Run = entry.Run
		}
		if entry.Series != nil {
			sum.series.Add(*entry.Series)
		}
		if entry.Observed != nil {
			sum.series.Observe(entry.Observed)
		}
		if entry.Data != nil {
			sum.Data = entry.Data
		}
		if entry.Ended {
			sum.Ended, sum.Data = true, nil
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
