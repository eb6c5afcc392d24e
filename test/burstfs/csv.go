package burstfs

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

// TruthWriter writes the record of a store as CSV, one line per second.
type TruthWriter struct {
	csv  *csv.Writer
	next int
}

// NewTruthWriter writes the header. Each line describes one second, in these columns:
//
//	seconds              number of the second, from 0
//	unix_seconds         start of the second, as Unix time
//	read_bytes ...       bytes and operations answered without an error, by kind
//	stored_write_bytes   bytes written, after the store's compression
//	errors               requests answered with an error
//	in_flight            requests outstanding at the end, their bytes, and those waiting because of the queue limit
//	pause_from, pause_to longest pause that ended in the second, as Unix times: from the last answer to the next request,
//	                     with no outstanding read or write of at least 1 KiB; empty if no pause lasted 5 ms
//	before_pause_...     the part of the column of that name from before this pause
//	busy                 share of the second in which a bucket had requests; below 1, clients did not ask for more
//	loaded               share of the second in which a read or write of at least 1 KiB was outstanding
//	tenant_share         mean share that tenants took of the bucket of which they took most
//	most_in_flight ...   maximum of the outstanding requests, and of their bytes
//	bins                 reads and writes per hundredth of the second, each as
//	                     INDEX:READ BYTES:READ OPERATIONS:WRITE BYTES:WRITE OPERATIONS
//	credits_NAME         credits of each bucket at the end, in bytes or operations
func NewTruthWriter(w io.Writer, config model.Config) (*TruthWriter, error) {
	t := &TruthWriter{csv: csv.NewWriter(w)}
	header := append([]string{"seconds", "unix_seconds"}, counted...)
	header = append(header, "errors", "in_flight", "in_flight_bytes", "waiting", "pause_from", "pause_to")
	for _, name := range counted {
		header = append(header, "before_pause_"+name)
	}
	header = append(header, "busy", "loaded", "tenant_share", "most_in_flight", "most_in_flight_bytes", "bins")
	for _, b := range config.Buckets {
		header = append(header, "credits_"+b.Name)
	}
	return t, t.lines([][]string{header})
}

// counted lists the columns for answered requests, in the order of counts.
var counted = []string{
	"read_bytes", "read_operations", "write_bytes", "write_operations", "sync_operations",
	"cached_read_bytes", "cached_read_operations", "stored_write_bytes",
}

func counts(c model.Answered) []int64 {
	return []int64{
		c.ReadBytes, c.ReadOperations, c.WriteBytes, c.WriteOperations, c.SyncOperations,
		c.CachedReadBytes, c.CachedReadOperations, c.StoredWriteBytes,
	}
}

// Write writes the seconds that have been completed since the last call.
func (t *TruthWriter) Write(f *FS) error {
	var lines [][]string
	for _, s := range f.TruthFrom(t.next) {
		lines = append(lines, line(s, f.Start()))
		t.next = s.Index + 1
	}
	return t.lines(lines)
}

func (t *TruthWriter) lines(lines [][]string) error {
	if err := t.csv.WriteAll(lines); err != nil {
		return fmt.Errorf("writing what the store did: %w", err)
	}
	return nil
}

func line(s model.Second, start time.Time) []string {
	clock := func(at time.Duration) string { return fmt.Sprintf("%.6f", float64(start.Add(at).UnixMicro())/1e6) }
	fields := []string{strconv.Itoa(s.Index), clock(time.Duration(s.Index) * time.Second)}
	numbers := func(all ...int64) {
		for _, n := range all {
			fields = append(fields, strconv.FormatInt(n, 10))
		}
	}
	numbers(counts(s.Answered)...)
	numbers(s.Errors, int64(s.InFlight), s.InFlightBytes, int64(s.Waiting))
	pause := []string{"", ""}
	if s.Pause != (model.Pause{}) {
		pause = []string{clock(s.Pause.From), clock(s.Pause.To)}
	}
	fields = append(fields, pause...)
	numbers(counts(s.BeforePause)...)
	fields = append(fields, strconv.FormatFloat(s.Busy, 'f', 4, 64), strconv.FormatFloat(s.Loaded, 'f', 4, 64),
		strconv.FormatFloat(s.TenantShare, 'f', 4, 64))
	numbers(int64(s.MostInFlight), s.MostInFlightBytes)
	var bins []string
	for _, b := range s.Bins {
		bins = append(bins, fmt.Sprintf("%d:%d:%d:%d:%d", b.Index, b.ReadBytes, b.ReadOperations, b.WriteBytes, b.WriteOperations))
	}
	fields = append(fields, strings.Join(bins, " "))
	for _, credits := range s.Credits {
		fields = append(fields, strconv.FormatFloat(credits, 'f', 0, 64))
	}
	return fields
}
