package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// rankFiles are the files that jobs of MPI have on a target, over all clients. There can be a million of
// them, all alike, so that they are counted and not listed.
type rankFiles map[rankKey][]rankSet

// rankKey tells sets of files of other names or places apart.
type rankKey struct {
	// name is that of the first: a file for each rank, one for all, or mdtest's.
	name string
	// processes is set where each client has its own volume: which client has the file of a rank depends on it.
	processes int
}

// rankSet is files of the ranks from 0 on, each of so many bytes.
type rankSet struct {
	ranks, bytes uint64
}

// total bytes of files, each as large as the largest of its name.
func (f rankFiles) total(key rankKey) uint64 {
	sets := slices.Clone(f[key])
	slices.SortFunc(sets, func(a, b rankSet) int {
		switch {
		case a.bytes > b.bytes:
			return -1
		case a.bytes < b.bytes:
			return 1
		}
		return 0
	})
	var counted, sum uint64
	for _, set := range sets {
		if set.ranks > counted {
			sum += (set.ranks - counted) * set.bytes
			counted = set.ranks
		}
	}
	return sum
}

// has reports whether there are files of so many ranks with so many bytes each.
func (f rankFiles) has(key rankKey, want rankSet) bool {
	return slices.ContainsFunc(f[key], func(set rankSet) bool { return set.ranks >= want.ranks && set.bytes >= want.bytes })
}

func (f rankFiles) add(key rankKey, set rankSet) {
	if !f.has(key, set) {
		f[key] = append(f[key], set)
	}
}

// describeRanks tells of a job of MPI in a step.
func describeRanks(engine *v1alpha1.Engine, step *Step) (ior.Traits, error) {
	if engine.Mdtest != nil {
		traits, err := ior.DescribeMdtest(engine.Mdtest, step.Clients, step.Processes)
		if err != nil {
			return traits, fmt.Errorf("the files of the workload: %w", err)
		}
		return traits, nil
	}
	traits, err := ior.Describe(engine.IOR, step.Clients, step.Processes)
	if err != nil {
		return traits, fmt.Errorf("the files of the workload: %w", err)
	}
	return traits, nil
}

// ranksOf are the files of a job of MPI.
func (m *maker) ranksOf(engine *v1alpha1.Engine, target string, step *Step, traits *ior.Traits) (rankKey, rankSet) {
	key, set := rankKey{name: ior.FileName}, rankSet{ranks: 1, bytes: traits.DatasetBytes}
	switch {
	case engine.Mdtest != nil:
		key.name = ior.MdtestDirectory
	case engine.IOR.FilePerProcess == nil || *engine.IOR.FilePerProcess:
		key.name += ".0"
		set = rankSet{ranks: uint64(step.Clients) * uint64(step.Processes), bytes: traits.RankBytes} //nolint:gosec // Both are positive.
	}
	for i := range m.run.Targets {
		if m.run.Targets[i].Name == target && !Shared(&m.run.Targets[i]) {
			key.processes = step.Processes
		}
	}
	return key, set
}

// Versions of IOR that differ in what they take, the newest first. Which one the clients have is not known before
// they are there.
var Versions = []string{"", "3.3.0"}

// rendersRanks proves that the arguments can be made, for any version.
func (p *phaseMaker) rendersRanks(step *Step, one load) bool {
	var err error
	at := one.path.Child("ior")
	if one.engine.Mdtest != nil {
		at = one.path.Child("mdtest")
	}
	for _, version := range Versions {
		var failed error
		if one.engine.Mdtest != nil {
			_, failed = ior.MdtestArguments(one.engine.Mdtest, step.IORParameters(p.seed, version))
		} else {
			_, failed = ior.Arguments(one.engine.IOR, step.IORParameters(p.seed, version))
		}
		if failed == nil {
			err = nil
			break
		}
		err = cmp.Or(err, failed)
	}
	if err == nil {
		_, err = describeRanks(one.engine, step)
	}
	if err != nil {
		p.addOnce(field.Invalid(p.path, step.Phase, fmt.Sprintf("%s with %s: change the phase or the workload", err, at)))
		return false
	}
	return true
}

