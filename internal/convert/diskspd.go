package convert

import (
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// DiskSpd converts a command line of DiskSpd 2.x. The program's own name may stand in front. Errors name the option and the
// remedy.
func DiskSpd(arguments []string, options Options) ([]Workload, error) {
	if err := checkArguments(arguments); err != nil {
		return nil, fmt.Errorf("read the command line of DiskSpd: %w", err)
	}
	line, err := readDiskspdLine(program(arguments, "diskspd"))
	if err != nil {
		return nil, fmt.Errorf("read the command line of DiskSpd: %w", err)
	}
	if err := line.span.finish(&line.target); err != nil {
		return nil, fmt.Errorf("read what DiskSpd is to do: %w", err)
	}
	w := diskspdWriter{
		span: &line.span, target: &line.target, path: line.paths[0], targets: int64(len(line.paths)), options: &options, profile: &v1alpha1.FioProfile{},
	}
	converted, err := w.convert()
	if err != nil {
		return nil, err
	}
	converted.Name = options.name("diskspd")
	return []Workload{converted}, nil
}

// diskspdWriter turns what is done to targets, which are treated alike, into a profile.
type diskspdWriter struct {
	span   *diskspdSpan
	target *diskspdTarget
	// path of the first of so many targets.
	path    string
	targets int64
	options *Options
	profile *v1alpha1.FioProfile
	notes   notes
	// dataset of each target in bytes.
	bytes uint64
	// spread is how many jobs stand for one thread.
	spread int64
}

func (w *diskspdWriter) convert() (Workload, error) {
	if err := w.dataset(); err != nil {
		return Workload{}, err
	}
	w.profile.Options = map[string]v1alpha1.FioOptionValue{}
	w.profile.BlockSize = quantity(int64(w.target.block))             // #nosec G115 -- at most 1Gi
	w.profile.ReadPercent = pointer(int32(100 - w.target.writeRatio)) // #nosec G115 -- a percentage
	w.caching()
	if err := w.threads(); err != nil {
		return Workload{}, err
	}
	w.offsets()
	w.pace()
	w.content()
	w.times()
	w.machine()
	if len(w.profile.Options) == 0 {
		w.profile.Options = nil
	}
	if problems := fio.Validate(field.NewPath("fio"), w.profile); len(problems) > 0 {
		return Workload{}, fmt.Errorf("what DiskSpd was to do has no equal in a profile: %w", problems.ToAggregate())
	}
	w.notes = append(w.notes, w.span.extra...)
	result := Workload{Notes: w.notes, WarmUp: seconds(w.span.warmUp), Duration: seconds(w.span.duration)}
	result.Spec.Fio = w.profile
	return result, nil
}

func seconds(count int64) time.Duration { return time.Duration(count) * time.Second }

// given is an option as it was written.
func (w *diskspdWriter) given(key, otherwise string) string {
	if text, ok := w.span.given[key]; ok {
		return text
	}
	return otherwise
}

// dataset finds what is touched of each target.
func (w *diskspdWriter) dataset() error {
	t := w.target
	size := t.size
	if size == 0 {
		size = t.limit
	}
	switch {
	case size == 0 && w.options.DatasetBytes <= 0:
		return fmt.Errorf("the size of %s is not in the command line: DiskSpd takes what is there. Give it with --dataset-size, or with -c", shown(w.path))
	case size == 0:
		size = uint64(w.options.DatasetBytes)/uint64(w.targets) + t.base // #nosec G115 -- above 0
	}
	end := size
	if t.limit > 0 && t.limit < end {
		end = t.limit
	}
	if t.base >= end {
		return fmt.Errorf("%s begins beyond the end of the target of %d bytes", w.given("B", "-B"), size)
	}
	w.bytes = end - t.base
	if t.base > 0 || end < size {
		option := strings.TrimSpace(w.given("B", "") + " " + w.given("f", ""))
		w.notes.differs(option, fmt.Sprintf("only bytes %d to %d of the target are touched; files here hold just these %d bytes, from their begin on", t.base, end, w.bytes),
			"on disks whose speed depends on the place, measure the place apart")
	}
	if t.size > 0 {
		w.notes.unneeded(w.given("c", "-c"), "it is datasetSize; a phase prepare writes every byte first, where DiskSpd with the right to it only sets the length")
	}
	if whole := w.bytes / t.block * t.block; whole != w.bytes {
		if whole == 0 {
			return fmt.Errorf("the target has %d bytes and no block of %d fits: lower -b, or raise the size", w.bytes, t.block)
		}
		w.notes.unneeded(w.given("b", "-b"), fmt.Sprintf("the last %d bytes of a target are no whole block; the files are that much smaller", w.bytes-whole))
		w.bytes = whole
	}
	if w.bytes > math.MaxInt64/uint64(w.targets) { // #nosec G115 -- at least 1
		return fmt.Errorf("the targets are larger than any dataset: lower -c")
	}
	w.profile.DatasetSize = *quantity(int64(w.bytes) * w.targets) // #nosec G115 -- checked
	return nil
}

// caching reads -S.
func (w *diskspdWriter) caching() {
	t := w.target
	option := w.given("S", w.given("h", "no -S"))
	w.profile.Direct = pointer(t.direct() && !t.mapped)
	switch {
	case t.mapped:
		w.profile.IOEngine = v1alpha1.FioMmap
	case t.cache == 'r':
		w.notes.unneeded(option, "the cache of the client is bypassed and that of the server takes part, which is what direct I/O does on a network file system")
	}
	if !t.direct() && !t.mapped {
		w.profile.Options["fadvise_hint"] = w.hint()
		w.notes.unneeded(option, "the cache takes part, as there: direct is false, and a run warns of it")
	} else if t.hints != "" {
		w.notes.unneeded(w.given("fh", "-f"), "hints are for a cache, and there is none")
	}
	if !t.writeThrough {
		return
	}
	switch {
	case !t.writes():
		w.notes.unneeded(option, "write-through is for writes, and none are made")
	case t.mapped:
		w.notes.differs(option, "writes through mapped memory with non-temporal stores; fio writes to the mapping with plain ones", "")
		w.profile.Fsync = &v1alpha1.FioFsync{EveryWrites: pointer(int32(1))}
	default:
		w.profile.Options["sync"] = "dsync" // FILE_FLAG_WRITE_THROUGH
	}
}

// hint of -fr and -fs for the cache; without one Windows gets none.
func (w *diskspdWriter) hint() v1alpha1.FioOptionValue {
	random, sequential := strings.Contains(w.target.hints, "r"), strings.Contains(w.target.hints, "s")
	if strings.Contains(w.target.hints, "t") {
		w.notes.differs(w.given("fh", "-ft"), "a temporary file that Windows tries to keep in memory has no equal", "")
	}
	switch {
	case random && sequential:
		w.notes.differs(w.given("fh", "-frs"), "the two hints contradict each other, and Linux takes one", "")
	case random:
		return "random"
	case sequential:
		return "sequential"
	}
	return "0"
}
