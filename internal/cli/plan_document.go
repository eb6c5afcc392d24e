package cli

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine/mpirun"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/report"
)

// planDocument is the plan as JSON.
type planDocument struct {
	SchemaVersion    int    `json:"schemaVersion"`
	Benchmark        string `json:"benchmark"`
	ClientsPerTarget int    `json:"clientsPerTarget"`
	// Seed is the seed of the random order of sweeps.
	Seed int64 `json:"seed"`
	// DurationSeconds is the minimum duration of the run: the sum of the known minimum durations of its steps.
	// ExpectedSeconds is the expected duration of the run; it is absent if the expected duration of a step is unknown or
	// only a lower bound.
	DurationSeconds float64      `json:"durationSeconds"`
	ExpectedSeconds *float64     `json:"expectedSeconds,omitempty"`
	Steps           []planStep   `json:"steps"`
	Targets         []planTarget `json:"targets"`
	// Written is the amount of data that the run writes.
	Written plan.Written `json:"written"`
	// Cost is the cost of the run, if a price is given.
	Cost     *cost    `json:"cost,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Documented holds the documented limits of the targets, if they are known before the run. Promises holds the rates
	// that these limits allow for each load.
	Documented []v1alpha1.StorageDescription `json:"documented,omitempty"`
	Promises   []plan.Promise                `json:"promises,omitempty"`
	// Starts describes when the operator starts runs. It is absent if the operator starts a run only when spec.run is
	// new or has changed.
	Starts string `json:"starts,omitempty"`
	// Objectives describes the objectives, one text each.
	Objectives []string `json:"objectives,omitempty"`
	// Run is spec.run as a run stores it, with profiles and defaults filled in.
	Run *v1alpha1.RunSpec `json:"run"`
}

// planStep is one step. Fields that do not apply to it are absent.
type planStep struct {
	ID      string   `json:"id"`
	Phase   string   `json:"phase"`
	Kind    string   `json:"kind"`
	Purpose string   `json:"purpose"`
	Targets []string `json:"targets"`
	// Clients is the number of clients per target that take part.
	Clients int `json:"clients"`
	// Processes is the number of ranks of each client, for ior and mdtest.
	Processes int `json:"processes,omitempty"`
	// OffsetSeconds is the planned start of the step, relative to the start of the run. It is the sum of the expected
	// durations of the earlier steps. The minimum duration of a step is used instead if it is longer, or if the
	// expected duration is unknown.
	OffsetSeconds float64 `json:"offsetSeconds"`
	WarmUpSeconds float64 `json:"warmUpSeconds"`
	// DurationSeconds is the measured or idle time, or its maximum if the step can end early. It is 0 if the step lasts
	// until its work is done, or if its length follows from an earlier measurement.
	DurationSeconds float64 `json:"durationSeconds"`
	// MinDurationSeconds is the minimum duration of a step that can end early.
	MinDurationSeconds float64 `json:"minDurationSeconds,omitempty"`
	// ExpectedSeconds is the expected time from the start of the step to the start of the next step; absent if unknown.
	// AtLeastSeconds replaces ExpectedSeconds if only a minimum can be predicted. The step is always stopped after
	// LimitSeconds.
	ExpectedSeconds *float64 `json:"expectedSeconds,omitempty"`
	AtLeastSeconds  *float64 `json:"atLeastSeconds,omitempty"`
	LimitSeconds    float64  `json:"limitSeconds"`
	// WorkBound is true if the step ends when its work is done, instead of after a fixed time.
	WorkBound bool `json:"workBound"`
	Passes    int  `json:"passes,omitempty"`
	// UntilCreditsPercent is set for a pause in which credits refill. The pause ends when the credit bucket is filled
	// to this percentage.
	UntilCreditsPercent int `json:"untilCreditsPercent,omitempty"`
	// Redrain is true for the drain that follows a pause and measures how fast credits refilled during the pause.
	Redrain bool `json:"redrain,omitempty"`
	// Cell is the cell of a ramp or sweep, with the values that it sets.
	Cell *planCell `json:"cell,omitempty"`
	// Operation is the operation that a step of a smallFiles phase performs on each file.
	Operation v1alpha1.Operation `json:"operation,omitempty"`
	// Credits is the expected fill level of the credit bucket at the start and at the end, by target.
	Credits map[string]planCredits `json:"credits,omitempty"`
	// NewBytes is the maximum additional space that the step needs, over all clients and targets.
	NewBytes uint64            `json:"newBytes"`
	Jobs     map[string]string `json:"jobs"`

	planned plan.Step
	// clientsVary is true if the cells of the phase have different numbers of clients.
	clientsVary bool
}

type planCell struct {
	Index int `json:"index"`
	// Repeat is true if an earlier step measures the same cell.
	Repeat         bool   `json:"repeat,omitempty"`
	Clients        int    `json:"clients"`
	Jobs           int32  `json:"jobs,omitempty"`
	QueueDepth     int32  `json:"queueDepth,omitempty"`
	BlockSizeBytes int64  `json:"blockSizeBytes,omitempty"`
	ReadPercent    *int32 `json:"readPercent,omitempty"`
	Processes      int32  `json:"processes,omitempty"`
}

type planCredits struct {
	StartPercent float64 `json:"startPercent"`
	EndPercent   float64 `json:"endPercent"`
}

type planTarget struct {
	Name string `json:"name"`
	// NewBytes is the free space that a run needs on the target, over all clients.
	NewBytes uint64 `json:"newBytes"`
}

func describePlan(read loaded) (planDocument, error) {
	document := planDocument{
		SchemaVersion:    report.SchemaVersion,
		Benchmark:        read.benchmark.Name,
		ClientsPerTarget: read.plan.ClientsPerTarget,
		Seed:             read.seed,
		Written:          read.plan.Written(),
		Warnings:         read.plan.Warnings,
		Documented:       read.plan.Documented,
		Promises:         read.plan.Promises,
		Starts:           startsText(read.benchmark),
		Objectives:       objectiveTexts(read.benchmark.Spec.Objectives),
		Run:              read.resolved,
	}
	space := map[string]uint64{}
	var offset, least time.Duration
	known := true
	for _, step := range read.plan.Steps {
		shown := describeStep(step)
		shown.clientsVary = slices.ContainsFunc(read.plan.Steps, func(other plan.Step) bool {
			return other.PhaseIndex == step.PhaseIndex && other.Cell >= 0 && other.Clients != read.plan.ClientsPerTarget
		})
		shown.OffsetSeconds = offset.Seconds()
		for _, target := range step.Targets {
			bytes := step.NewBytes[target] * uint64(read.plan.ClientsPerTarget) //nolint:gosec // The API allows far fewer clients.
			shown.NewBytes += bytes
			space[target] += bytes
			if step.Purpose == plan.Idle {
				continue
			}
			request, err := anyRequest(step, target, read.seed)
			if err != nil {
				return planDocument{}, err
			}
			shown.Jobs[target] = request.GetFio().GetJob()
			if tool := request.GetCommand(); tool != nil {
				words := tool.GetCommand()
				if len(words) == 0 {
					words = tool.GetSetup()
				}
				shown.Jobs[target] = quoted(words) + "\n"
			}
			if tool := request.GetMpi(); tool != nil {
				shown.Jobs[target] = mpirunLine(step, tool)
			}
		}
		least += step.Least()
		offset += max(step.Expected, step.Least())
		known = known && step.Expected > 0 && !step.Longer
		document.Steps = append(document.Steps, shown)
	}
	for _, name := range slices.Sorted(maps.Keys(space)) {
		document.Targets = append(document.Targets, planTarget{Name: name, NewBytes: space[name]})
	}
	document.DurationSeconds = least.Seconds()
	if known {
		document.ExpectedSeconds = new(offset.Seconds())
	}
	return document, nil
}

// mpirunLine returns the command line that runs ior or mdtest as one job on all clients of a target. It uses the
// options of Open MPI 4; Open MPI 5 has other names for them. Words in upper case stand for values that are known only
// during the run.
func mpirunLine(step plan.Step, tool *agentapi.MpiTool) string {
	line := mpirun.Job{Major: mpirun.Oldest, Hosts: step.Clients, Ranks: step.Clients * step.Processes, Hostfile: "HOSTFILE", Agent: "AGENT",
		Network: "NETWORK", Program: tool.GetProgram(), Arguments: tool.GetArguments()}
	return quoted(append([]string{"mpirun"}, line.Command()...)) + "\n"
}

// quoted joins the arguments of a command line and quotes those with special characters.
func quoted(words []string) string {
	written := make([]string, len(words))
	for i, word := range words {
		written[i] = word
		if !plainWord.MatchString(word) {
			written[i] = strconv.Quote(word)
		}
	}
	return strings.Join(written, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+$()-]+$`)

