package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/internal/detect"
)

const (
	seriesHeader = "seconds,bytes_per_second"
	kneeHeader   = "load,bytes_per_second"
	// mostRows is the maximum number of rows in a file, to limit memory use. A day of samples at 10 per second fits.
	mostRows = 1_000_000
	// Samples are considered missing if the time between two rows exceeds gapIntervals times the median interval.
	gapIntervals = 3
)

// csvRow is a row of two numbers and its line number in the file.
type csvRow struct {
	line   int
	values [2]float64
}

// readCSV reads two columns of numbers below a header. Its errors name the line and the remedy.
func readCSV(r io.Reader, header string) ([]csvRow, error) {
	scanner := bufio.NewScanner(r)
	const longest = 4096
	scanner.Buffer(make([]byte, 0, longest), longest)
	var rows []csvRow
	line, headed := 0, false
	for scanner.Scan() {
		line++
		text := strings.TrimSpace(scanner.Text())
		if line == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		switch {
		case text == "":
			continue
		case !headed:
			if strings.Join(fields(text), ",") != header {
				return nil, fmt.Errorf("line %d: the header is %.80q, but must be %q", line, text, header)
			}
			headed = true
			continue
		case len(rows) == mostRows:
			return nil, fmt.Errorf("line %d: more than %d rows: average several samples per row", line, mostRows)
		}
		row, err := parseRow(text, header)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		row.line = line
		rows = append(rows, row)
	}
	if err := scanner.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, fmt.Errorf("line %d is longer than %d bytes: this is not a CSV series", line+1, longest)
		}
		return nil, fmt.Errorf("read after line %d: %w", line, err)
	}
	if !headed {
		return nil, fmt.Errorf("empty input: the first line must be %q, followed by a row per sample", header)
	}
	return rows, nil
}

func fields(text string) []string {
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(parts[i]), `"`)
	}
	return parts
}

func parseRow(text, header string) (csvRow, error) {
	var row csvRow
	parts := fields(text)
	names := strings.Split(header, ",")
	if len(parts) != len(names) {
		return row, fmt.Errorf("the field count is %d, but must be %d (%s): use numbers with a decimal point and without thousands separators",
			len(parts), len(names), header)
	}
	for i, part := range parts {
		value, err := strconv.ParseFloat(part, 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return row, fmt.Errorf("%s is %.40q, which is not a number: correct the row, or remove it if nothing was measured", names[i], part)
		}
		if value < 0 {
			return row, fmt.Errorf("%s is %s, but must not be negative: specify times in seconds since the start, and rates per second", names[i], part)
		}
		const most = 1e18
		if value > most {
			return row, fmt.Errorf("%s is %s, above 1e18: check the unit", names[i], part)
		}
		row.values[i] = value
	}
	return row, nil
}

// readSeries reads rows of time and rate. Each timestamp marks the end of a sample, because tools print it when the
// interval ends. In a file that begins at 0, each timestamp marks the start instead, because no sample can end at 0.
// The other end of a sample is the adjacent timestamp. If there is none, or samples are missing in between, the sample
// has the median length instead.
func readSeries(r io.Reader) ([]detect.Sample, error) {
	rows, err := readCSV(r, seriesHeader)
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("too few sample rows (%d): at least 2 are required, because the length of a sample is the time between two rows", len(rows))
	}
	intervals := make([]float64, 0, len(rows)-1)
	for i := 1; i < len(rows); i++ {
		interval := rows[i].values[0] - rows[i-1].values[0]
		if interval <= 0 {
			return nil, fmt.Errorf("line %d: seconds is %g, but must be above %g (line %d): sort the rows, with one row per time",
				rows[i].line, rows[i].values[0], rows[i-1].values[0], rows[i-1].line)
		}
		intervals = append(intervals, interval)
	}
	ordered := slices.Clone(intervals)
	slices.Sort(ordered)
	usual := ordered[len(ordered)/2]
	length := func(interval float64) float64 {
		if interval > gapIntervals*usual {
			return usual
		}
		return interval
	}
	samples := make([]detect.Sample, len(rows))
	starts := rows[0].values[0] == 0
	for i, row := range rows {
		at := row.values[0]
		s := detect.Sample{Rate: row.values[1]}
		switch {
		case starts && i == len(rows)-1:
			s.StartSeconds, s.EndSeconds = at, at+usual
		case starts:
			s.StartSeconds, s.EndSeconds = at, min(at+length(intervals[i]), rows[i+1].values[0])
		case i == 0:
			s.StartSeconds, s.EndSeconds = max(at-usual, 0), at
		default:
			s.StartSeconds, s.EndSeconds = max(at-length(intervals[i-1]), rows[i-1].values[0]), at
		}
		if s.EndSeconds <= s.StartSeconds {
			return nil, fmt.Errorf("line %d: seconds is %g, too close to the neighbouring row: use seconds since the start of the series", row.line, at)
		}
		samples[i] = s
	}
	return samples, nil
}

// readPoints reads the steps of a ramp, each with its load and its throughput.
func readPoints(r io.Reader) ([]detect.Point, error) {
	rows, err := readCSV(r, kneeHeader)
	if err != nil {
		return nil, err
	}
	points := make([]detect.Point, len(rows))
	for i, row := range rows {
		if row.values[0] <= 0 || row.values[0] > 1e9 {
			return nil, fmt.Errorf("line %d: load is %g: must be a number of clients, jobs or outstanding requests, above 0 and at most 1e9", row.line, row.values[0])
		}
		points[i] = detect.Point{Load: row.values[0], Rate: row.values[1]}
	}
	return points, nil
}

// analyzeFile opens a file and parses it with the function read. Its errors name the file.
func analyzeFile[T any](streams Streams, name string, read func(io.Reader) ([]T, error)) ([]T, error) {
	file, err := openInput(streams, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	result, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return result, nil
}
