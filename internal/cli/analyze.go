package cli

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/report"
)

// confidence is the confidence level of every interval that package detect returns.
const confidence = 0.95

// analyzeHeader holds the leading fields of every document that the analyze commands print.
type analyzeHeader struct {
	SchemaVersion int `json:"schemaVersion"`
	// Confidence is the confidence level of all intervals.
	Confidence float64          `json:"confidence"`
	Samples    int              `json:"samples"`
	Warnings   []analyzeWarning `json:"warnings"`
}

type analyzeWarning struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// analyzeInterval is a confidence interval at the document's confidence level.
type analyzeInterval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func newAnalyze(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "analyze",
		Short: "Find the burst, steady state or knee in a measured series",
		Long: "Show where a burst ended, whether the throughput was steady, or where it stops scaling. The input is a\n" +
			"CSV series from any tool. Figures have a 95 % confidence interval if one can be computed from the series.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newAnalyzeBurst(streams), newAnalyzeSteady(streams), newAnalyzeKnee(streams))
	return command
}

func newAnalyzeHeader(samples int, warnings []detect.Warning) analyzeHeader {
	header := analyzeHeader{SchemaVersion: report.SchemaVersion, Confidence: confidence, Samples: samples, Warnings: []analyzeWarning{}}
	for _, w := range warnings {
		header.Warnings = append(header.Warnings, analyzeWarning{Type: string(w.Kind), Message: w.Message})
	}
	return header
}

// perSecond rounds a rate or an amount to an integer. It caps the value at MaxInt64/2, so that the conversion to int64
// cannot overflow.
func perSecond(value float64) int64 { return int64(math.Round(min(value, math.MaxInt64/2))) }

// microseconds rounds a time in seconds, or a fraction, to six decimal places.
func microseconds(value float64) float64 { return math.Round(value*1e6) / 1e6 }

func rateInterval(e detect.Estimate) analyzeInterval {
	return analyzeInterval{Low: math.Round(e.Low), High: math.Round(e.High)}
}

func timeInterval(e detect.Estimate) analyzeInterval {
	return analyzeInterval{Low: microseconds(e.Low), High: microseconds(e.High)}
}

func printWarnings(w io.Writer, warnings []detect.Warning) error {
	for _, warning := range warnings {
		if _, err := fmt.Fprintf(w, "%s: %s\n", warning.Kind, warning.Message); err != nil {
			return err
		}
	}
	return nil
}
