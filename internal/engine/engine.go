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

// SampleInterval is the intended interval of a tool's live samples.
const SampleInterval = time.Second

// Engine is a tool together with the profile that it runs.
type Engine interface {
	// Validate returns everything that is wrong with the profile, each with its field, the value and the remedy.
	Validate(path *field.Path) field.ErrorList
	// Suits returns the settings of a phase that the engine does not support. The profile is valid.
	Suits(use *Use) field.ErrorList
	// Describe returns what the tool does in a step. The order of a run's steps does not change it.
	Describe(step *Step) (Description, error)
	// Render returns the request for one client's part of a step. The caller adds what does not depend on the engine:
	// the space and the volumes, and the files that Describe lists.
	Render(step *Step, client *Client) (*agentapi.LoadRequest, error)
	// Result adds the tool's own figures to the result of a target and returns what it makes of the report.
	Result(step *Step, report *Report, into *v1alpha1.TargetResult) Findings
}

// Load is a profile with its engine and what is known of the engine whatever the profile. The zero value is no load.
type Load struct {
	Traits
	Engine
}

// Prove returns why no version of the tool can be told to do a step; nil if one can. The profile is valid.
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
	// Tools are the programs that each client needs, known by name before the run.
	Tools []string
	// Versions of the tool that accept different input, newest first; "" is the newest. The version of the clients is
	// not known until they run.
	Versions []string
	// SpansClients is true if the clients of a target run one MPI job together.
	SpansClients bool
	// WorkBound is true if the load ends when its work is done, whatever the phase's duration.
	WorkBound bool
	// Opaque is true if what the tool reads and writes is not known before it runs.
	Opaque bool
	// TimesOperations is true if the tool reports the latency of single operations.
	TimesOperations bool
	// HasJobs is true if each client has a number of jobs, which a phase can raise.
	HasJobs bool
	// ManyVolumes is true if the load can spread over several volumes and use raw devices.
	ManyVolumes bool
	// ReusesFiles is true if a layout keeps files that are there already.
	ReusesFiles bool
	// SizeField is the field of a profile that makes its data larger.
	SizeField string
	// Layers names the layouts of the engine in the hash of a dataset.
	Layers string
}

// Step is what an engine may know of a step on one target.
type Step struct {
	Purpose v1alpha1.StepPurpose
	// Clients is the number of clients of the target, Processes that of the ranks of each client; both at least 1.
	Clients, Processes int
	// Duration and WarmUp are as in a plan's step: Duration is 0 for a fixed amount of work.
	Duration, WarmUp time.Duration
	// Passes is how many times a precondition overwrites the data.
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

// Client is what an engine may know of one client of a target.
type Client struct {
	Index int
	// Seed is that of the run; StepSeed is that of the step, and differs from the seeds of all other steps.
	Seed, StepSeed uint64
	// Version of the tool on the clients; empty if unknown.
	Version string
	// Shared is true if all clients of an MPI job work in one directory, that of the launcher.
	Shared bool
	// Addresses of the clients of an MPI job by index, each a host and a port.
	Addresses []string
}

// Launcher is the index of the client that starts an MPI job.
const Launcher = 0

// Use is a phase that runs a workload on a target.
type Use struct {
	Run    *v1alpha1.RunSpec
	Phase  *v1alpha1.Phase
	Target string
	// Root, At and Profile are the paths of the run, the phase and the engine's profile.
	Root, At, Profile *field.Path
	// Clients is the number of clients of each target. OwnVolumes is true if there are several, each with a volume of
	// its own.
	Clients    int
	OwnVolumes bool
}

// Description is what a load does in a step. Figures are of one client.
type Description struct {
	// Reads, Writes and Trims are true for the operations that occur; Syncs is true if writes are flushed during the
	// load, SyncsAtEnd if every writer flushes its files when it ends.
	Reads, Writes, Trims, Syncs, SyncsAtEnd bool
	// Buffered is true if some I/O goes through the page cache, Random if the offsets are in random order.
	Buffered, Random bool
	// NoStorage is true if no file is touched, Metadata if the load works on names, not on data.
	NoStorage, Metadata bool
	// NeedsFiles is true if the load reads files that must have been laid out before. Rewrites is true if it replaces
	// laid-out files, and can leave them shorter.
	NeedsFiles, Rewrites bool
	// NoHoles is true if the load writes its files from their start to their end.
	NoHoles bool
	// Jobs is the number of threads, each of which can use one CPU; 0 if unknown.
	Jobs int
	// BlockBytes is the size of every operation; 0 if they differ.
	BlockBytes uint64
	// MaxOutstanding is the most operations that are outstanding at any time.
	MaxOutstanding uint64
	// ClientBytes is the size of the client's files.
	ClientBytes uint64
	// LimitBytesPerSecond and LimitIOPS are the workload's rate limit; 0 if there is none.
	LimitBytesPerSecond, LimitIOPS float64
	// ClosedLoop is true if each operation starts when a previous one completes: the load has no rate limit and no
	// pauses of its own, as far as its profile shows.
	ClosedLoop bool
	// Files yields the names and the sizes of the client's files after a prepare, each once; nil if they are not
	// known by name or are those of Ranks. Of the overrides only LayoutJobs changes them. There can be many.
	Files iter.Seq2[string, uint64]
	// Ranks are the files of an MPI job.
	Ranks RankFiles
	// Reserved is space for files that are not known by name; it is taken once for all loads with the same key.
	Reserved Reserved
	// JobFiles is set if the number of jobs decides how the dataset is divided into files.
	JobFiles JobFiles
	// Setup identifies what a prepare step must do before the load can run; empty if nothing.
	Setup string
	// Layer returns everything that decides what a prepare step lays out on a target, except Files, for JSON; nil if
	// it lays out nothing.
	Layer func(target string) any
	// Cached is set if reads may be answered by the client's own memory.
	Cached Cached
	// Cautions are shown to the user before the run.
	Cautions []string
}

// Cached holds the two ends of a warning: why what is read may come from the memory of a client's machine, and what to
// change.
type Cached struct{ Why, Remedy string }

// RankFiles are the files of the ranks of an MPI job, over all clients.
type RankFiles struct {
	// Name is the first file; empty if there are none.
	Name string
	// Count is the number of files, Bytes the size of each.
	Count, Bytes uint64
}

// Reserved is space that a load declares.
type Reserved struct {
	Key   string
	Bytes uint64
}

// JobFiles distinguishes datasets of jobs with files of their own.
type JobFiles struct {
	Bytes       int64
	FilesPerJob int32
}

// NameOf returns a short name for a value that JSON can encode: equal values have equal names.
func NameOf(value any) string {
	// json.Marshal sorts the keys of maps, so equal values give equal bytes.
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:6])
}
