package cli

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
)

// burstDocument is the output of `analyze burst`.
type burstDocument struct {
	analyzeHeader
	Exhausted               bool  `json:"exhausted"`
	BurstBytesPerSecond     int64 `json:"burstBytesPerSecond"`
	SustainedBytesPerSecond int64 `json:"sustainedBytesPerSecond"`
	PeakBytesPerSecond      int64 `json:"peakBytesPerSecond"`
	Peak5sBytesPerSecond    int64 `json:"peak5sBytesPerSecond,omitempty"`
	BaselineBytesPerSecond  int64 `json:"baselineBytesPerSecond"`
	// SecondsToBaseline is the time of the last drop of the rate, on the file's time axis. It is null if the rate does
	// not drop.
	SecondsToBaseline *float64       `json:"secondsToBaseline"`
	Intervals         burstIntervals `json:"intervals"`
	// BucketAtLeastBytes is a lower bound on the bucket size. If the rate never dropped, the bucket held at least the
	// credits that were spent. It is null if the rate dropped or --refill is not given.
	BucketAtLeastBytes *int64         `json:"bucketAtLeastBytes"`
	Drops              []burstDrop    `json:"drops"`
	Segments           []burstSegment `json:"segments"`
}

// burstIntervals holds the confidence intervals of the burstDocument fields with the same names.
type burstIntervals struct {
	BurstBytesPerSecond     analyzeInterval  `json:"burstBytesPerSecond"`
	SustainedBytesPerSecond analyzeInterval  `json:"sustainedBytesPerSecond"`
	PeakBytesPerSecond      analyzeInterval  `json:"peakBytesPerSecond"`
	BaselineBytesPerSecond  analyzeInterval  `json:"baselineBytesPerSecond"`
	SecondsToBaseline       *analyzeInterval `json:"secondsToBaseline"`
}

type burstDrop struct {
	Seconds              float64            `json:"seconds"`
	BeforeBytesPerSecond int64              `json:"beforeBytesPerSecond"`
	AfterBytesPerSecond  int64              `json:"afterBytesPerSecond"`
	SpentBytes           int64              `json:"spentBytes"`
	RefillBytesPerSecond int64              `json:"refillBytesPerSecond"`
	RefillSource         string             `json:"refillSource"`
	Intervals            burstDropIntervals `json:"intervals"`
}

type burstDropIntervals struct {
	Seconds              analyzeInterval `json:"seconds"`
	BeforeBytesPerSecond analyzeInterval `json:"beforeBytesPerSecond"`
	AfterBytesPerSecond  analyzeInterval `json:"afterBytesPerSecond"`
	SpentBytes           analyzeInterval `json:"spentBytes"`
}

type burstSegment struct {
	StartSeconds            float64         `json:"startSeconds"`
	EndSeconds              float64         `json:"endSeconds"`
	MeanBytesPerSecond      int64           `json:"meanBytesPerSecond"`
	MeanInterval            analyzeInterval `json:"meanInterval"`
	DeviationBytesPerSecond int64           `json:"deviationBytesPerSecond"`
	Shape                   string          `json:"shape"`
	// In a segment whose rate alternates, LowBytesPerSecond and HighBytesPerSecond are the two rates, and HighShare is
	// the fraction of the time at the higher one.
	LowBytesPerSecond  *int64   `json:"lowBytesPerSecond,omitempty"`
	HighBytesPerSecond *int64   `json:"highBytesPerSecond,omitempty"`
	HighShare          *float64 `json:"highShare,omitempty"`
}

func newAnalyzeBurst(streams Streams) *cobra.Command {
	var output string
	var refill float64
	command := &cobra.Command{
		Use:   "burst FILE.csv",
		Short: "Find the end of a burst, the levels before and after it, and the credits spent",
		Long: "Find the sustained drops in a throughput series, the levels before and after each, and the credits\n" +
			"spent: the greatest sum of (rate - refill) up to the drop. Dips of half a minute, alternation\n" +
			"between two levels, drift and sawtooth do not count as drops. A series without a drop is not an error.\n\n" +
			"The file has the header " + seriesHeader + ". Rows are in time order, at any interval; a gap of\n" +
			"more than three times the usual interval counts as missing samples. Each timestamp marks the\n" +
			"end of a sample or, in a file that begins at 0, its start.",
		Example: "  kubectl storagebench analyze burst drain.csv\n" +
			"  kubectl storagebench analyze burst drain.csv -o json --refill 32000000",
		Args: numberOfArguments(1, 1),
		RunE: func(command *cobra.Command, names []string) error {
			var options detect.Options
			if command.Flags().Changed("refill") {
				if !(refill >= 0) || math.IsInf(refill, 0) {
					return fmt.Errorf("--refill is %g: must be 0 or more, in bytes per second", refill)
				}
				options.Refill, options.RefillSource = &refill, detect.RefillGiven
			}
			samples, err := analyzeFile(streams, names[0], readSeries)
			if err != nil {
				return err
			}
			result, err := detect.Analyze(samples, options)
			if err != nil {
				return fmt.Errorf("%s: %w", names[0], err)
			}
			return printAs(streams.Out, output, burstDocumentOf(len(samples), result), func(w io.Writer) error {
				return printBurst(w, result)
			})
		},
	}
	formFlag(command, &output, "text", "json", "yaml")
	command.Flags().Float64Var(&refill, "refill", 0, "refill rate in bytes per second, if known (default: the level after the drop)")
	return command
}