// anyRequest returns the request that the conductor sends to the agent of a target's client 0 to start a step. It
// assumes the newest version of the tool that supports the step's load.
func anyRequest(step plan.Step, target string, seed int64) (*agentapi.LoadRequest, error) {
	var problems []error
	for _, version := range step.Load(target).Versions {
		request, err := conductor.LoadRequest(step, decide.ClientKey{Target: target}, seed, conductor.Job{Version: version})
		if err == nil {
			return request, nil
		}
		problems = append(problems, err)
	}
	return nil, problems[0]
}

func describeStep(step plan.Step) planStep {
	shown := planStep{
		ID: step.ID, Phase: step.Phase, Kind: string(step.Kind), Purpose: string(step.Purpose), Targets: step.Targets, Clients: step.Clients, Processes: step.Processes,
		WarmUpSeconds: step.WarmUp.Seconds(), DurationSeconds: step.Duration.Seconds(), LimitSeconds: step.Limit.Seconds(),
		WorkBound: step.WorkBound(), Passes: step.Passes, UntilCreditsPercent: step.UntilCreditsPercent, Redrain: step.Redrain,
		Jobs: map[string]string{}, planned: step, Operation: step.Overrides.Operation,
	}
	if step.Adaptive() {
		shown.MinDurationSeconds = step.MinDuration.Seconds()
	}
	switch {
	case step.Longer:
		shown.AtLeastSeconds = new(step.Expected.Seconds())
	case step.Expected > 0:
		shown.ExpectedSeconds = new(step.Expected.Seconds())
	}
	if step.Cell >= 0 {
		shown.Cell = &planCell{
			Index: step.Cell, Repeat: step.Repeat, Clients: step.Clients, Jobs: step.Overrides.Jobs, QueueDepth: step.Overrides.QueueDepth,
			BlockSizeBytes: step.Overrides.BlockSizeBytes, ReadPercent: step.Overrides.ReadPercent, Processes: step.Overrides.Processes,
		}
	}
	for target, credits := range step.Credits {
		if shown.Credits == nil {
			shown.Credits = map[string]planCredits{}
		}
		shown.Credits[target] = planCredits{StartPercent: oneDigit(credits.StartPercent), EndPercent: oneDigit(credits.EndPercent)}
	}
	return shown
}
