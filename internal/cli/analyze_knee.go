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

type kneeDocument struct {
	analyzeHeader
	// KneeLoad is the load at which the curve of throughput over load bends most. It is null if the curve does not
	// bend.
	KneeLoad *kneeFigure `json:"kneeLoad"`
	// EnoughLoad is the lowest load whose throughput is at least 95 % of the plateau.
	EnoughLoad            kneeFigure       `json:"enoughLoad"`
	PlateauBytesPerSecond kneeFigure       `json:"plateauBytesPerSecond"`
	Scalability           *kneeScalability `json:"scalability"`
}

// kneeFigure is a figure with its confidence interval, which is null if unknown.
type kneeFigure struct {
	Value    float64          `json:"value"`
	Interval *analyzeInterval `json:"interval"`
}

// kneeScalability is the fit of the Universal Scalability Law. MostLoad, the load with the highest rate, is null if
// the rate keeps growing.
type kneeScalability struct {
	LambdaBytesPerSecond kneeFigure  `json:"lambdaBytesPerSecond"`
	Contention           kneeFigure  `json:"contention"`
	Coherency            kneeFigure  `json:"coherency"`
	MostLoad             *kneeFigure `json:"mostLoad"`
	ErrorShare           float64     `json:"errorShare"`
}

func newAnalyzeKnee(streams Streams) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "knee FILE.csv",
		Short: "Find where throughput stops scaling",
		Long: "Find the knee of a ramp: the point of maximum curvature (Kneedle), the lowest load within 95 % of the\n" +
			"plateau and, with six or more loads, a fit of the Universal Scalability Law with 95 % intervals.\n\n" +
			"The file has the header " + kneeHeader + ". The load counts clients, jobs or outstanding\n" +
			"requests; rows with the same load are repetitions. At least five loads are needed.",
		Example: "  kubectl storagebench analyze knee ramp.csv -o json",
		Args:    numberOfArguments(1, 1),
		RunE: func(_ *cobra.Command, names []string) error {
			points, err := analyzeFile(streams, names[0], readPoints)
			if err != nil {
				return err
			}
			result, err := detect.FindKnee(points)
			if err != nil {
				return fmt.Errorf("%s: %w", names[0], err)
			}
			return printAs(streams.Out, output, kneeDocumentOf(len(points), result), func(w io.Writer) error {
				return printKnee(w, result)
			})
		},
	}
	formFlag(command, &output, "text", "json", "yaml")
	return command
}

func kneeDocumentOf(points int, r detect.KneeResult) kneeDocument {
	known := r.Scalability != nil
	figure := func(e detect.Estimate) kneeFigure {
		f := kneeFigure{Value: significant(e.Value)}
		if known && !math.IsInf(e.High, 0) {
			f.Interval = &analyzeInterval{Low: significant(e.Low), High: significant(e.High)}
		}
		return f
	}
	d := kneeDocument{analyzeHeader: newAnalyzeHeader(points, r.Warnings),
		EnoughLoad: figure(r.Enough), PlateauBytesPerSecond: figure(r.Plateau)}
	if r.Knee != nil {
		d.KneeLoad = new(figure(*r.Knee))
	}
	if s := r.Scalability; s != nil {
		d.Scalability = &kneeScalability{LambdaBytesPerSecond: figure(s.Lambda), Contention: figure(s.Contention),
			Coherency: figure(s.Coherency), ErrorShare: significant(s.Error)}
		if s.Most != nil {
			d.Scalability.MostLoad = new(figure(*s.Most))
		}
	}
	return d
}

// significant rounds a value to nine significant digits. Further digits of a computed value can differ between
// machines, but the documents must be the same on all machines.
func significant(value float64) float64 {
	if value == 0 || math.IsInf(value, 0) {
		return value
	}
	scale := math.Pow(10, 8-math.Floor(math.Log10(math.Abs(value))))
	return math.Round(value*scale) / scale
}

func printKnee(w io.Writer, r detect.KneeResult) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	load := func(name string, e detect.Estimate) {
		if r.Scalability == nil {
			_, _ = fmt.Fprintf(table, "%s\t%.4g\n", name, e.Value)
			return
		}
		_, _ = fmt.Fprintf(table, "%s\t%.4g\t%.4g to %.4g\n", name, e.Value, e.Low, e.High)
	}
	_, _ = fmt.Fprintf(table, "\tFIGURE\t95 %% INTERVAL\n")
	if r.Knee != nil {
		load("load at the knee of the curve", *r.Knee)
	}
	load("lowest load within 95 % of the plateau", r.Enough)
	_, _ = fmt.Fprintf(table, "plateau\t%s\n", measure.FormatMegabytesPerSecond(r.Plateau.Value))
	if s := r.Scalability; s != nil {
		load("contention", s.Contention)
		load("coherency", s.Coherency)
		if s.Most != nil {
			load("load with the highest rate", *s.Most)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printWarnings(w, r.Warnings)
}
