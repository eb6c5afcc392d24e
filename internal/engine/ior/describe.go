package ior

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// Sizes describes an IOR or mdtest load on several clients, including the sizes of its files.
type Sizes struct {
	engine.Description
	// RankBytes is the total size of the files of one rank, and DatasetBytes is the total size of the files of all
	// clients. For mdtest, both include all files of an iteration.
	RankBytes, DatasetBytes uint64
	// FileSizes maps the names of the IOR files of all ranks, relative to the working directory, to their sizes in
	// bytes. It is empty if there is a file per process and more than maxListed ranks. It is nil for mdtest.
	FileSizes map[string]uint64
	// Inodes is the maximum number of files and directories of all mdtest ranks that exist at the same time, or 0 if it
	// is unknown.
	Inodes uint64
}

// maxListed is the maximum number of files that FileSizes lists. DatasetBytes always covers all files.
const maxListed = 4096

// Describe describes the load that a valid profile generates on clients with ranksPerClient ranks each.
func Describe(profile *v1alpha1.IORProfile, clients, ranksPerClient int) (Sizes, error) {
	w, problems := readProfile(field.NewPath("ior"), profile)
	if len(problems) > 0 {
		return Sizes{}, fmt.Errorf("describe an IOR profile: %w", problems.ToAggregate())
	}
	if err := checkRanks(clients, ranksPerClient); err != nil {
		return Sizes{}, fmt.Errorf("describe an IOR profile: %w", err)
	}
	ranks := clients * ranksPerClient
	sizes := Sizes{FileSizes: map[string]uint64{}, Description: engine.Description{
		Reads: w.reads, Writes: w.writes, Buffered: !w.direct,
		Dirty: w.writes && !w.direct && !w.synchronous(), SyncsAtEnd: w.fsync,
		BlockBytes: uint64(w.transfer), MaxOutstanding: uint64(ranksPerClient), // #nosec G115 -- both are positive
	}}
	sizes.bytes(uint64(w.block)*uint64(w.segments), clients, ranksPerClient) // #nosec G115 -- both are positive
	switch {
	case !w.filePerProcess:
		sizes.FileSizes[FileName] = sizes.DatasetBytes
	case ranks <= maxListed:
		for rank := range ranks {
			sizes.FileSizes[fmt.Sprintf("%s.%08d", FileName, rank)] = sizes.RankBytes
		}
	}
	sizes.Cautions = w.cautions(clients)
	return sizes, nil
}

// checkRanks returns an error if the number of clients or of ranks is invalid, or so large that the total file size
// could overflow.
func checkRanks(clients, ranksPerClient int) error {
	if clients < 1 || ranksPerClient < 1 || clients > 1<<16 || ranksPerClient > 1<<16 {
		return fmt.Errorf("%d clients with %d ranks each: both must be from 1 to %d", clients, ranksPerClient, 1<<16)
	}
	return nil
}

// bytes sets the sizes of the files of one rank, of one client and of all clients. If a size would overflow, it is set
// to the largest uint64.
func (t *Sizes) bytes(rank uint64, clients, ranksPerClient int) {
	t.RankBytes = rank
	t.ClientBytes = product(rank, uint64(ranksPerClient))    // #nosec G115 -- checked to be positive
	t.DatasetBytes = product(t.ClientBytes, uint64(clients)) // #nosec G115 -- checked to be positive
}

func product(a, b uint64) uint64 {
	if b != 0 && a > ^uint64(0)/b {
		return ^uint64(0)
	}
	return a * b
}

// synchronous reports whether IOR flushes each transfer that it writes (fsyncPerWrite).
func (w *workload) synchronous() bool {
	return slices.ContainsFunc(w.args, func(one argument) bool { return one.name == "-Y" })
}

func (w *workload) cautions(clients int) []string {
	var all []string
	if w.pattern == "" && w.writes {
		all = append(all, "dataPattern is not set, and IOR's default data compresses 4:1 in 3.3.0 and 2:1 in 4.0.0: set dataPattern if the store compresses data")
	}
	if w.reads && w.writes && w.reorder == v1alpha1.IORReorderNone && !w.direct {
		all = append(all, "each rank reads the data that it has just written, from its client's cache: set reorderTasks to Constant, or direct to true")
	}
	// With reorderTasks Constant, IOR shifts ranks by the number of ranks per node, so with a single client each rank
	// reads its own file.
	if w.reads && clients == 1 && w.reorder == v1alpha1.IORReorderConstant && !w.direct {
		all = append(all, "reorderTasks: the only client reads its own data from its cache: set direct to true, or use more clients")
	}
	if w.verify && w.reads {
		all = append(all, "verify: read times include the verification")
	}
	if w.verify && w.writes {
		all = append(all, "verify: data is read back after writing. IOR does not report these reads; in the samples, they appear as reads, or as pauses between writes")
	}
	if w.writes && !w.fsync && !w.direct && !w.synchronous() {
		all = append(all, "fsync and direct are false: writes complete while their data is still in the client's memory")
	}
	return all
}
