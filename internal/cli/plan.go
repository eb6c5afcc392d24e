package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/report"
)

func newPlan(streams Streams) *cobra.Command {
	var file, output string
	var jobs bool
	command := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what a benchmark would do, without doing it",
		Long: "Check a file by the same rules as the API server and show the steps, what they write and\n" +
			"how long they take. Needs neither a cluster nor the storage.",
		Example: "  kubectl storagebench plan -f config/samples/quickstart.yaml\n" +
			"  kubectl storagebench plan -f bench.yaml --jobs",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			read, err := load(streams, file)
			if err != nil {
				return err
			}
			shown, err := describePlan(read)
			if err != nil {
				return err
			}
			switch output {
			case "text":
				return shown.text(streams.Out, jobs)
			case "json":
				encoder := json.NewEncoder(streams.Out)
				encoder.SetIndent("", "  ")
				return encoder.Encode(shown)
			}
			return badOutput(output)
		},
	}
	command.Flags().StringVarP(&file, "filename", "f", "", "YAML file with a StorageBenchmark; - for standard input")
	command.Flags().BoolVar(&jobs, "jobs", false, "show the fio job file of client 0 for each step")
	outputFlag(command, &output)
	return command
}

// planDocument is the plan as JSON.
type planDocument struct {
	SchemaVersion    int          `json:"schemaVersion"`
	Benchmark        string       `json:"benchmark"`
	ClientsPerTarget int          `json:"clientsPerTarget"`
	DurationSeconds  float64      `json:"durationSeconds"`
	Steps            []planStep   `json:"steps"`
	Targets          []planTarget `json:"targets"`
	Warnings         []string     `json:"warnings,omitempty"`
}

type planStep struct {
	ID      string   `json:"id"`
	Phase   string   `json:"phase"`
	Kind    string   `json:"kind"`
	Targets []string `json:"targets"`
	// OffsetSeconds counts known durations only.
	OffsetSeconds   float64 `json:"offsetSeconds"`
	WarmUpSeconds   float64 `json:"warmUpSeconds"`
	DurationSeconds float64 `json:"durationSeconds"`
	// WorkBound steps take as long as their work takes.
	WorkBound bool `json:"workBound"`
	// NewBytes are laid down by the step, over all clients and targets.
	NewBytes uint64            `json:"newBytes"`
	Jobs     map[string]string `json:"jobs"`
}

type planTarget struct {
	Name string `json:"name"`
	// NewBytes is the free space that a run needs there, over all clients.
	NewBytes uint64 `json:"newBytes"`
}

func describePlan(read loaded) (planDocument, error) {
	document := planDocument{
		SchemaVersion:    report.SchemaVersion,
		Benchmark:        read.benchmark.Name,
		ClientsPerTarget: read.plan.ClientsPerTarget,
		Warnings:         read.plan.Warnings,
	}
	space := map[string]uint64{}
	var offset time.Duration
	for _, step := range read.plan.Steps {
		shown := planStep{
			ID: step.ID, Phase: step.Phase, Kind: string(step.Kind), Targets: step.Targets,
			OffsetSeconds: offset.Seconds(), WarmUpSeconds: step.WarmUp.Seconds(),
			DurationSeconds: step.Duration.Seconds(), WorkBound: step.WorkBound(), Jobs: map[string]string{},
		}
		for _, target := range step.Targets {
			bytes := step.NewBytes[target] * uint64(read.plan.ClientsPerTarget) //nolint:gosec // The API allows far fewer clients.
			shown.NewBytes += bytes
			space[target] += bytes
			request, err := conductor.LoadRequest(step, decide.ClientKey{Target: target}, 0)
			if err != nil {
				return planDocument{}, err
			}
			shown.Jobs[target] = request.GetFio().GetJob()
		}
		offset += step.WarmUp + step.Duration
		document.Steps = append(document.Steps, shown)
	}
	for _, name := range slices.Sorted(maps.Keys(space)) {
		document.Targets = append(document.Targets, planTarget{Name: name, NewBytes: space[name]})
	}
	document.DurationSeconds = offset.Seconds()
	return document, nil
}

func (d planDocument) text(w io.Writer, jobs bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d clients a target, at least %s and the time of its work-bound steps\n\n",
		d.Benchmark, d.ClientsPerTarget, seconds(d.DurationSeconds))
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "  STEP\tPHASE\tKIND\tTARGETS\tWARM-UP\tMEASURED\tLAYS DOWN")
	for _, step := range d.Steps {
		measured := seconds(step.DurationSeconds)
		if step.WorkBound {
			measured = "until done"
		}
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\n", step.ID, step.Phase, step.Kind,
			strings.Join(step.Targets, ","), seconds(step.WarmUpSeconds), measured, measure.FormatBytes(step.NewBytes))
	}
	_ = table.Flush()
	b.WriteString("\n")
	for _, target := range d.Targets {
		fmt.Fprintf(&b, "  target %s needs %s of free space\n", target.Name, measure.FormatBytes(target.NewBytes))
	}
	for _, warning := range d.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", warning)
	}
	if jobs {
		for _, step := range d.Steps {
			for _, target := range step.Targets {
				fmt.Fprintf(&b, "\n# step %s, target %s, client 0\n%s", step.ID, target, step.Jobs[target])
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func seconds(value float64) string {
	return time.Duration(value * float64(time.Second)).String()
}