func burstDocumentOf(samples int, r detect.Result) burstDocument {
	d := burstDocument{
		analyzeHeader:           newAnalyzeHeader(samples, r.Warnings),
		Exhausted:               r.Exhausted,
		BurstBytesPerSecond:     perSecond(r.Burst.Value),
		SustainedBytesPerSecond: perSecond(r.Sustained.Value),
		PeakBytesPerSecond:      perSecond(r.Peak.Value),
		Peak5sBytesPerSecond:    perSecond(r.Peak5s),
		BaselineBytesPerSecond:  perSecond(r.Baseline.Value),
		Intervals: burstIntervals{
			BurstBytesPerSecond:     rateInterval(r.Burst),
			SustainedBytesPerSecond: rateInterval(r.Sustained),
			PeakBytesPerSecond:      rateInterval(r.Peak),
			BaselineBytesPerSecond:  rateInterval(r.Baseline),
		},
		Drops:    []burstDrop{},
		Segments: []burstSegment{},
	}
	if at := r.SecondsToBaseline; at != nil {
		d.SecondsToBaseline, d.Intervals.SecondsToBaseline = new(microseconds(at.Value)), new(timeInterval(*at))
	}
	if r.BucketAtLeast != nil {
		d.BucketAtLeastBytes = new(perSecond(*r.BucketAtLeast))
	}
	for _, drop := range r.Drops {
		d.Drops = append(d.Drops, burstDropOf(drop))
	}
	for _, segment := range r.Segments {
		d.Segments = append(d.Segments, burstSegmentOf(segment))
	}
	return d
}

func burstDropOf(drop detect.Drop) burstDrop {
	return burstDrop{
		Seconds:              microseconds(drop.Seconds.Value),
		BeforeBytesPerSecond: perSecond(drop.Before.Value),
		AfterBytesPerSecond:  perSecond(drop.After.Value),
		SpentBytes:           perSecond(drop.Spent.Value),
		RefillBytesPerSecond: perSecond(drop.Refill),
		RefillSource:         string(drop.RefillSource),
		Intervals: burstDropIntervals{
			Seconds: timeInterval(drop.Seconds), BeforeBytesPerSecond: rateInterval(drop.Before),
			AfterBytesPerSecond: rateInterval(drop.After), SpentBytes: rateInterval(drop.Spent),
		},
	}
}

func burstSegmentOf(segment detect.Segment) burstSegment {
	s := burstSegment{
		StartSeconds: microseconds(segment.StartSeconds), EndSeconds: microseconds(segment.EndSeconds),
		MeanBytesPerSecond: perSecond(segment.Mean.Value), MeanInterval: rateInterval(segment.Mean),
		DeviationBytesPerSecond: perSecond(segment.Deviation), Shape: string(segment.Shape),
	}
	if segment.Low != nil && segment.High != nil {
		s.LowBytesPerSecond, s.HighBytesPerSecond = new(perSecond(segment.Low.Value)), new(perSecond(segment.High.Value))
		s.HighShare = new(math.Round(segment.HighShare*1e4) / 1e4)
	}
	return s
}

// rateText formats a rate and its interval, separated by a tab.
func rateText(e detect.Estimate) string {
	return fmt.Sprintf("%s\t%s to %s", measure.FormatMegabytesPerSecond(e.Value),
		measure.FormatMegabytesPerSecond(e.Low), measure.FormatMegabytesPerSecond(e.High))
}

func bytesText(e detect.Estimate) string {
	text := func(value float64) string { return measure.FormatBytes(uint64(max(value, 0))) }
	return fmt.Sprintf("%s\t%s to %s", text(e.Value), text(e.Low), text(e.High))
}

func printBurst(w io.Writer, r detect.Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, text string) { _, _ = fmt.Fprintf(table, "%s\t%s\n", name, text) }
	row("", "FIGURE\t95 % INTERVAL")
	row("burst", rateText(r.Burst))
	if r.Peak != r.Burst {
		row("  sustained", rateText(r.Sustained))
		row("  peak", rateText(r.Peak))
	}
	if r.Peak5s > 0 {
		row("peak of 5 s", measure.FormatMegabytesPerSecond(r.Peak5s))
	}
	if at := r.SecondsToBaseline; at != nil {
		row("baseline", rateText(r.Baseline))
		row("time to baseline", fmt.Sprintf("%.1f s\t%.1f to %.1f s", at.Value, at.Low, at.High))
	}
	for _, drop := range r.Drops {
		row(fmt.Sprintf("drop at %.1f s", drop.Seconds.Value), fmt.Sprintf("%s to %s",
			measure.FormatMegabytesPerSecond(drop.Before.Value), measure.FormatMegabytesPerSecond(drop.After.Value)))
		row("  credits spent", bytesText(drop.Spent))
		row("  above a refill of", fmt.Sprintf("%s\t%s", measure.FormatMegabytesPerSecond(drop.Refill), refillText(drop.RefillSource)))
	}
	if r.BucketAtLeast != nil {
		row("bucket", "over "+measure.FormatBytes(uint64(max(*r.BucketAtLeast, 0))))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if !r.Exhausted {
		if _, err := fmt.Fprintln(w, "\nThe rate never dropped to a lower level."); err != nil {
			return err
		}
	}
	return printWarnings(w, r.Warnings)
}

func refillText(source detect.RefillSource) string {
	if source == detect.RefillAssumed {
		return "assumed: the level after the drop"
	}
	return "given"
}
