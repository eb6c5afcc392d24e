package v1alpha1

// Only this file expands shorthand fields to the fields that all other code reads, and sets the defaults of absent
// fields inside lists. The schema has no defaults inside lists, because a list is applied as a whole: if the API server
// added a default to an item, Argo CD with server-side apply would permanently report a difference. The defaults of all
// other fields are in the schema.

// DefaultMinDuration is the default minDuration of a burstDrain phase.
const DefaultMinDuration Duration = "2m"

// DefaultVolume is the name of the volume of a target that sets claimName.
const DefaultVolume = "data"

// DefaultPrecisionPercent is the default precision of a search. DefaultSearchWarmUp is the default warm-up of the steps
// of a search.
const (
	DefaultPrecisionPercent int32    = 2
	DefaultSearchWarmUp     Duration = "5s"
)

// FileOperations lists all operations of a smallFiles phase, in the order in which they run by default.
var FileOperations = []Operation{OperationCreate, OperationStat, OperationWrite, OperationRead, OperationDelete}

// OperationsOrDefault returns the phase's operations, or FileOperations if it sets none.
func (p *SmallFilesPhase) OperationsOrDefault() []Operation {
	if len(p.Operations) == 0 {
		return FileOperations
	}
	return p.Operations
}

// DefaultRepetitions is the default number of times that an interference phase measures each block. DefaultBlockWarmUp
// is the default warm-up of a block.
const (
	DefaultRepetitions int32    = 6
	DefaultBlockWarmUp Duration = "5s"
)

// SetDefaults expands the shorthand fields of a run and sets its absent fields to their defaults.
func (r *RunSpec) SetDefaults() {
	for i := range r.Targets {
		r.Targets[i].setDefaults()
	}
	r.Workload.setDefaults()
	for i := range r.Phases {
		r.Phases[i].setDefaults()
	}
}

func (t *Target) setDefaults() {
	orDefault(&t.DataPolicy, DataDelete)
	if t.ClaimName != "" && len(t.Volumes) == 0 {
		t.Volumes = []Volume{{Name: DefaultVolume, ClaimName: t.ClaimName}}
		t.ClaimName = ""
	}
	for i := range t.Volumes {
		if template := t.Volumes[i].ClaimTemplate; template != nil {
			orDefault(&template.Scope, ClaimShared)
			orDefault(&template.Lifetime, ClaimForRun)
		}
	}
}

func (p *Phase) setDefaults() {
	orDefault(&p.Mode, PhaseParallel)
	p.Workload.setDefaults()
	for i := range p.TargetWorkloads {
		p.TargetWorkloads[i].Workload.setDefaults()
	}
	if p.Prepare != nil {
		orDefault(&p.Prepare.Precondition, new(int32(0)))
	}
	if p.Steady != nil {
		orDefault(&p.Steady.WarmUp, "0s")
	}
	if p.Ramp != nil {
		orDefault(&p.Ramp.WarmUp, "0s")
	}
	if p.Sweep != nil {
		orDefault(&p.Sweep.WarmUp, "0s")
	}
	if p.Refill != nil && p.Cooldown == nil {
		p.Cooldown = &CooldownPhase{Redrain: &Redrain{Idle: p.Refill.Idle}, MaxDuration: p.Refill.MaxDuration}
		p.Refill = nil
	}
	if p.Search != nil {
		orDefault(&p.Search.WarmUp, DefaultSearchWarmUp)
		orDefault(&p.Search.PrecisionPercent, new(DefaultPrecisionPercent))
	}
	if p.Interference != nil {
		orDefault(&p.Interference.WarmUp, DefaultBlockWarmUp)
		orDefault(&p.Interference.Repetitions, new(DefaultRepetitions))
	}
	if p.BurstDrain != nil {
		orDefault(&p.BurstDrain.MinDuration, DefaultMinDuration)
	}
}

func (w *Workload) setDefaults() {
	if w == nil {
		return
	}
	if w.IOR != nil {
		orDefault(&w.IOR.API, "POSIX")
		orDefault(&w.IOR.Segments, new(int64(1)))
		orDefault(&w.IOR.FilePerProcess, new(true))
		if w.IOR.Operations == nil {
			w.IOR.Operations = []Operation{OperationWrite}
		}
		orDefault(&w.IOR.Fsync, new(true))
	}
	if w.Mdtest != nil {
		orDefault(&w.Mdtest.Iterations, new(int32(1)))
	}
}

// orDefault sets field to value if field is zero.
func orDefault[T comparable](field *T, value T) {
	var absent T
	if *field == absent {
		*field = value
	}
}
