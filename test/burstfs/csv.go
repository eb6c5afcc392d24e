package burstfs

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

// TruthWriter writes what a store did as CSV, a line a second.
type TruthWriter struct {
	csv  *csv.Writer
	next int
}

// NewTruthWriter writes the header. The columns of a second:
//
//	seconds              its number, from 0
//	unix_seconds         its start as time of day
//	read_bytes ...       what was answered without error in it, by kind
//	errors               what was answered with an error
//	in_flight            requests under way at its end, their bytes, and those that wait for a place
//	busy                 share of it in which a bucket had something to let through; below 1 the client did not ask
//	tenant_share         what tenants took on average of the bucket that they took most of
//	credits_NAME         what each bucket holds at its end, in bytes or operations
func NewTruthWriter(w io.Writer, config model.Config) (*TruthWriter, error) {
	t := &TruthWriter{csv: csv.NewWriter(w)}
	header := []string{
		"seconds", "unix_seconds", "read_bytes", "read_operations", "write_bytes", "write_operations", "sync_operations",
		"cached_read_bytes", "cached_read_operations", "errors", "in_flight", "in_flight_bytes", "waiting", "busy", "tenant_share",
	}
	for _, b := range config.Buckets {
		header = append(header, "credits_"+b.Name)
	}
	return t, t.lines([][]string{header})
}

// Write adds the seconds that are complete since the last call.
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
	at := start.Add(time.Duration(s.Index) * time.Second)
	fields := []string{strconv.Itoa(s.Index), fmt.Sprintf("%.6f", float64(at.UnixMicro())/1e6)}
	for _, n := range []int64{
		s.ReadBytes, s.ReadOperations, s.WriteBytes, s.WriteOperations, s.SyncOperations,
		s.CachedReadBytes, s.CachedReadOperations, s.Errors, int64(s.InFlight), s.InFlightBytes, int64(s.Waiting),
	} {
		fields = append(fields, strconv.FormatInt(n, 10))
	}
	fields = append(fields, strconv.FormatFloat(s.Busy, 'f', 4, 64), strconv.FormatFloat(s.TenantShare, 'f', 4, 64))
	for _, credits := range s.Credits {
		fields = append(fields, strconv.FormatFloat(credits, 'f', 0, 64))
	}
	return fields
}
