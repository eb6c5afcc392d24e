package truth

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// Record is the record of a store since its start.
type Record struct {
	// Start is the time of day at which second 0 began.
	Start time.Time
	// Seconds holds all complete seconds, beginning with second 0.
	Seconds []model.Second
	// Buckets lists the names of the buckets, in the order of Credits in each second.
	Buckets []string
}

// Of returns the record of a store that this process has mounted. The record includes everything that the store answered
// before the call: Of waits for the end of the current second, because a store records only complete seconds.
func Of(f *burstfs.FS) Record {
	for now := len(f.Truth()); len(f.Truth()) == now; {
		time.Sleep(10 * time.Millisecond)
	}
	r := Record{Start: f.Start(), Seconds: f.Truth()}
	for _, bucket := range f.Config().Buckets {
		r.Buckets = append(r.Buckets, bucket.Name)
	}
	return r
}

// Read reads the CSV of a store.
func Read(from io.Reader) (Record, error) {
	lines, err := csv.NewReader(from).ReadAll()
	if err != nil {
		return Record{}, fmt.Errorf("reading the record of a store: %w", err)
	}
	if len(lines) < 2 {
		return Record{}, errors.New("reading the record of a store: it has no line; a second must have passed")
	}
	var r Record
	for _, name := range lines[0] {
		if bucket, ok := strings.CutPrefix(name, "credits_"); ok {
			r.Buckets = append(r.Buckets, bucket)
		}
	}
	row := row{header: lines[0], start: math.NaN()}
	for _, line := range lines[1:] {
		row.fields = line
		r.Seconds = append(r.Seconds, row.second(r.Buckets))
	}
	if row.err != nil {
		return Record{}, fmt.Errorf("reading the record of a store: %w", row.err)
	}
	r.Start = time.UnixMicro(int64(math.Round(row.start * 1e6)))
	return r, nil
}

// row reads the fields of a line by column name. It keeps the first error.
type row struct {
	header, fields []string
	start          float64 // the time of day of the first line, in seconds
	err            error
}

func (r *row) text(column string) string {
	i := slices.Index(r.header, column)
	if i < 0 || i >= len(r.fields) {
		r.err = errors.Join(r.err, fmt.Errorf("it has no column %s", column))
		return "0"
	}
	return r.fields[i]
}

func (r *row) float(column string) float64 {
	value, err := strconv.ParseFloat(r.text(column), 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("column %s: %w", column, err)
	}
	return value
}

func (r *row) integer(column string) int64 {
	value, err := strconv.ParseInt(r.text(column), 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("column %s: %w", column, err)
	}
	return value
}

// since returns the time in a column as the time since the store's start.
func (r *row) since(column string) time.Duration {
	return time.Duration(math.Round((r.float(column)-r.start)*1e6)) * time.Microsecond
}

func (r *row) counts(prefix string) model.Answered {
	of := func(name string) int64 { return r.integer(prefix + name) }
	return model.Answered{
		ReadBytes: of("read_bytes"), ReadOperations: of("read_operations"),
		WriteBytes: of("write_bytes"), WriteOperations: of("write_operations"), SyncOperations: of("sync_operations"),
		CachedReadBytes: of("cached_read_bytes"), CachedReadOperations: of("cached_read_operations"),
		StoredWriteBytes: of("stored_write_bytes"),
	}
}

func (r *row) bins() (bins []model.Bin) {
	for _, text := range strings.Fields(r.text("bins")) {
		var b model.Bin
		if _, err := fmt.Sscanf(text, "%d:%d:%d:%d:%d", &b.Index, &b.ReadBytes, &b.ReadOperations, &b.WriteBytes, &b.WriteOperations); err != nil && r.err == nil {
			r.err = fmt.Errorf("column bins: %q: %w", text, err)
		}
		bins = append(bins, b)
	}
	return bins
}

func (r *row) second(buckets []string) model.Second {
	if math.IsNaN(r.start) {
		r.start = r.float("unix_seconds") - r.float("seconds")
	}
	s := model.Second{
		Index:    int(r.integer("seconds")),
		Answered: r.counts(""), BeforePause: r.counts("before_pause_"),
		Errors: r.integer("errors"), InFlight: int(r.integer("in_flight")), InFlightBytes: r.integer("in_flight_bytes"),
		MostInFlight: int(r.integer("most_in_flight")), MostInFlightBytes: r.integer("most_in_flight_bytes"), Bins: r.bins(),
		Waiting: int(r.integer("waiting")), Busy: r.float("busy"), Loaded: r.float("loaded"), TenantShare: r.float("tenant_share"),
	}
	if r.text("pause_from") != "" {
		s.Pause = model.Pause{From: r.since("pause_from"), To: r.since("pause_to")}
	}
	for _, bucket := range buckets {
		s.Credits = append(s.Credits, r.float("credits_"+bucket))
	}
	return s
}

