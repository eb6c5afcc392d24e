package ior

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine"
)

// Traits are the traits of the IOR engine.
var Traits = engine.Traits{
	Kind: v1alpha1.EngineIOR, Tools: []string{string(v1alpha1.EngineIOR), engine.ToolMPI}, Versions: []string{"", "3.3.0"},
	Sources: sources, SpansClients: true, Layers: "Ranks", SizeField: "blockSize",
}

// sources maps each program of an MPI job to a hint on where to get it.
var sources = map[string]string{
	string(v1alpha1.EngineIOR):    ofIOR,
	string(v1alpha1.EngineMdtest): ofIOR,
	engine.ToolMPI:                "it is part of Open MPI (package openmpi-bin in Debian, openmpi4 in openSUSE)",
}

const ofIOR = "it is part of IOR (github.com/hpc/ior, or package ior in openSUSE)"

// Engine implements engine.Engine for IOR.
type Engine struct{ Profile *v1alpha1.IORProfile }

var _ engine.Engine = Engine{}

// Validate implements engine.Engine.
func (e Engine) Validate(path *field.Path) field.ErrorList { return Validate(path, e.Profile) }

// Suits implements engine.Engine.
func (e Engine) Suits(use *engine.Use) field.ErrorList {
	var problems field.ErrorList
	add := func(problem *field.Error) { problems = append(problems, problem) }
	if prepare := use.Phase.Prepare; prepare != nil && prepare.Precondition != nil && *prepare.Precondition > 0 {
		add(field.Forbidden(use.At.Child("prepare", "precondition"),
			"IOR has no precondition passes: remove precondition, or overwrite the data in a steady write phase before the measured phases"))
	}
	if steady := use.Phase.Steady; steady != nil && isTrue(steady.EndWhenSteady) && e.writesLongBeforeReads() {
		add(field.Invalid(use.At.Child("steady", "endWhenSteady"), true,
			"IOR would still be writing when the phase reaches steady state and ends, so it would read nothing: remove endWhenSteady, or use one phase per operation"))
	}
	if ramp := use.Phase.Ramp; ramp != nil && (ramp.Dimension == v1alpha1.RampJobs || ramp.Dimension == v1alpha1.RampQueueDepth) {
		add(field.Invalid(use.At.Child("ramp", "dimension"), ramp.Dimension, "each IOR rank has one outstanding transfer: use Processes or Clients"))
	}
	if use.Phase.Sweep != nil {
		axes := &use.Phase.Sweep.Axes
		const ranks = "each IOR rank has one outstanding transfer: remove this axis, or use a ramp of Processes"
		for _, axis := range []struct {
			name   string
			length int
			why    string
		}{
			{"jobs", len(axes.Jobs), ranks},
			{"queueDepth", len(axes.QueueDepth), ranks},
			{"blockSize", len(axes.BlockSize), "the profile sets IOR's transfer and block sizes, which determine its files: remove this axis, and use a phase for each size"},
			{"readPercent", len(axes.ReadPercent), "IOR does not mix reads and writes: remove this axis, and use a phase for each operation"},
		} {
			if axis.length > 0 {
				add(field.Forbidden(use.At.Child("sweep", "axes", axis.name), axis.why))
			}
		}
	}
	if use.OwnVolumes {
		problems = append(problems, e.suitsOwnVolumes(use)...)
	}
	return problems
}

// writesLongBeforeReads reports whether a steady phase that ends early may end during the first writes. These writes
// last until the stonewall or, without a stonewall, for half of the phase.
func (e Engine) writesLongBeforeReads() bool {
	w, problems := readProfile(field.NewPath("ior"), e.Profile)
	return len(problems) == 0 && w.writes && w.reads && (w.stonewall == 0 || w.stonewall >= leastSteady)
}

// leastSteady is the shortest time after which a steady phase can end early: five rounds of one minute.
const leastSteady = 5 * time.Minute

