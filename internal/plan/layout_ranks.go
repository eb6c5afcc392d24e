package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/storagebench/storagebench/internal/engine"
)

// rankFiles holds the files of MPI jobs on a target, over all clients. It holds counts instead of names, because
// there can be a million identical files.
type rankFiles map[rankKey][]rankSet

// rankKey distinguishes sets of files with different names or locations.
type rankKey struct {
	// name is the name of the first rank's file, of the shared file, or of mdtest's directory.
	name string
	// processes is the number of ranks per client, which determines the client whose volume contains a rank's file. It is
	// 0 unless each of several clients has its own volume.
	processes int
}

// rankSet describes the files of the ranks from 0 to ranks-1. bytes is the size of each file.
type rankSet struct {
	ranks, bytes uint64
}

// total returns the total size of all files with the given key. A file that is in several sets counts once, with its
// largest size.
func (f rankFiles) total(key rankKey) uint64 {
	sets := slices.Clone(f[key])
	slices.SortFunc(sets, func(a, b rankSet) int { return cmp.Compare(b.bytes, a.bytes) })
	var counted, sum uint64
	for _, set := range sets {
		if set.ranks > counted {
			sum += (set.ranks - counted) * set.bytes
			counted = set.ranks
		}
	}
	return sum
}

// has reports whether one of the key's sets has at least as many ranks as want, and files that are at least as large.
func (f rankFiles) has(key rankKey, want rankSet) bool {
	return slices.ContainsFunc(f[key], func(set rankSet) bool { return set.ranks >= want.ranks && set.bytes >= want.bytes })
}

func (f rankFiles) add(key rankKey, set rankSet) {
	if !f.has(key, set) {
		f[key] = append(f[key], set)
	}
}

// shrink limits the recorded size of all files with a name, because they are removed and written again with the given
// size.
func (f rankFiles) shrink(name string, bytes uint64) {
	for key, sets := range f {
		if key.name != name {
			continue
		}
		for i := range sets {
			sets[i].bytes = min(sets[i].bytes, bytes)
		}
	}
}

// ranksOf returns the files of an MPI job.
func (m *maker) ranksOf(target string, step *Step, made *engine.Description) (rankKey, rankSet) {
	key, set := rankKey{name: made.Ranks.Name}, rankSet{ranks: made.Ranks.Count, bytes: made.Ranks.Bytes}
	if m.ownVolumes(target) {
		key.processes = step.Processes
	}
	return key, set
}

// missingRanks describes files that an MPI job would read although they are not laid out, or although it cannot verify
// them. It returns "" if there are none.
func (m *maker) missingRanks(target string, step *Step, made *engine.Description) string {
	data := m.dataset(target)
	key, set := m.ranksOf(target, step, made)
	if data.laidRanks.has(key, set) {
		if made.Signed == "" || made.Signed == data.signed[key.name] {
			return ""
		}
		return fmt.Sprintf("verify would report the data on target %s as wrong, because it was written without verify, "+
			"or with another dataPattern or transferSize (in a shared file, also blockSize, segments or number of ranks). "+
			"Put a phase with `prepare: {}` and the same workload before it", target)
	}
	why := "no earlier phase lays them out"
	remedy := "Put a phase with `prepare: {}` and the same workload before it"
	switch {
	case data.brokenBy != "":
		why = fmt.Sprintf("phase %s rewrites them and may leave them shorter", data.brokenBy)
		remedy += fmt.Sprintf(", or set useExistingFiles in the workload of %s", data.brokenBy)
	case len(data.laidRanks[key]) > 0:
		why = "earlier phases lay out fewer or smaller files"
		remedy += ", and set clients.processesPerClient to the maximum of all phases"
	}
	return fmt.Sprintf("the phase reads the files of %d ranks on target %s, but %s: reads of unwritten space do not reach the storage. %s",
		step.Clients*step.Processes, target, why, remedy)
}

// planRanks records which files an MPI job reserves or lays out, and how much space each client needs for them. As for
// fio, the files of all clients are reserved at once, because later steps may have more clients.
func (m *maker) planRanks(target string, step *Step, made *engine.Description) {
	data := m.dataset(target)
	all := *step
	all.Clients = m.plan.ClientsPerTarget
	if whole, err := m.demands.describe(step.Workloads[target], all.For(target)); err == nil {
		key, set := m.ranksOf(target, &all, &whole)
		before := data.reservedRanks.total(key)
		data.reservedRanks.add(key, set)
		clients := uint64(all.Clients) //nolint:gosec // It is positive.
		if added := data.reservedRanks.total(key) - before; added > 0 {
			step.NewBytes[target] += (added + clients - 1) / clients
		}
	}
	key, set := m.ranksOf(target, step, made)
	switch {
	case step.Purpose == Prepare:
		if made.Rewrites {
			data.laidRanks.shrink(key.name, set.bytes)
		}
		data.laidRanks.add(key, set)
		data.brokenBy, data.signed[key.name] = "", made.Signed
		return
	case made.Rewrites:
		// The job removes files before it writes them again. If the job is stopped in between, files are missing or
		// incomplete. It may also have removed files that were laid out for another number of ranks per client.
		for other := range data.laidRanks {
			if other.name == key.name {
				delete(data.laidRanks, other)
				data.brokenBy = step.Phase
			}
		}
	}
	if made.Writes && made.Signed != data.signed[key.name] {
		// The job may end before it has overwritten all data, so the files may contain data of several loads.
		data.signed[key.name] = ""
	}
}