// since converts a time of day to seconds since the store's start.
func (r Record) since(t time.Time) float64 { return t.Sub(r.Start).Seconds() }

// At converts a time since the store's start to a time of day.
func (r Record) At(since time.Duration) time.Time { return r.Start.Add(since) }

// Sums holds the bytes and operations read and written in a span.
type Sums struct {
	ReadBytes, WriteBytes, ReadOperations, WriteOperations, CachedReadBytes, StoredWriteBytes float64
}

// Between sums up a span. A second that is only partly in the span counts in proportion to the loaded time that the
// span contains. So the ends of a span are best in a pause, or where the rate does not change. The parts of a second
// before and after its longest pause are counted separately.
func (r Record) Between(from, to time.Time) Sums {
	var sums Sums
	a, b := r.since(from), r.since(to)
	idle := r.idle()
	add := func(begin, end float64, counts model.Answered) {
		if b <= begin || a >= end {
			return
		}
		part := idle.loaded(max(a, begin), min(b, end)) / idle.loaded(begin, end)
		if math.IsNaN(part) { // no load was outstanding, or for less than 5 ms
			part = (min(b, end) - max(a, begin)) / (end - begin)
		}
		sums.add(part, counts)
	}
	for _, s := range r.Seconds {
		begin, end, rest := float64(s.Index), float64(s.Index+1), s.Answered
		if over := s.Pause.To.Seconds(); over > begin {
			add(begin, over, s.BeforePause)
			begin, rest = over, s.Answered.Less(s.BeforePause)
		}
		add(begin, end, rest)
	}
	return sums
}

func (s *Sums) add(part float64, counts model.Answered) {
	s.ReadBytes += part * float64(counts.ReadBytes)
	s.WriteBytes += part * float64(counts.WriteBytes)
	s.ReadOperations += part * float64(counts.ReadOperations)
	s.WriteOperations += part * float64(counts.WriteOperations)
	s.CachedReadBytes += part * float64(counts.CachedReadBytes)
	s.StoredWriteBytes += part * float64(counts.StoredWriteBytes)
}

// spans lists times without outstanding load, in seconds since the store's start.
type spans [][2]float64

// idle returns the pauses and the time after the last I/O.
func (r Record) idle() spans {
	var all spans
	last := -1 // index of the second with the last I/O
	for i, s := range r.Seconds {
		if s.Pause != (model.Pause{}) {
			all = append(all, [2]float64{s.Pause.From.Seconds(), s.Pause.To.Seconds()})
		}
		if s.Loaded > 0 {
			last = i
		}
	}
	if last < 0 || last == len(r.Seconds)-1 {
		return all
	}
	// Idle time in that second that belongs to no pause was after the last I/O.
	end := float64(last) + 1
	return append(all, [2]float64{end - max(0, all.loaded(end-1, end)-r.Seconds[last].Loaded), math.Inf(1)})
}

// loaded returns how many seconds of a span were loaded.
func (s spans) loaded(from, to float64) float64 {
	length := to - from
	for _, span := range s {
		length -= max(0, min(to, span[1])-max(from, span[0]))
	}
	return max(0, length)
}

// Pause is a period without outstanding load.
type Pause struct{ From, To time.Time }

// Length returns the length of the pause.
func (p Pause) Length() time.Duration { return p.To.Sub(p.From) }

// Pauses returns the pauses that ended in a span, in order. The record has at most one per second.
func (r Record) Pauses(from, to time.Time) []Pause {
	var found []Pause
	for _, s := range r.Seconds {
		if s.Pause == (model.Pause{}) {
			continue
		}
		if pause := (Pause{r.At(s.Pause.From), r.At(s.Pause.To)}); pause.To.After(from) && !pause.To.After(to) {
			found = append(found, pause)
		}
	}
	return found
}

// LongestPause returns the longest pause that ended in a span, or false if there is none.
func (r Record) LongestPause(from, to time.Time) (Pause, bool) {
	pauses := r.Pauses(from, to)
	if len(pauses) == 0 {
		return Pause{}, false
	}
	return slices.MaxFunc(pauses, func(a, b Pause) int { return cmp.Compare(a.Length(), b.Length()) }), true
}
