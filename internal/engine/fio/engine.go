package fio

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine"
)

// Traits are the traits of the fio engine.
var Traits = engine.Traits{
	Kind: v1alpha1.EngineFio, Tools: []string{string(v1alpha1.EngineFio)}, Versions: []string{""},
	TimesOperations: true, HasJobs: true, SmallFiles: true, ManyVolumes: true, ReusesFiles: true, Layers: "Layers", SizeField: "datasetSize",
}

// Engine implements engine.Engine for fio.
type Engine struct{ Profile *v1alpha1.FioProfile }

var _ engine.Engine = Engine{}

// Validate implements engine.Engine.
func (e Engine) Validate(path *field.Path) field.ErrorList { return Validate(path, e.Profile) }

// Suits implements engine.Engine.
func (e Engine) Suits(use *engine.Use) field.ErrorList {
	if ramp := use.Phase.Ramp; ramp != nil && ramp.Dimension == v1alpha1.RampProcesses {
		return field.ErrorList{field.Invalid(use.At.Child("ramp", "dimension"), ramp.Dimension, "fio has no ranks: use Jobs, QueueDepth or Clients")}
	}
	return e.suitsOpenLoop(use)
}

// Describe implements engine.Engine.
func (e Engine) Describe(step *engine.Step) (engine.Description, error) {
	if step.Overrides.Operation != "" {
		return e.describeFiles(step)
	}
	made, err := Describe(e.Profile, parametersOf(step, &engine.Client{}))
	if err != nil {
		return made, err
	}
	p := e.Profile
	made.Layer = func(target string) any { return layerOf(target, p) }
	if p.JobFile == "" && p.FileSharing != v1alpha1.FilesShared && p.IOEngine != v1alpha1.FioNull {
		made.JobFiles = engine.JobFiles{Bytes: p.DatasetSize.Value(), FilesPerJob: 1}
		if p.FilesPerJob != nil {
			made.JobFiles.FilesPerJob = *p.FilesPerJob
		}
	}
	if step.Layout() {
		// A layout writes the whole dataset. Its block size and queue depth differ from those of the load.
		made.Reads, made.Writes, made.Trims, made.Cached = false, true, false, engine.Cached{}
		made.BlockBytes, made.MaxOutstanding, made.UnusedBytes = 0, 0, 0
		made.LimitBytesPerSecond, made.LimitIOPS = 0, 0
		return made, nil
	}
	made.NeedsFiles = made.Reads
	made.ClosedLoop = p.JobFile == "" && p.RateLimit == nil && !e.hasThinkTime() && step.Overrides.Offer.IOPS == 0
	if limit := p.RateLimit; limit != nil {
		if limit.BytesPerSecond != nil {
			made.LimitBytesPerSecond = limit.BytesPerSecond.AsApproximateFloat64()
		}
		if limit.IOPS != nil {
			made.LimitIOPS = float64(*limit.IOPS)
		}
	}
	if offer := step.Overrides.Offer; offer.IOPS > 0 {
		made.LimitIOPS = float64(offer.IOPS)
		if text := caution(offer, made.Jobs); text != "" {
			made.Cautions = append(made.Cautions, text)
		}
	}
	return made, nil
}

// hasThinkTime reports whether the profile's options set a think time or a rate, which can make the load wait between
// operations.
func (e Engine) hasThinkTime() bool {
	for name := range e.Profile.Options {
		if strings.HasPrefix(name, "think") || strings.HasPrefix(name, "rate") {
			return true
		}
	}
	return false
}