// suitsOwnVolumes returns an error for each setting that cannot work if each client has its own volume.
func (e Engine) suitsOwnVolumes(use *engine.Use) field.ErrorList {
	var problems field.ErrorList
	if template := use.Run.Clients.Template; template != nil && isTrue(template.HostNetwork) && !use.Run.Clients.OnePerNode() {
		// If several clients share an address, mpirun starts all their ranks in the first of these clients, so these ranks
		// use that client's volume.
		problems = append(problems, field.Invalid(use.Root.Child("clients", "template", "hostNetwork"), true, fmt.Sprintf(
			"with hostNetwork, clients on one node share an address, so all their ranks use the volume of one client of target %s: "+
				"remove hostNetwork, set clients.spread to OnePerNode, or set claimTemplate.scope to Shared", use.Target)))
	}
	if !isNotFalse(e.Profile.FilePerProcess) {
		problems = append(problems, field.Invalid(use.Profile.Child("filePerProcess"), false, fmt.Sprintf(
			"each client of target %s has its own volume, so ranks cannot share a file: set filePerProcess to true, or claimTemplate.scope to Shared", use.Target)))
	}
	sizes, err := Describe(e.Profile, use.Clients, 1)
	if err == nil && sizes.Reads && e.Profile.ReorderTasks != v1alpha1.IORReorderNone {
		problems = append(problems, field.Invalid(use.Profile.Child("reorderTasks"), e.Profile.ReorderTasks, fmt.Sprintf(
			"each client of target %s has its own volume, so ranks cannot read another client's files: set reorderTasks to None "+
				"and direct to true (to bypass the client's cache), or set claimTemplate.scope to Shared", use.Target)))
	}
	return problems
}

// Describe implements engine.Engine.
func (e Engine) Describe(step *engine.Step) (engine.Description, error) {
	sizes, err := Describe(e.Profile, step.Clients, step.Processes)
	if err != nil {
		return engine.Description{}, err
	}
	made := sizes.Description
	if step.Layout() {
		made.Reads, made.Writes = false, true
	}
	made.Random = isTrue(e.Profile.Random)
	made.NoHoles = isNotFalse(e.Profile.FilePerProcess) && !made.Random
	made.NeedsFiles = made.Reads && !made.Writes && !step.Layout()
	keeps := step.Layout() || isNotFalse(e.Profile.KeepFiles)
	made.Rewrites = made.Writes && !(isTrue(e.Profile.UseExistingFiles) && keeps)
	if made.Reads && made.Buffered {
		made.Cached = engine.Cached{Why: "the reads are not direct, and the data on", Remedy: "set direct to true, or raise blockSize"}
	}
	if made.Reads && made.Writes && step.Purpose == v1alpha1.StepMeasure {
		made.Cautions = append(made.Cautions, "IOR writes and reads in turn, but the rates of writes and reads are computed over "+
			"the time of the whole phase: use one phase per operation, or IOR's own figures")
	}
	made.Ranks = engine.RankFiles{Name: FileName, Count: 1, Bytes: sizes.DatasetBytes}
	ranks := step.Clients * step.Processes
	if isNotFalse(e.Profile.FilePerProcess) {
		made.Ranks = engine.RankFiles{Name: FileName + ".0", Count: uint64(ranks), Bytes: sizes.RankBytes} // #nosec G115 -- positive
	}
	if isTrue(e.Profile.Verify) {
		made.Signed = signed(layerOf("", e.Profile, ranks))
	}
	if step.Layout() {
		made.Layer = func(target string) any { return layerOf(target, e.Profile, ranks) }
	}
	return made, nil
}

// Render implements engine.Engine.
func (e Engine) Render(step *engine.Step, client *engine.Client) (*agentapi.LoadRequest, error) {
	parameters := parametersOf(step, client)
	arguments, err := Arguments(e.Profile, parameters)
	if err != nil {
		return nil, err
	}
	expected, err := Expect(e.Profile, parameters, step.Clients*step.Processes)
	if err != nil {
		return nil, err
	}
	sizes, err := Describe(e.Profile, step.Clients, step.Processes)
	if err != nil {
		return nil, err
	}
	request, tool := mpiRequest(v1alpha1.EngineIOR, step, client)
	tool.Arguments = arguments
	tool.Repetitions = int32(min(expected.Repetitions, 1<<20)) // #nosec G115 -- just bounded
	tool.Limited = expected.Limited
	for _, operation := range expected.Operations {
		tool.Operations = append(tool.Operations, uint32(operation)) // #nosec G115 -- there are few
	}
	tool.Direct, tool.Collective, tool.TransferBytes = !sizes.Buffered, isTrue(e.Profile.Collective), sizes.BlockBytes
	request.Dataset.Files = rankFiles(&sizes, step, client)
	if step.Layout() || sizes.Writes {
		request.Dataset.Content = engine.NameOf(layerOf("", e.Profile, 0))
	}
	return request, nil
}

