package command

import (
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine"
)

// Traits are the traits of the command engine. They list no tools, because the agent looks for a user's program only
// when it receives the request for a step.
var Traits = engine.Traits{
	Kind: v1alpha1.EngineCommand, Versions: []string{""}, WorkBound: true, Opaque: true, Layers: "Setups", SizeField: "datasetSize",
}

// Engine implements engine.Engine for the program that its profile describes.
type Engine struct{ Profile *v1alpha1.CommandProfile }

var _ engine.Engine = Engine{}

// Validate implements engine.Engine.
func (e Engine) Validate(path *field.Path) field.ErrorList { return Validate(path, e.Profile) }

// Suits implements engine.Engine.
func (e Engine) Suits(use *engine.Use) field.ErrorList {
	var problems field.ErrorList
	add := func(problem *field.Error) { problems = append(problems, problem) }
	noWarmUp := func(at *field.Path, warmUp v1alpha1.Duration) {
		if length, err := warmUp.Parse(); err == nil && length > 0 {
			add(field.Invalid(at.Child("warmUp"), string(warmUp), "not supported by the command engine, which measures a program from start to end: remove warmUp"))
		}
	}
	const endless = "not supported by the command engine, whose program ends when its work is done, not when the credits are spent: use a fio or ior workload in this phase, " +
		"and measure the program in a steady phase"
	switch phase := use.Phase; {
	case phase.Prepare != nil:
		if len(e.Profile.Setup) == 0 {
			add(field.Required(use.Profile.Child("setup"), "in a prepare phase, the command engine runs only the setup: set command.setup, remove phase "+
				phase.Name+", or use another workload for the phase"))
		}
		if phase.Prepare.Precondition != nil && *phase.Prepare.Precondition > 0 {
			add(field.Invalid(use.At.Child("prepare", "precondition"), *phase.Prepare.Precondition, "the command engine has no precondition passes: remove precondition"))
		}
	case phase.Steady != nil:
		noWarmUp(use.At.Child("steady"), phase.Steady.WarmUp)
		if phase.Steady.EndWhenSteady != nil && *phase.Steady.EndWhenSteady {
			add(field.Invalid(use.At.Child("steady", "endWhenSteady"), true, "not supported by the command engine, whose program decides when it ends: remove endWhenSteady"))
		}
	case phase.BurstDrain != nil:
		add(field.Forbidden(use.At.Child("burstDrain"), endless))
	case phase.Cooldown != nil:
		add(field.Forbidden(use.At.Child("cooldown", "redrain"), endless))
	case phase.Ramp != nil:
		noWarmUp(use.At.Child("ramp"), phase.Ramp.WarmUp)
		if phase.Ramp.Dimension != v1alpha1.RampClients {
			add(field.Invalid(use.At.Child("ramp", "dimension"), phase.Ramp.Dimension, "not supported by the command engine, which has no jobs, queue depth or ranks: use Clients, "+
				"or a phase for each set of arguments"))
		}
	case phase.Sweep != nil:
		add(field.Forbidden(use.At.Child("sweep"), "not supported by the command engine: use a ramp of Clients, or a phase for each "+
			"set of arguments"))
	}
	return problems
}

// Describe implements engine.Engine.
func (e Engine) Describe(*engine.Step) (engine.Description, error) {
	made := engine.Description{Layer: func(target string) any { return layer{target, e.Profile.Setup, e.Profile.WorkingDirectory} }}
	if len(e.Profile.Setup) > 0 {
		made.Setup = strings.Join(append([]string{e.Profile.WorkingDirectory}, e.Profile.Setup...), "\x00")
	}
	if size := e.Profile.DatasetSize; size != nil {
		key, err := json.Marshal(e.Profile)
		if err != nil {
			return made, err
		}
		made.Reserved = engine.Reserved{Key: string(key), Bytes: uint64(size.Value())} // #nosec G115 -- proven to be positive
	}
	return made, nil
}

// Render implements engine.Engine. The agent replaces the $(NAME) references in the command line, because only the
// agent knows their values.
func (e Engine) Render(step *engine.Step, _ *engine.Client) (*agentapi.LoadRequest, error) {
	tool := &agentapi.CommandTool{
		Setup: e.Profile.Setup, WorkingDirectory: e.Profile.WorkingDirectory, SuccessExitCodes: e.Profile.SuccessExitCodes,
		SampleIntervalNanoseconds: int64(engine.SampleInterval / time.Nanosecond),
	}
	if !step.Layout() {
		tool.Command = e.Profile.Command
	}
	return &agentapi.LoadRequest{Dataset: &agentapi.Dataset{MeasureUsage: true}, Tool: &agentapi.LoadRequest_Command{Command: tool}}, nil
}

// layer identifies the files that a profile's setup program creates on a target. The files themselves are unknown
// before the program runs, so layer contains the target, the command line and the working directory instead.
type layer struct {
	Target           string
	Setup            []string
	WorkingDirectory string
}