// Render implements engine.Engine.
func (e Engine) Render(step *engine.Step, client *engine.Client) (*agentapi.LoadRequest, error) {
	if step.Overrides.Operation != "" {
		return e.renderFiles(step, client)
	}
	parameters := parametersOf(step, client)
	job, err := Render(e.Profile, parameters)
	if err != nil {
		return nil, err
	}
	made, err := Describe(e.Profile, parameters)
	if err != nil {
		return nil, err
	}
	tool := &agentapi.FioTool{
		Job:                       job,
		WarmUpNanoseconds:         int64(step.WarmUp),
		DurationNanoseconds:       int64(step.Duration),
		SampleIntervalNanoseconds: int64(engine.SampleInterval / time.Nanosecond),
		Jobs:                      int32(min(made.Jobs, 1<<30)), // #nosec G115 -- just bounded
		MaxOutstanding:            made.MaxOutstanding,
		Direct:                    !made.Buffered,
		CompressLike:              e.Profile.CompressLike,
		SettleNanoseconds:         int64(settle(step.Overrides.Offer, step.Duration)),
	}
	dataset := &agentapi.Dataset{}
	if step.Layout() || made.Writes {
		dataset.Content = ContentOf(e.Profile)
	}
	if step.Layout() {
		what, problems := read(field.NewPath("fio"), e.Profile, &parameters)
		if err := problems.ToAggregate(); err != nil {
			return nil, fmt.Errorf("read the layout of a fio profile: %w", err)
		}
		tool.Jobs, tool.MaxOutstanding = 0, 0
		for _, s := range what.laidOut(parameters.Purpose) {
			tool.Jobs += int32(s.jobs) // #nosec G115 -- at most maxFiles
			tool.MaxOutstanding += s.outstanding()
		}
		if parameters.Purpose == Precondition {
			tool.WrittenBytes = what.overwritten() * uint64(max(step.Passes, 1)) // #nosec G115 -- at least 1
		}
	}
	if parameters.Purpose == Prepare {
		dataset.Reuse = true
		dataset.MayHoldZeros = MayHoldZeros(e.Profile)
		tool.WrittenBytes = made.ClientBytes
	}
	return &agentapi.LoadRequest{Dataset: dataset, Tool: &agentapi.LoadRequest_Fio{Fio: tool}}, nil
}

// parametersOf returns the parameters of one client's job in a step.
func parametersOf(step *engine.Step, client *engine.Client) Parameters {
	parameters := Parameters{
		Purpose: Measure, Duration: step.Duration, WarmUp: step.WarmUp, Overrides: step.Overrides,
		Volumes: step.Volumes, Devices: step.Devices, Seed: client.StepSeed, ClientIndex: client.Index,
	}
	switch {
	case !step.Layout():
		return parameters
	case step.Purpose == v1alpha1.StepPrepare:
		parameters.Purpose = Prepare
	default:
		parameters.Purpose = Precondition
		parameters.Passes = int32(step.Passes) // #nosec G115 -- the API allows few
	}
	parameters.Duration, parameters.WarmUp = 0, 0
	return parameters
}

// layer holds the settings, other than those of the files, that determine what a prepare phase writes to a target. It
// omits settings that only affect how fast the files are read or written later.
type layer struct {
	Target          string
	CompressPercent *int32
	ChunkBytes      int64
	RefillBuffers   bool
	Options         map[string]v1alpha1.FioOptionValue
	JobFile         string
	CompressLike    string `json:",omitempty"`
}

func layerOf(target string, profile *v1alpha1.FioProfile) layer {
	l := layer{
		Target:        target,
		RefillBuffers: profile.RefillBuffers != nil && *profile.RefillBuffers,
		Options:       profile.Options,
		JobFile:       profile.JobFile,
		CompressLike:  profile.CompressLike,
	}
	if c := profile.Compressibility; c != nil {
		l.CompressPercent = &c.Percent
		if c.ChunkSize != nil {
			// Store the chunk size in bytes, so that equal sizes such as 4Ki and 4096 give equal layers.
			l.ChunkBytes = c.ChunkSize.Value()
		}
	}
	return l
}

// ContentOf returns a short name for the kind of content that a load writes into its files, regardless of the target.
// Loads that write the same kind of content have the same name.
func ContentOf(profile *v1alpha1.FioProfile) string { return engine.NameOf(layerOf("", profile)) }

// Resize sets the dataset size of a profile. The size is validated later, with the rest of the profile.
func Resize(path *field.Path, profile *v1alpha1.FioProfile, size resource.Quantity) *field.Error {
	switch {
	case profile.JobFile != "":
		return field.Forbidden(path, "this profile sets its sizes in jobFile: remove datasetSize, or change the sizes in jobFile")
	case size.Sign() <= 0 || size.Cmp(*resource.NewQuantity(size.Value(), size.Format)) != 0:
		return field.Invalid(path, size.String(), "must be a whole number of bytes, such as 8Gi")
	}
	profile.DatasetSize = size
	return nil
}