// mpiRequest returns the parts of a request that IOR and mdtest have in common.
func mpiRequest(kind v1alpha1.EngineKind, step *engine.Step, client *engine.Client) (*agentapi.LoadRequest, *agentapi.MpiTool) {
	tool := &agentapi.MpiTool{
		Program:                   string(kind),
		ProcessesPerClient:        int32(step.Processes), // #nosec G115 -- the API allows far fewer
		Shared:                    client.Shared,
		WarmUpNanoseconds:         int64(step.WarmUp),
		SampleIntervalNanoseconds: int64(engine.SampleInterval / time.Nanosecond),
	}
	if step.Purpose == v1alpha1.StepMeasure {
		tool.DurationNanoseconds = int64(step.Duration)
	}
	for index := range step.Clients {
		member := &agentapi.MpiClient{Client: int32(index)} // #nosec G115 -- the API allows far fewer
		if client.Index == engine.Launcher && index < len(client.Addresses) {
			member.Address = client.Addresses[index]
		}
		tool.Clients = append(tool.Clients, member)
	}
	return &agentapi.LoadRequest{Dataset: &agentapi.Dataset{}, Tool: &agentapi.LoadRequest_Mpi{Mpi: tool}}, tool
}

// rankFiles lists the files of a job in this client's directory. If the clients share a directory, rankFiles returns
// the files of all ranks for the client that starts the job, and no files for other clients. Otherwise it returns the
// files of the client's own ranks, which have consecutive numbers.
func rankFiles(sizes *Sizes, step *engine.Step, client *engine.Client) []*agentapi.DataFile {
	if client.Shared && client.Index != engine.Launcher {
		return nil
	}
	if bytes, one := sizes.FileSizes[FileName]; one {
		return []*agentapi.DataFile{{Name: FileName, Bytes: bytes}}
	}
	first, last := 0, step.Clients*step.Processes
	if !client.Shared {
		first = client.Index * step.Processes
		last = first + step.Processes
	}
	var all []*agentapi.DataFile
	for rank := first; rank < last; rank++ {
		name := fmt.Sprintf("%s.%08d", FileName, rank)
		if bytes, known := sizes.FileSizes[name]; known {
			all = append(all, &agentapi.DataFile{Name: name, Bytes: bytes})
		}
	}
	return all
}

// parametersOf returns the parameters that a step adds to a profile. The duration includes the warm-up, because IOR
// runs the load during the warm-up too.
func parametersOf(step *engine.Step, client *engine.Client) Parameters {
	parameters := Parameters{Purpose: Measure, Version: client.Version, Seed: client.Seed}
	switch {
	case step.Purpose == v1alpha1.StepPrepare:
		parameters.Purpose = Prepare
	case step.Purpose == v1alpha1.StepDrain:
		parameters.Limit = step.Duration
	case step.Duration > 0:
		parameters.Duration = step.WarmUp + step.Duration
	}
	return parameters
}

// layer holds the settings that determine which files a prepare phase lays out, and their content.
type layer struct {
	Target, Pattern                   string
	Verify, FilePerProcess            bool
	TransferBytes, BlockBytes, Blocks int64
	Ranks                             int
}

func layerOf(target string, profile *v1alpha1.IORProfile, ranks int) *layer {
	made := layer{
		Target: target, Pattern: profile.DataPattern, Verify: isTrue(profile.Verify), FilePerProcess: isNotFalse(profile.FilePerProcess),
		TransferBytes: profile.TransferSize.Value(), BlockBytes: profile.BlockSize.Value(), Blocks: 1, Ranks: ranks,
	}
	if profile.Segments != nil {
		made.Blocks = *profile.Segments
	}
	return &made
}

// signed returns an identifier of the data that a load with verify writes. The data depends on the position in the
// transfer and, in a shared file, on the rank that writes each block.
func signed(made *layer) string {
	content := layer{Pattern: cmp.Or(made.Pattern, "Timestamp"), TransferBytes: made.TransferBytes}
	if !made.FilePerProcess {
		content.BlockBytes, content.Blocks, content.Ranks = made.BlockBytes, made.Blocks, made.Ranks
	}
	return engine.NameOf(content)
}