// readableRanks proves that a job of MPI reads nothing that nobody wrote.
func (p *phaseMaker) readableRanks(target string, step *Step, engine *v1alpha1.Engine) bool {
	traits, err := describeRanks(engine, step)
	data := p.dataset(target)
	if err != nil || data.unknown || !traits.NeedsFiles || step.Purpose == Prepare {
		return true // the first was told
	}
	key, set := p.ranksOf(engine, target, step, &traits)
	if data.laidRanks.has(key, set) {
		return true
	}
	why := "no earlier phase lays them out"
	remedy := "Put a phase with `prepare: {}` and the same workload before it"
	switch {
	case data.brokenBy != "":
		why = fmt.Sprintf("phase %s makes them anew and can leave them shorter", data.brokenBy)
		remedy += fmt.Sprintf(", or set useExistingFiles in the workload of %s", data.brokenBy)
	case len(data.laidRanks[key]) > 0:
		why = "earlier phases lay out fewer or smaller ones"
		remedy += ", and set clients.processesPerClient to the most that any phase raises it to"
	}
	p.addOnce(field.Invalid(p.path, step.Phase, fmt.Sprintf(
		"it reads the files of %d ranks on target %s, and %s: reads of bytes that nobody wrote measure nothing. %s",
		step.Clients*step.Processes, target, why, remedy)))
	return false
}

// layRanks follows what lies in the files of a job of MPI, and the space that each client takes for it.
func (m *maker) layRanks(enginePath *field.Path, target string, step *Step, engine *v1alpha1.Engine) {
	traits, err := describeRanks(engine, step)
	if err != nil {
		return // told already
	}
	at := enginePath.Child("ior")
	if engine.Mdtest != nil {
		at = enginePath.Child("mdtest")
	}
	for _, caution := range traits.Cautions {
		m.warn(at, "%s", caution)
	}
	data := m.dataset(target)
	key, set := m.ranksOf(engine, target, step, &traits)
	if traits.Writes || step.Purpose == Prepare || traits.NeedsFiles {
		before := data.reservedRanks.total(key)
		data.reservedRanks.add(key, set)
		clients := uint64(step.Clients) //nolint:gosec // It is positive.
		if added := data.reservedRanks.total(key) - before; added > 0 {
			step.NewBytes[target] += (added + clients - 1) / clients
		}
	}
	if engine.IOR == nil {
		return
	}
	switch {
	case step.Purpose == Prepare:
		data.laidRanks.add(key, set)
		data.brokenBy = ""
	case traits.Writes && !overwrites(engine.IOR) && len(data.laidRanks[key]) > 0:
		// IOR removes a file before it writes it again, and may be ended in the middle of that.
		delete(data.laidRanks, key)
		data.brokenBy = step.Phase
	}
}

// overwrites says that files which are there stay whole.
func overwrites(profile *v1alpha1.IORProfile) bool {
	return profile.UseExistingFiles != nil && *profile.UseExistingFiles && (profile.KeepFiles == nil || *profile.KeepFiles)
}

// rankLayer is what decides the files that a prepare phase of IOR lays out.
type rankLayer struct {
	Target, Pattern                   string
	Verify, FilePerProcess            bool
	TransferBytes, BlockBytes, Blocks int64
	Ranks                             int
}

func rankLayerOf(target string, profile *v1alpha1.IORProfile, ranks int) *rankLayer {
	layer := rankLayer{
		Target: target, Pattern: profile.DataPattern, Verify: profile.Verify != nil && *profile.Verify,
		FilePerProcess: profile.FilePerProcess == nil || *profile.FilePerProcess,
		TransferBytes:  profile.TransferSize.Value(), BlockBytes: profile.BlockSize.Value(), Blocks: 1, Ranks: ranks,
	}
	if profile.Segments != nil {
		layer.Blocks = *profile.Segments
	}
	return &layer
}
