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

// DiskSpd converts a command line of DiskSpd 2.x, which may begin with the program's name. Errors name the option and
// the remedy.
func DiskSpd(arguments []string, options Options) ([]Workload, error) {
	if err := checkArguments(arguments); err != nil {
		return nil, fmt.Errorf("read the command line of DiskSpd: %w", err)
	}
	line, err := readDiskspdLine(program(arguments, "diskspd"))
	if err != nil {
		return nil, fmt.Errorf("read the command line of DiskSpd: %w", err)
	}
	if err := line.span.finish(&line.target); err != nil {
		return nil, fmt.Errorf("read the DiskSpd options: %w", err)
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

// diskspdWriter builds a profile from the parsed options. The load is the same on all targets.
type diskspdWriter struct {
	span   *diskspdSpan
	target *diskspdTarget
	// path is the path of the first target. targets is the number of targets.
	path    string
	targets int64
	options *Options
	profile *v1alpha1.FioProfile
	notes   notes
	// bytes is the size of each target's dataset.
	bytes uint64
	// spread is the number of fio jobs that replace one thread of DiskSpd.
	spread int64
}

func (w *diskspdWriter) convert() (Workload, error) {
	if err := w.dataset(); err != nil {
		return Workload{}, err
	}
	w.profile.Options = map[string]v1alpha1.FioOptionValue{}
	w.profile.BlockSize = quantity(int64(w.target.block))         // #nosec G115 -- at most 1Gi
	w.profile.ReadPercent = new(int32(100 - w.target.writeRatio)) // #nosec G115 -- percent, 0 to 100
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
		return Workload{}, fmt.Errorf("a profile cannot express these DiskSpd options: %w", problems.ToAggregate())
	}
	w.notes = append(w.notes, w.span.extra...)
	result := Workload{Notes: w.notes, WarmUp: seconds(w.span.warmUp), Duration: seconds(w.span.duration)}
	result.Spec.Fio = w.profile
	return result, nil
}

func seconds(count int64) time.Duration { return time.Duration(count) * time.Second }

// given returns an option as the user wrote it, or a default if the user did not set the option. key is a key of
// diskspdSpan.given.
func (w *diskspdWriter) given(key, otherwise string) string {
	if text, ok := w.span.given[key]; ok {
		return text
	}
	return otherwise
}

// dataset computes how many bytes of each target the load uses, and sets the profile's datasetSize.
func (w *diskspdWriter) dataset() error {
	t := w.target
	size := t.size
	if size == 0 {
		size = t.limit
	}
	switch {
	case size == 0 && w.options.DatasetBytes <= 0:
		return fmt.Errorf("the command line has no size for %s: DiskSpd uses the size of the existing file. Specify it with --dataset-size or -c", shown(w.path))
	case size == 0:
		size = uint64(w.options.DatasetBytes)/uint64(w.targets) + t.base // #nosec G115 -- above 0
	}
	end := size
	if t.limit > 0 && t.limit < end {
		end = t.limit
	}
	if t.base >= end {
		return fmt.Errorf("%s is at or beyond the end of the target (%d bytes): lower -B, or use a larger target", w.given("B", "-B"), size)
	}
	w.bytes = end - t.base
	if t.base > 0 || end < size {
		option := strings.TrimSpace(w.given("B", "") + " " + w.given("f", ""))
		w.notes.differs(option, fmt.Sprintf("only bytes %d to %d of the target are used; the files of the profile contain only these %d bytes", t.base, end, w.bytes),
			"on disks whose speed depends on the position, measure other positions separately")
	}
	if t.size > 0 {
		w.notes.unneeded(w.given("c", "-c"), "the size becomes datasetSize; a prepare phase writes every byte, whereas DiskSpd with SeManageVolumePrivilege only sets the file length")
	}
	if whole := w.bytes / t.block * t.block; whole != w.bytes {
		if whole == 0 {
			return fmt.Errorf("the block size (%d bytes) exceeds the part of the target that is used (%d bytes): lower -b, or enlarge this part", t.block, w.bytes)
		}
		w.notes.unneeded(w.given("b", "-b"), fmt.Sprintf("the last %d bytes of a target do not fill a block, so the files omit them", w.bytes-whole))
		w.bytes = whole
	}
	if w.bytes > math.MaxInt64/uint64(w.targets) { // #nosec G115 -- at least 1
		return fmt.Errorf("the total size of the targets exceeds the maximum size of a dataset: lower -c")
	}
	w.profile.DatasetSize = *quantity(int64(w.bytes) * w.targets) // #nosec G115 -- checked
	return nil
}

// caching converts the option -S, which selects the caching mode.
func (w *diskspdWriter) caching() {
	t := w.target
	option := w.given("S", w.given("h", "no -S"))
	w.profile.Direct = new(t.direct() && !t.mapped)
	switch {
	case t.mapped:
		w.profile.IOEngine = v1alpha1.FioMmap
	case t.cache == 'r':
		w.notes.unneeded(option, "bypasses the client's cache but not the server's, as direct I/O does on a network file system")
	}
	if !t.direct() && !t.mapped {
		w.profile.Options["fadvise_hint"] = w.hint()
		w.notes.unneeded(option, "uses the page cache, as DiskSpd does: direct is false, so runs report a warning")
	} else if t.hints != "" {
		w.notes.unneeded(w.given("fh", "-f"), "hints apply only to a cache, but no cache is used")
	}
	if !t.writeThrough {
		return
	}
	switch {
	case !t.writes():
		w.notes.unneeded(option, "write-through applies only to writes, but the load writes nothing")
	case t.mapped:
		w.notes.differs(option, "DiskSpd writes mapped memory with non-temporal stores; fio uses plain stores", "")
		w.profile.Fsync = &v1alpha1.FioFsync{EveryWrites: new(int32(1))}
	default:
		w.profile.Options["sync"] = "dsync" // dsync is the equivalent of the Windows flag FILE_FLAG_WRITE_THROUGH
	}
}

// hint returns the value of fio's fadvise_hint for -fr and -fs. Without these options DiskSpd passes no hint to
// Windows, so hint returns "0", which means no hint.
func (w *diskspdWriter) hint() v1alpha1.FioOptionValue {
	random, sequential := strings.Contains(w.target.hints, "r"), strings.Contains(w.target.hints, "s")
	if strings.Contains(w.target.hints, "t") {
		w.notes.differs(w.given("fh", "-ft"), "Linux has no equivalent of Windows' attribute for temporary files, which keeps their data in memory", "")
	}
	switch {
	case random && sequential:
		w.notes.differs(w.given("fh", "-frs"), "the two hints contradict each other and Linux accepts only one, so no hint is set", "")
	case random:
		return "random"
	case sequential:
		return "sequential"
	}
	return "0"
}
