package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// SampleInterval is the intended time between two samples of a running tool.
const SampleInterval = time.Second

// Engine is a tool together with the profile that it runs.
type Engine interface {
	// Validate returns all errors in the profile, each with its field, the value and the remedy.
	Validate(path *field.Path) field.ErrorList
	// Suits returns an error for each setting of a phase that the engine does not support. It assumes a valid profile.
	Suits(use *Use) field.ErrorList
	// Describe describes the load that the tool generates in a step. The result does not depend on the order of the run's
	// steps.
	Describe(step *Step) (Description, error)
	// Render returns the request for one client's part of a step. The caller adds the fields that do not depend on the
	// engine: the required space, the volumes, and the files that Describe lists.
	Render(step *Step, client *Client) (*agentapi.LoadRequest, error)
	// Result adds the tool's own figures to the result of a target, and returns the engine's conclusions from the clients'
	// report.
	Result(step *Step, report *Report, into *v1alpha1.TargetResult) Findings
}

// Load is an engine with its profile, together with the engine's traits, which do not depend on the profile. The zero
// value means no load.
type Load struct {
	Traits
	Engine
}

// Prove returns an error if no version of the tool supports a step. It assumes a valid profile.
func (l Load) Prove(step *Step) error {
	var first error
	for _, version := range l.Versions {
		_, err := l.Render(step, &Client{Version: version})
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// ToolMPI is the program that starts MPI jobs.
const ToolMPI = "mpirun"

// Traits are the properties of an engine that do not depend on a profile.
type Traits struct {
	Kind v1alpha1.EngineKind
	// Tools lists the programs that each client needs. The agent checks before the run that they are installed. The
	// list is empty for engines that run their tool as a command.
	Tools []string
	// Sources maps the name of each program that is rarely preinstalled to a hint on where to get it.
	Sources map[string]string
	// Versions lists one version of the tool for each form of input that the engine can write, the newest first. An
	// empty string means the newest version. Prove tries all of them, because the version on the clients is unknown
	// until their pods run.
	Versions []string
	// SpansClients is true if the clients of a target run one MPI job together.
	SpansClients bool
	// WorkBound is true if the load ends when its work is done, regardless of the phase's duration.
	WorkBound bool
	// Opaque is true if the tool's I/O cannot be predicted.
	Opaque bool
	// TimesOperations is true if the tool reports the latency of individual operations.
	TimesOperations bool
	// HasJobs is true if a phase can raise the load's number of jobs per client.
	HasJobs bool
	// ManyVolumes is true if the load can spread over several volumes and use raw devices.
	ManyVolumes bool
	// SmallFiles is true if the tool can perform one operation on each of many files, as a smallFiles phase requires.
	SmallFiles bool
	// ReusesFiles is true if a layout keeps files that already exist, instead of writing them again.
	ReusesFiles bool
	// SizeField is the profile field that determines the size of the dataset, for messages that suggest raising it.
	SizeField string
	// Layers is the key of this engine's layouts in the JSON object that package plan hashes to identify the datasets of
	// a run.
	Layers string
}

// Step contains the parameters of a step that an engine needs, for one target.
type Step struct {
	Purpose v1alpha1.StepPurpose
	// Clients is the number of clients of the target. Processes is the number of ranks per client. Both are at least 1.
	Clients, Processes int
	// Duration and WarmUp are the times that the plan sets for the step. Duration is 0 if the step does a fixed amount
	// of work.
	Duration, WarmUp time.Duration
	// Passes is the number of times that a precondition overwrites the data.
	Passes    int
	Overrides Overrides
	// Volumes is the number of the target's volumes; 0 counts as 1. Devices is true if they are raw block devices.
	Volumes int
	Devices bool
}

// Layout reports whether the step writes whole files, instead of running the profile's load.
func (s *Step) Layout() bool {
	return s.Purpose == v1alpha1.StepPrepare || s.Purpose == v1alpha1.StepPrecondition
}

// Client contains the properties of a client that an engine needs.
type Client struct {
	Index int
	// Seed is the run's seed. StepSeed is different for each step of the run and for each attempt of a step.
	Seed, StepSeed uint64
	// Version is the version of the tool on the clients; empty if unknown.
	Version string
	// Shared is true if all clients of an MPI job work in the directory of the client that starts the job.
	Shared bool
	// Addresses are the addresses of the clients of an MPI job (host and port), by client index.
	Addresses []string
}

// Launcher is the index of the client that starts an MPI job.
const Launcher = 0

// Use describes a phase that runs a workload on a target.
type Use struct {
	Run    *v1alpha1.RunSpec
	Phase  *v1alpha1.Phase
	Target string
	// Root, At and Profile are the field paths of the run, the phase and the engine's profile.
	Root, At, Profile *field.Path
	// Clients is the number of clients of each target. OwnVolumes is true if a target has several clients, each with
	// its own volume.
	Clients    int
	OwnVolumes bool
}

// Description describes what a load does in a step. Its figures apply to one client.
type Description struct {
	// Reads, Writes and Trims are true if the load performs such operations.
	Reads, Writes, Trims bool
	// Dirty is true if some writes are neither direct nor synchronous, and are not flushed during the load. SyncsAtEnd is
	// true if all such writes are flushed when the load ends.
	Dirty, SyncsAtEnd bool
	// Buffered is true if some I/O goes through the page cache. Random is true if some I/O is at random offsets, and Mixed
	// is true if some I/O is random and some sequential.
	Buffered, Random, Mixed bool
	// NoStorage is true if the load accesses no files. Metadata is true if it works on file names instead of file data.
	NoStorage, Metadata bool
	// NeedsFiles is true if the load reads files that an earlier step must have laid out. Rewrites is true if the load
	// replaces laid-out files, and can leave them shorter.
	NeedsFiles, Rewrites bool
	// NoHoles is true if the load writes its files sequentially, from start to end.
	NoHoles bool
	// Jobs is the number of threads, each of which can use one CPU; 0 if unknown.
	Jobs int
	// BlockBytes is the size of each operation; 0 if sizes vary.
	BlockBytes uint64
	// MaxOutstanding is the maximum number of operations outstanding at any time.
	MaxOutstanding uint64
	// ClientBytes is the total size of the client's files. UnusedBytes is the total size of the files that the load does
	// not access, because only steps with more jobs use them.
	ClientBytes, UnusedBytes uint64
	// LimitBytesPerSecond and LimitIOPS are the workload's rate limit; 0 if there is none.
	LimitBytesPerSecond, LimitIOPS float64
	// ClosedLoop is true if each operation starts when a previous one completes: the profile sets neither a rate limit
	// nor pauses.
	ClosedLoop bool
	// Files yields the name and the size of each of the client's files after a prepare step. It is nil if the names are
	// unknown or if Ranks describes the files. There can be many files. LayoutJobs is the only override that changes
	// them.
	Files iter.Seq2[string, uint64]
	// Ranks describes the files of an MPI job.
	Ranks RankFiles
	// Signed is the signature of the data that a verifying load writes or expects to read. Data with another signature
	// fails verification. Signed is empty if the load does not verify data.
	Signed string
	// Reserved is space for files whose names are unknown. Loads whose reservations have the same key share the space.
	Reserved Reserved
	// JobFiles is set if the number of jobs determines how the dataset is divided into files.
	JobFiles JobFiles
	// Setup identifies the work that a prepare step must do before the load can run. It is empty if there is none.
	Setup string
	// Layer returns the settings that, together with Files, determine what a prepare step of this load writes to a target.
	// The result can be encoded as JSON. Layer is nil if nothing is laid out.
	Layer func(target string) any
	// Cached is set if the client's own memory may serve reads.
	Cached Cached
	// Cautions are warnings that are shown to the user before the run.
	Cautions []string
}

// Limit returns the workload's rate limit in bytes per second. If both bytes and operations are limited, it returns the
// lower of the two limits. It returns 0 if there is no limit, or if only operations are limited and their size varies.
func (d *Description) Limit() float64 {
	limit := d.LimitBytesPerSecond
	if byOperations := d.LimitIOPS * float64(d.BlockBytes); byOperations > 0 && (limit == 0 || byOperations < limit) {
		limit = byOperations
	}
	return limit
}

// Cached holds the parts of the warning that reads may be served from the memory of a client's machine. Why is the
// cause, and Remedy is the change that prevents this.
type Cached struct{ Why, Remedy string }

// RankFiles describes the files of all ranks of an MPI job.
type RankFiles struct {
	// Name is the name of the first file; empty if there are no files.
	Name string
	// Count is the number of files, and Bytes is the size of each.
	Count, Bytes uint64
}

// Reserved is space for files whose names are not known before the load runs. Reservations with the same Key share the
// space.
type Reserved struct {
	Key   string
	Bytes uint64
}

// JobFiles identifies a dataset in which each job has its own files.
type JobFiles struct {
	Bytes       int64
	FilesPerJob int32
}

// NameOf returns a short name for a value that can be encoded as JSON. Equal values have equal names.
func NameOf(value any) string {
	// json.Marshal sorts the keys of maps, so equal values give equal bytes.
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:6])
}
