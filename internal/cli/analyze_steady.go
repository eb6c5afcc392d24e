package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
)

type steadyDocument struct {
	analyzeHeader
	// State is Steady, NotSteady or NotAssessed.
	State        string        `json:"state"`
	RoundSeconds int           `json:"roundSeconds"`
	WindowRounds int           `json:"windowRounds"`
	First        *steadyWindow `json:"firstSteadyWindow"`
	Last         *steadyWindow `json:"lastWindow"`
	Rounds       []steadyRound `json:"rounds"`
}

type steadyWindow struct {
	StartSeconds       float64         `json:"startSeconds"`
	EndSeconds         float64         `json:"endSeconds"`
	MeanBytesPerSecond int64           `json:"meanBytesPerSecond"`
	MeanInterval       analyzeInterval `json:"meanInterval"`
	// ExcursionShare is the difference between the rates of the highest and the lowest round. SlopeShare is the change
	// of the rate along the best-fit line through the rounds. Both are fractions of the mean.
	ExcursionShare float64 `json:"excursionShare"`
	SlopeShare     float64 `json:"slopeShare"`
	Steady         bool    `json:"steady"`
}

type steadyRound struct {
	StartSeconds       float64 `json:"startSeconds"`
	MeanBytesPerSecond int64   `json:"meanBytesPerSecond"`
	Whole              bool    `json:"whole"`
}

func newAnalyzeSteady(streams Streams) *cobra.Command {
	var output string
	var empty bool
	command := &cobra.Command{
		Use:   "steady FILE.csv",
		Short: "Check a series for steady state, as defined by SNIA's PTS",
		Long: "Check a series for steady state, as defined by SNIA's Performance Test Specification: over five rounds\n" +
			"of one minute the means differ by at most 20 % of their average, and their linear fit rises or falls\n" +
			"by at most 10 %. A steady rate can still be a burst: see analyze burst.\n\n" +
			"The file has the same format as for analyze burst.",
		Example: "  kubectl storagebench analyze steady run.csv -o json",
		Args:    numberOfArguments(1, 1),
		RunE: func(_ *cobra.Command, names []string) error {
			samples, err := analyzeFile(streams, names[0], readSeries)
			if err != nil {
				return err
			}
			result, err := detect.AssessSteady(samples, detect.SteadyOptions{BucketEmpty: empty})
			if err != nil {
				return fmt.Errorf("%s: %w", names[0], err)
			}
			return printAs(streams.Out, output, steadyDocumentOf(len(samples), result), func(w io.Writer) error {
				return printSteady(w, result)
			})
		},
	}
	formFlag(command, &output, "text", "json", "yaml")
	command.Flags().BoolVar(&empty, "bucket-empty", false, "the store has no burst credits, or all its credits are known to be spent")
	return command
}

func steadyDocumentOf(samples int, r detect.SteadyResult) steadyDocument {
	d := steadyDocument{analyzeHeader: newAnalyzeHeader(samples, r.Warnings), State: string(r.State),
		RoundSeconds: detect.RoundSeconds, WindowRounds: detect.WindowRounds,
		First: steadyWindowOf(r.First), Last: steadyWindowOf(r.Last), Rounds: []steadyRound{}}
	for _, round := range r.Rounds {
		d.Rounds = append(d.Rounds, steadyRound{StartSeconds: microseconds(round.StartSeconds),
			MeanBytesPerSecond: perSecond(round.Mean), Whole: round.Whole})
	}
	return d
}

func steadyWindowOf(w *detect.SteadyWindow) *steadyWindow {
	if w == nil {
		return nil
	}
	return &steadyWindow{StartSeconds: microseconds(w.StartSeconds), EndSeconds: microseconds(w.EndSeconds),
		MeanBytesPerSecond: perSecond(w.Mean.Value), MeanInterval: rateInterval(w.Mean),
		ExcursionShare: microseconds(w.Excursion), SlopeShare: microseconds(w.Slope), Steady: w.Steady}
}

func printSteady(w io.Writer, r detect.SteadyResult) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	window := func(name string, at *detect.SteadyWindow) {
		if at == nil {
			return
		}
		_, _ = fmt.Fprintf(table, "%s\t%.0f to %.0f s\t%s\tmeans differ by %s, linear fit changes by %s\n", name, at.StartSeconds, at.EndSeconds,
			measure.FormatMegabytesPerSecond(at.Mean.Value), measure.FormatShare(at.Excursion), measure.FormatShare(at.Slope))
	}
	_, _ = fmt.Fprintf(table, "%s\n", r.State)
	window("first steady window", r.First)
	window("last window", r.Last)
	if err := table.Flush(); err != nil {
		return err
	}
	return printWarnings(w, r.Warnings)
}
