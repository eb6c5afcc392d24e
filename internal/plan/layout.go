package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

// dataset is the data on a target after the steps planned so far.
type dataset struct {
	// laidOut holds the size, in bytes, of each file that earlier phases have written completely.
	laidOut map[string]uint64
	// reserved holds the maximum size of each file. A file can end up smaller, because a slow measured step may not write
	// all of it.
	reserved map[string]uint64
	// reservedFor, laidOutFor and readableBy hold the sets of files that were already reserved, laid out or proven
	// readable. These sets are not processed again, because processing many files takes long.
	reservedFor, laidOutFor, readableBy map[filesKey]bool
	// recorded holds the files that agents have recorded as laid out. A later layout keeps its files if all of them are
	// recorded with the same size and content. lastWriter is the load that last wrote to the files after their layout.
	recorded   map[string]recordedFile
	lastWriter filesKey
	// laidRanks and reservedRanks are the counterparts of laidOut and reserved for MPI jobs. brokenBy is the phase that
	// rewrote laid-out files and may have left them incomplete.
	laidRanks, reservedRanks rankFiles
	brokenBy                 string
	// signed holds the Description.Signed of the load that wrote the files of an MPI job, by rankKey.name. It is empty if
	// the files were written without verification, or by several loads with different values.
	signed map[string]string
	// declared contains the keys of the space reservations that workloads declare (engine.Description.Reserved) and
	// that are already included in NewBytes of a step.
	declared map[string]bool
	// unknown is true if a phase that lays out data could not be planned, or if the content of raw devices is
	// unknown.
	unknown bool
}

// recordedFile is the size of a file and an identifier of its content.
type recordedFile struct {
	bytes   uint64
	content string
}

// filesKey holds everything that determines the files of a load. All cells of a sweep share one key.
type filesKey struct {
	spec       *v1alpha1.Engine
	layoutJobs int32
}

func (m *maker) dataset(target string) *dataset {
	if m.datasets[target] == nil {
		m.datasets[target] = &dataset{
			laidOut: map[string]uint64{}, reserved: map[string]uint64{},
			reservedFor: map[filesKey]bool{}, laidOutFor: map[filesKey]bool{}, readableBy: map[filesKey]bool{},
			recorded: map[string]recordedFile{}, declared: map[string]bool{}, signed: map[string]string{},
			laidRanks: rankFiles{}, reservedRanks: rankFiles{},
		}
	}
	return m.datasets[target]
}

// readable reports whether a step reads only data that earlier phases have written. If not, it also adds a problem.
func (p *phaseMaker) readable(target string, step *Step, made *engine.Description) bool {
	data := p.dataset(target)
	if data.unknown || !made.NeedsFiles {
		return true
	}
	why := ""
	if made.Ranks.Name != "" {
		why = p.missingRanks(target, step, made)
	} else {
		why = p.missingFile(target, step, made)
	}
	if why != "" {
		p.addOnce(field.Invalid(p.path, step.Phase, why))
	}
	return why == ""
}

// missingFile describes the first file that a step would read although it is not laid out, or returns "" if there is
// none.
func (p *phaseMaker) missingFile(target string, step *Step, made *engine.Description) string {
	data, key := p.dataset(target), filesKey{p.loads[target].spec, step.Overrides.LayoutJobs}
	if data.readableBy[key] {
		return ""
	}
	first, bytes := "", uint64(0)
	for name, size := range made.Files {
		if data.laidOut[name] < size && (first == "" || name < first) {
			first, bytes = name, size
		}
	}
	if first != "" {
		laidOut := "no earlier phase lays it out"
		if data.laidOut[first] > 0 {
			laidOut = "earlier phases lay out only " + measure.FormatBinaryBytes(data.laidOut[first])
		}
		return fmt.Sprintf("the phase reads %s of %s per client on target %s, but %s: reads of unwritten space "+
			"do not reach the storage. Put a phase with `prepare: {}` and the same workload before it", measure.FormatBinaryBytes(bytes), first, target, laidOut)
	}
	data.readableBy[key] = true
	return ""
}

// planLayout records which files the step reserves or lays out on a target, and how much space it needs.
func (p *phaseMaker) planLayout(target string, step *Step) {
	one := p.loads[target]
	made, err := p.demands.describe(one.spec, step.For(target))
	if err != nil {
		return // the step cannot run: validateStep reports the error
	}
	for _, caution := range made.Cautions {
		p.warn(one.profile(), "%s", caution)
	}
	data := p.dataset(target)
	if reserved := made.Reserved; reserved.Bytes > 0 && !data.declared[reserved.Key] {
		data.declared[reserved.Key] = true
		step.NewBytes[target] += reserved.Bytes
	}
	switch {
	case made.Ranks.Name != "":
		p.planRanks(target, step, &made)
	case made.Files != nil:
		key := filesKey{one.spec, step.Overrides.LayoutJobs}
		data.planFiles(target, step, key, &made)
		if one.ReusesFiles {
			data.record(target, step, key, &made)
		}
	}
}

func (d *dataset) planFiles(target string, step *Step, key filesKey, made *engine.Description) {
	if !d.reservedFor[key] {
		for name, size := range made.Files {
			if size > d.reserved[name] {
				step.NewBytes[target] += size - d.reserved[name]
				d.reserved[name] = size
			}
		}
		d.reservedFor[key] = true
	}
	if step.Purpose == Prepare && !d.laidOutFor[key] {
		for name, size := range made.Files {
			d.laidOut[name] = max(d.laidOut[name], size)
		}
		d.laidOutFor[key] = true
	}
}

// record updates the record of laid-out files as the agents do, and notes whether a Prepare step can keep existing
// files instead of writing them again.
func (d *dataset) record(target string, step *Step, key filesKey, made *engine.Description) {
	layout := step.Purpose == Prepare
	if !layout && (d.lastWriter == key || !made.Writes && !made.Trims) {
		return
	}
	content, reused := engine.NameOf(made.Layer(target)), true
	for name, size := range made.Files {
		file := recordedFile{size, content}
		switch {
		case layout && d.recorded[name] != file:
			d.recorded[name], reused = file, false
		case !layout && (made.Trims || d.recorded[name].content != content):
			delete(d.recorded, name)
		}
	}
	switch {
	case !layout:
		d.lastWriter = key
	case reused:
		step.Reused[target] = true
	default:
		d.lastWriter = filesKey{}
	}
}
