package ior

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/internal/measure"
)

// summaryHeading is the heading of the summary in 3.3.0, 4.0.0 and 4.1.0.
var summaryHeading = strings.Fields("Operation Max(MiB) Min(MiB) Mean(MiB) StdDev Max(OPs) Min(OPs) Mean(OPs) StdDev Mean(s) " +
	"Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt blksiz xsize aggs(MiB) API RefNum")

// summaryFigures holds the figures of a row of the summary. In the table they are identified by position, in JSON by
// name.
type summaryFigures struct {
	access                                        string
	highest, lowest, mean, deviation, time        number
	stonewallTime, stonewallBandwidth             number
	tasks, repetitions                            int64
	hasBandwidths, hasCounts, hasTime, hasAnyWall bool
}

// summary processes a row of the summary. It returns false for other lines.
func (s *Stream) summary(line textLine) bool {
	fields := strings.Fields(line.text)
	if _, ok := operationOf(fields[0]); !ok {
		return false
	}
	if len(fields) != len(summaryHeading) {
		s.damaged(line.number, "the row of the summary has %d fields, but there are %d headings", len(fields), len(summaryHeading))
		return true
	}
	read := summaryFigures{access: fields[0]}
	read.hasBandwidths = parseInto(&read.highest, fields[1]) && parseInto(&read.lowest, fields[2]) &&
		parseInto(&read.mean, fields[3]) && parseInto(&read.deviation, fields[4])
	read.hasTime = parseInto(&read.time, fields[9])
	if fields[10] != "NA" {
		read.hasAnyWall = parseInto(&read.stonewallTime, fields[10]) && parseInto(&read.stonewallBandwidth, fields[11])
	}
	var tasks, repetitions bool
	read.tasks, tasks = parseCount(fields[13])
	read.repetitions, repetitions = parseCount(fields[15])
	read.hasCounts = tasks && repetitions
	s.summarized(&read, line.number)
	return true
}

func parseInto(target *number, text string) bool {
	value, ok := parseNumber(text)
	if ok {
		*target = value
	}
	return ok
}

// summarized checks a row of the summary and adds it to the output. If the row has no valid figures, summarized ignores
// the row and adds a warning. IOR prints invalid figures if some repetitions never ran, because it divides by the times
// of these repetitions.
func (s *Stream) summarized(read *summaryFigures, line int) {
	operation, ok := operationOf(read.access)
	if !ok {
		return
	}
	if !read.hasBandwidths || !read.hasCounts || read.tasks > 1<<30 || read.repetitions > 1<<30 {
		s.warn(fmt.Sprintf("IOR's summary of %s has an invalid number and is ignored", read.access))
		return
	}
	if len(s.output.Summaries) >= maxSummaries {
		s.damaged(line, "more than %d rows in the summary", maxSummaries)
		return
	}
	row := Summary{
		Operation: operation, Test: s.output.Tests, Tasks: int(read.tasks), Repetitions: int(read.repetitions),
		MaxBytesPerSecond: read.highest.scaled(mebibyte), MinBytesPerSecond: read.lowest.scaled(mebibyte),
		MeanBytesPerSecond: read.mean.scaled(mebibyte), StdDevBytesPerSecond: read.deviation.scaled(mebibyte),
		tolerance: read.mean.half * mebibyte,
	}
	if read.hasTime {
		row.MeanNanoseconds = read.time.scaled(second)
	}
	if read.hasAnyWall {
		ranks := float64(1)
		if s.perRankStonewall() {
			ranks = float64(max(read.tasks, 1))
		}
		row.StonewallNanoseconds = read.stonewallTime.scaled(second)
		row.StonewallBytesPerSecond = read.stonewallBandwidth.scaled(mebibyte * ranks)
	}
	s.output.Summaries = append(s.output.Summaries, row)
}

// perRankStonewall reports whether the printed bandwidth until the stonewall is the bandwidth of one rank. Measurements
// showed that IOR 4.0.0 and later print the bandwidth of one rank, and versions up to 3.3.0 the bandwidth of all ranks.
func (s *Stream) perRankStonewall() bool {
	major, _, _ := strings.Cut(s.output.Version, ".")
	return digits(major) && len(major) < 4 && (len(major) > 1 || major >= "4")
}

var errSummaryDiffers = errors.New("IOR's summary and rows are inconsistent")

// checkSummaries compares IOR's own summary with the rows that were read. It skips outputs of several tests, and
// operations with missing rows.
func checkSummaries(output *Output) error {
	for _, row := range output.Summaries {
		var found []Repetition
		for _, repetition := range output.Repetitions {
			if repetition.Test == row.Test && repetition.Operation == row.Operation {
				found = append(found, repetition)
			}
		}
		if output.Tests != 1 || len(found) == 0 || len(found) != row.Repetitions {
			continue
		}
		spread := Spread(found)
		for _, pair := range [][2]int64{
			{spread.MaxBytesPerSecond, row.MaxBytesPerSecond}, {spread.MinBytesPerSecond, row.MinBytesPerSecond},
			{spread.MeanBytesPerSecond, row.MeanBytesPerSecond},
		} {
			// Bandwidths are rounded by up to half a MiB in the table, and by much less in the JSON format.
			allowed := row.tolerance + 0.5*mebibyte + 2
			if difference := float64(pair[0]) - float64(pair[1]); difference > allowed || difference < -allowed {
				return fmt.Errorf("%w: %s has %d bytes/s in the summary, but %d bytes/s in the rows", errSummaryDiffers, row.Operation, pair[1], pair[0])
			}
		}
	}
	return nil
}

// Spread summarizes the bandwidths of repetitions of one operation. Like IOR, it gives each repetition the same weight.
// If there are no repetitions, it returns the zero value.
func Spread(repetitions []Repetition) Summary {
	if len(repetitions) == 0 {
		return Summary{}
	}
	first := &repetitions[0]
	result := Summary{Operation: first.Operation, Test: first.Test, Tasks: first.Tasks, Repetitions: len(repetitions)}
	rates := make([]float64, 0, len(repetitions))
	var nanoseconds float64
	for i := range repetitions {
		rates = append(rates, float64(repetitions[i].BytesPerSecond))
		nanoseconds += float64(repetitions[i].TotalNanoseconds)
	}
	result.MaxBytesPerSecond, result.MinBytesPerSecond = rounded(slices.Max(rates)), rounded(slices.Min(rates))
	mean, deviation := meanAndDeviation(rates)
	result.MeanBytesPerSecond, result.StdDevBytesPerSecond = rounded(mean), rounded(deviation)
	result.MeanNanoseconds = rounded(nanoseconds / float64(len(rates)))
	return result
}

func meanAndDeviation(values []float64) (float64, float64) {
	var sum, squares float64
	for _, value := range values {
		sum += value
	}
	mean := sum / float64(len(values))
	for _, value := range values {
		squares += (value - mean) * (value - mean)
	}
	return mean, math.Sqrt(squares / float64(len(values)))
}

// Spreads returns the Spread of each operation that has repetitions. Writes come before reads.
func Spreads(repetitions []Repetition) []Summary {
	var all []Summary
	for _, operation := range []measure.Operation{measure.Write, measure.Read} {
		var some []Repetition
		for _, repetition := range repetitions {
			if repetition.Operation == operation {
				some = append(some, repetition)
			}
		}
		if len(some) > 0 {
			all = append(all, Spread(some))
		}
	}
	return all
}
