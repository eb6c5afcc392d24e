package ior

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Traits are what a load of IOR or mdtest does, for those who have to plan and judge it. A client has
// ranksPerClient ranks.
type Traits struct {
	// Reads and Writes tell the operations that occur.
	Reads, Writes bool
	// NeedsFiles: something must have been laid out before, because reads come first.
	NeedsFiles bool
	// Buffered: it goes through the page cache. SyncsAtEnd: each write ends with an fsync.
	Buffered, SyncsAtEnd bool
	// Collective: all ranks do each operation together, so one slow client slows all.
	Collective bool
	// RankBytes, ClientBytes and DatasetBytes are the bytes of the files of a rank, of all ranks
	// of a client and of all clients. For mdtest they are those of all files at once.
	RankBytes, ClientBytes, DatasetBytes uint64
	// FileSizes are the files with their bytes, by name relative to the working directory, where
	// they are known: IOR's, of all ranks. Nil for mdtest.
	FileSizes map[string]uint64
	// Items are the files and directories of all ranks at once that mdtest makes.
	Items uint64
	// Inodes is how many files and folders of mdtest there are at once, over all ranks; 0 where that is not known.
	Inodes uint64
	// TransferBytes is the size of each operation; 0 for mdtest.
	TransferBytes uint64
	// MaxOutstanding operations of a client at any time: one a rank.
	MaxOutstanding uint64
	// WorkBound: it ends when its work is done, whatever the phase says. Only mdtest.
	WorkBound bool
	// Cautions are said to the user before the run.
	Cautions []string
}

// maxListed bounds the files that are listed by name; DatasetBytes holds in any case.
const maxListed = 4096

// Describe tells what a valid profile does on clients with ranksPerClient ranks each.
func Describe(profile *v1alpha1.IORProfile, clients, ranksPerClient int) (Traits, error) {
	w, problems := readProfile(field.NewPath("ior"), profile, &Parameters{})
	if len(problems) > 0 {
		return Traits{}, fmt.Errorf("describe an IOR profile: %w", problems.ToAggregate())
	}
	if err := checkRanks(clients, ranksPerClient); err != nil {
		return Traits{}, fmt.Errorf("describe an IOR profile: %w", err)
	}
	ranks := clients * ranksPerClient
	traits := Traits{
		Reads: w.reads, Writes: w.writes, NeedsFiles: w.reads && !w.writes, Buffered: !w.direct, SyncsAtEnd: w.writes && w.fsync,
		Collective: w.collective, TransferBytes: uint64(w.transfer), MaxOutstanding: uint64(ranksPerClient), // #nosec G115 -- both are positive
		FileSizes: map[string]uint64{},
	}
	traits.bytes(uint64(w.block)*uint64(w.segments), clients, ranksPerClient) // #nosec G115 -- both are positive
	switch {
	case !w.filePerProcess:
		traits.FileSizes[FileName] = traits.DatasetBytes
	case ranks <= maxListed:
		for rank := range ranks {
			traits.FileSizes[fmt.Sprintf("%s.%08d", FileName, rank)] = traits.RankBytes
		}
	}
	traits.Cautions = w.cautions(clients)
	return traits, nil
}

// checkRanks bounds what the sums of bytes are made of.
func checkRanks(clients, ranksPerClient int) error {
	if clients < 1 || ranksPerClient < 1 || clients > 1<<16 || ranksPerClient > 1<<16 {
		return fmt.Errorf("%d clients with %d ranks each: both count from 1 to %d", clients, ranksPerClient, 1<<16)
	}
	return nil
}

// bytes fills the sums, which saturate.
func (t *Traits) bytes(rank uint64, clients, ranksPerClient int) {
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

func (w *workload) cautions(clients int) []string {
	var all []string
	if w.pattern == "" && w.writes {
		all = append(all, "dataPattern is IOR's default, which compresses 4:1 in 3.3.0 and 2:1 in 4.0.0: on a store that compresses, its figures are not those of other data")
	}
	if w.reads && w.writes && w.reorder == v1alpha1.IORReorderNone && !w.direct {
		all = append(all, "each rank reads what it has just written, from its client's cache: set reorderTasks to Constant, or direct")
	}
	// It is by the ranks of one node that IOR shifts, so that those of a single client come back to themselves.
	if w.reads && clients == 1 && w.reorder == v1alpha1.IORReorderConstant && !w.direct {
		all = append(all, "reorderTasks: there is only one client, which reads what it has written itself, from its cache: set direct, or more clients")
	}
	if w.verify && w.reads {
		all = append(all, "verify: the time of a read has that of its check in it")
	}
	if w.verify && w.writes {
		all = append(all, "verify: what is written is read back, of which IOR has no figure: in the samples those reads are beside the others, or a pause between writes where nothing else is read")
	}
	if w.writes && !w.fsync && !w.direct {
		all = append(all, "fsync is false and direct too: a write ends while its data is still in the client's memory")
	}
	return all
}
