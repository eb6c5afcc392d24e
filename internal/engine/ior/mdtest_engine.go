package ior

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine"
)

// MdtestTraits are the traits of the mdtest engine.
var MdtestTraits = engine.Traits{
	Kind: v1alpha1.EngineMdtest, Tools: []string{string(v1alpha1.EngineMdtest), engine.ToolMPI}, Versions: Traits.Versions,
	SpansClients: true, WorkBound: true, SizeField: "filesPerProcess",
}

// Mdtest implements engine.Engine for mdtest.
type Mdtest struct{ Profile *v1alpha1.MdtestProfile }

var _ engine.Engine = Mdtest{}

// Validate implements engine.Engine.
func (e Mdtest) Validate(path *field.Path) field.ErrorList { return ValidateMdtest(path, e.Profile) }

// Suits implements engine.Engine. mdtest ends when its work is done, so only steady phases suit it.
func (e Mdtest) Suits(use *engine.Use) field.ErrorList {
	var problems field.ErrorList
	add := func(problem *field.Error) { problems = append(problems, problem) }
	switch phase := use.Phase; {
	case phase.Steady != nil:
		at := use.At.Child("steady")
		if warmUp, err := phase.Steady.WarmUp.Parse(); err == nil && warmUp > 0 {
			add(field.Invalid(at.Child("warmUp"), string(phase.Steady.WarmUp), "mdtest has no warm-up: remove warmUp"))
		}
		if isTrue(phase.Steady.EndWhenSteady) {
			add(field.Invalid(at.Child("endWhenSteady"), true, "mdtest ends when its work is done: remove endWhenSteady"))
		}
	case phase.Prepare != nil:
		add(field.Forbidden(use.At.Child("prepare"),
			"mdtest creates and removes its own files, so nothing is laid out: remove the phase, or use another workload for it"))
	default:
		add(field.Forbidden(use.At, "mdtest does a fixed amount of work, but phase kind "+string(phase.Kind())+
			" is time-bound: use steady, where duration acts as a time limit"))
	}
	if use.OwnVolumes {
		add(field.Invalid(use.Profile, field.OmitValueType{}, fmt.Sprintf(
			"each client of target %s has its own volume, but mdtest's ranks need a shared directory tree: use one client, or set claimTemplate.scope to Shared", use.Target)))
	}
	return problems
}

// Describe implements engine.Engine.
func (e Mdtest) Describe(step *engine.Step) (engine.Description, error) {
	sizes, err := DescribeMdtest(e.Profile, step.Clients, step.Processes)
	if err != nil {
		return engine.Description{}, err
	}
	made := sizes.Description
	made.Metadata = true
	// With -N, a rank reads files that a rank of another client wrote. These files are not in the memory of the reading
	// client.
	shifted := slices.ContainsFunc(e.Profile.Args, func(argument string) bool { return strings.HasPrefix(strings.TrimSpace(argument), "-N") })
	if made.Reads && !(shifted && step.Clients > 1) {
		made.Cached = engine.Cached{Why: "mdtest reads data that it has just written, and the data of",
			Remedy: "raise filesPerProcess, or set -N in args to the value of processesPerClient so that ranks of other clients read the data"}
	}
	made.Ranks = engine.RankFiles{Name: MdtestDirectory, Count: 1, Bytes: sizes.DatasetBytes}
	return made, nil
}

// Render implements engine.Engine.
func (e Mdtest) Render(step *engine.Step, client *engine.Client) (*agentapi.LoadRequest, error) {
	arguments, err := MdtestArguments(e.Profile, parametersOf(step, client))
	if err != nil {
		return nil, err
	}
	expected, err := ExpectMdtest(e.Profile, step.Clients*step.Processes)
	if err != nil {
		return nil, err
	}
	sizes, err := DescribeMdtest(e.Profile, step.Clients, step.Processes)
	if err != nil {
		return nil, err
	}
	request, tool := mpiRequest(v1alpha1.EngineMdtest, step, client)
	tool.Arguments = arguments
	tool.Repetitions = int32(min(expected.Iterations, 1<<20)) // #nosec G115 -- just bounded
	switch clients := uint64(step.Clients); {                 // #nosec G115 -- at least 1
	case !client.Shared:
		request.Dataset.NewFiles = sizes.Inodes/clients + min(1, sizes.Inodes%clients)
	case client.Index == engine.Launcher:
		request.Dataset.NewFiles = sizes.Inodes
	}
	return request, nil
}
