package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/series"
)

// ErrNoSeries is returned for a document that does not contain the series of its run.
var ErrNoSeries = errors.New("the record of this run contains no time series: " +
	"specify a file written by `run -o json`, or a run whose series are still in the cluster; " +
	"reading series from the cluster requires permission to list ConfigMaps")

// CSVTable is the name of a table that CSV can write.
type CSVTable string

// Tables that CSV can write.
const (
	// CSVSeries has a row per interval and operation: rates over time.
	CSVSeries CSVTable = "series"
	// CSVLatency has a row per minute and operation: percentiles over time.
	CSVLatency CSVTable = "latency"
	// CSVDistribution has a row per bin of the latency distribution of a step.
	CSVDistribution CSVTable = "distribution"
	// CSVClients has a row per client and step.
	CSVClients CSVTable = "clients"
	// CSVObservations has a row per value of an observation.
	CSVObservations CSVTable = "observations"
)

// CSV writes a table of the run's series with a header row, in the format of RFC 4180 but with LF line endings. Times
// are in seconds from the start of the run; the start of an interval is also given in the format of RFC 3339. Column
// names end with their unit. Intervals that were not measured have no row. A percentile is empty if too few operations
// lie above it.
func CSV(w io.Writer, d Document, table CSVTable) error {
	write, known := csvTables[table]
	if !known {
		return fmt.Errorf("unknown table %q: use series, latency, distribution, clients or observations", string(table))
	}
	if d.Series.Empty() || d.StartTime == nil {
		return ErrNoSeries
	}
	out := csv.NewWriter(w)
	if err := write(out, d); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

var csvTables = map[CSVTable]func(*csv.Writer, Document) error{
	CSVSeries: seriesCSV, CSVLatency: latencyCSV, CSVDistribution: distributionCSV, CSVClients: clientsCSV, CSVObservations: observationsCSV,
}

// placed lists the names of the first columns of every table, which identify a step and a target. place returns the
// cells of these columns.
var placed = []string{"phase", "step", "target"}

func place(step *v1alpha1.ResolvedStep, target *series.Target) []string {
	return []string{harmless(step.Phase), harmless(step.ID), harmless(target.Name)}
}

// harmless prefixes a name with ' if a spreadsheet would interpret it as a formula.
func harmless(name string) string {
	if name != "" && (name[0] == '=' || name[0] == '+' || name[0] == '-' || name[0] == '@') {
		return "'" + printable(name)
	}
	return printable(name)
}

// rows writes a table with a header row. It calls `of` for each target of each step. `of` calls `add` once per row,
// with the cells of the given columns. `add` prepends the cells that place returns, and writes the row.
func rows(out *csv.Writer, d Document, columns []string, of func(step *v1alpha1.ResolvedStep, target *series.Target, add func(...string))) error {
	failed := out.Write(append(append([]string{}, placed...), columns...))
	eachTarget(d, func(step *v1alpha1.ResolvedStep, target *series.Target) {
		of(step, target, func(cells ...string) {
			if failed == nil {
				failed = out.Write(append(place(step, target), cells...))
			}
		})
	})
	return failed
}

func seriesCSV(out *csv.Writer, d Document) error {
	columns := []string{"time", "start_seconds", "seconds", "state", "operation", "bytes_per_second", "operations_per_second"}
	return rows(out, d, columns, func(_ *v1alpha1.ResolvedStep, target *series.Target, add func(...string)) {
		for _, operation := range measure.Operations {
			if !does(target, operation) {
				continue
			}
			for i := range target.Points {
				p := &target.Points[i]
				add(rfc3339(p.StartNanoseconds), seconds(d, p.StartNanoseconds), seconds(d, p.EndNanoseconds), p.State.String(), operation.String(),
					strconv.FormatFloat(p.BytesPerSecond(operation), 'f', 0, 64), strconv.FormatFloat(p.OperationsPerSecond(operation), 'f', 3, 64))
			}
		}
	})
}

func latencyCSV(out *csv.Writer, d Document) error {
	columns := []string{"time", "start_seconds", "seconds", "operation", "samples", "p50_nanoseconds", "p95_nanoseconds", "p99_nanoseconds", "p999_nanoseconds"}
	return rows(out, d, columns, func(_ *v1alpha1.ResolvedStep, target *series.Target, add func(...string)) {
		for i := range target.Minutes {
			m := &target.Minutes[i]
			cells := []string{rfc3339(m.StartNanoseconds), seconds(d, m.StartNanoseconds), seconds(d, m.EndNanoseconds), m.Operation.String(), strconv.FormatUint(m.Samples, 10)}
			for _, value := range []uint64{m.P50, m.P95, m.P99, m.P999} {
				text := ""
				if value > 0 {
					text = strconv.FormatUint(value, 10)
				}
				cells = append(cells, text)
			}
			add(cells...)
		}
	})
}

func distributionCSV(out *csv.Writer, d Document) error {
	columns := []string{"operation", "from_nanoseconds", "below_nanoseconds", "operations"}
	return rows(out, d, columns, func(_ *v1alpha1.ResolvedStep, target *series.Target, add func(...string)) {
		for _, one := range target.Latency {
			for _, bin := range one.Bins {
				below := ""
				if bin.HighNanoseconds > 0 {
					below = strconv.FormatUint(bin.HighNanoseconds, 10)
				}
				add(one.Operation.String(), strconv.FormatUint(bin.LowNanoseconds, 10), below, strconv.FormatUint(bin.Count, 10))
			}
		}
	})
}

func clientsCSV(out *csv.Writer, d Document) error {
	return rows(out, d, []string{"client", "bytes_per_second"}, func(_ *v1alpha1.ResolvedStep, target *series.Target, add func(...string)) {
		for _, one := range target.Clients {
			add(strconv.Itoa(one.Client), strconv.FormatInt(one.BytesPerSecond, 10))
		}
	})
}

func observationsCSV(out *csv.Writer, d Document) error {
	failed := out.Write([]string{"phase", "step", "observation", "labels", "time", "seconds", "value"})
	for i := range d.Series.Observed {
		o := &d.Series.Observed[i]
		for _, p := range o.Points {
			if failed == nil {
				failed = out.Write([]string{harmless(phaseOf(d, o.Step)), harmless(o.Step), harmless(o.Name), harmless(o.Labels), rfc3339(p.Nanoseconds),
					seconds(d, p.Nanoseconds), strconv.FormatFloat(p.Value, 'g', -1, 64)})
			}
		}
	}
	return failed
}

func rfc3339(nanoseconds int64) string {
	return time.Unix(0, nanoseconds).UTC().Format("2006-01-02T15:04:05.000000Z")
}

func seconds(d Document, nanoseconds int64) string {
	return strconv.FormatFloat(secondsOf(d, nanoseconds), 'f', 6, 64)
}
