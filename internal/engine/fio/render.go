package fio

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Limits on the duration and the warm-up of a step. A run lasts 7 days at most.
const (
	minDuration = time.Second
	maxDuration = 8 * 24 * time.Hour
)

// ErrNothingToPrepare is returned for a load without files, such as a load of the null engine.
var ErrNothingToPrepare = errors.New("the workload uses no files, so there is nothing to prepare")

// Validate returns all errors in a profile, each with its field and the remedy.
func Validate(path *field.Path, profile *v1alpha1.FioProfile) field.ErrorList {
	_, problems := read(path, profile, &Parameters{})
	return problems
}

// read applies the parameters of a step to a profile, and parses the result into a load.
func read(path *field.Path, profile *v1alpha1.FioProfile, parameters *Parameters) (load, field.ErrorList) {
	if profile == nil {
		return load{}, field.ErrorList{field.Required(path, "a fio profile is required")}
	}
	applied, err := parameters.apply(profile)
	switch {
	case err != nil && profile.JobFile == "":
		return load{}, field.ErrorList{field.Forbidden(path, err.Error())}
	case err != nil:
		return load{}, field.ErrorList{field.Invalid(path.Child("jobFile"), "", err.Error())}
	}
	if applied.JobFile == "" {
		if applied.RateLimit != nil && (parameters.Purpose == Prepare || parameters.Purpose == Precondition) {
			// A layout ignores the rate limit.
			unlimited := *applied
			unlimited.RateLimit = nil
			applied = &unlimited
		}
		layoutJobs := parameters.LayoutJobs
		if layoutJobs == 0 {
			layoutJobs = 1
			if profile.Jobs != nil {
				layoutJobs = *profile.Jobs
			}
		}
		result, problems := typedLoad(path, applied, int(layoutJobs), !parameters.overrides())
		if len(problems) == 0 {
			problems = result.spread(path, parameters)
		}
		return result, problems
	}
	problems := refuseBesideJobFile(path, applied)
	dataset, ok := whole(&applied.DatasetSize)
	if !ok || dataset <= 0 {
		problems = append(problems, field.Invalid(path.Child("datasetSize"), applied.DatasetSize.String(), "must be a whole number of bytes above 0"))
	}
	if len(problems) > 0 {
		return load{}, problems
	}
	result, err := jobFileLoad(applied.JobFile, uint64(dataset)) // #nosec G115 -- more than 0
	for _, one := range flatten(err) {
		problems = append(problems, field.Invalid(path.Child("jobFile"), field.OmitValueType{}, one.Error()))
	}
	if len(problems) == 0 {
		problems = result.spread(path, parameters)
	}
	return result, problems
}

// flatten splits joined errors into individual errors.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, flatten(one)...)
	}
	return all
}

// refuseBesideJobFile returns an error for each profile field that is set although the profile's job file replaces it.
func refuseBesideJobFile(path *field.Path, p *v1alpha1.FioProfile) field.ErrorList {
	var problems field.ErrorList
	for _, other := range []struct {
		name string
		set  bool
	}{
		{"pattern", p.Pattern != ""}, {"readPercent", p.ReadPercent != nil}, {"blockSize", p.BlockSize != nil},
		{"jobs", p.Jobs != nil}, {"queueDepth", p.QueueDepth != nil}, {"filesPerJob", p.FilesPerJob != nil},
		{"fileSharing", p.FileSharing != ""}, {"direct", p.Direct != nil}, {"ioEngine", p.IOEngine != ""},
		{"rateLimit", p.RateLimit != nil}, {"randomDistribution", p.RandomDistribution != ""},
		{"compressibility", p.Compressibility != nil}, {"compressLike", p.CompressLike != ""}, {"refillBuffers", p.RefillBuffers != nil},
		{"fsync", p.Fsync != nil}, {"options", len(p.Options) > 0},
	} {
		if other.set {
			problems = append(problems, field.Forbidden(path.Child(other.name), "not allowed with jobFile, which replaces all other fields except datasetSize: set this option in the job file"))
		}
	}
	return problems
}

// Render returns the job file of a step. It is deterministic, and names files only relative to fio's working directory.
func Render(profile *v1alpha1.FioProfile, parameters Parameters) (jobFile string, err error) {
	what, problems := read(field.NewPath("fio"), profile, &parameters)
	if len(problems) > 0 {
		return "", problems.ToAggregate()
	}
	var w writer
	w.global(&parameters)
	switch parameters.Purpose {
	case Measure:
		err = w.measure(&what, &parameters)
	case Prepare, Precondition:
		err = w.layout(&what, &parameters)
	default:
		err = fmt.Errorf("purpose %d is not Measure, Prepare or Precondition", parameters.Purpose)
	}
	if err != nil {
		return "", err
	}
	return w.text.String(), nil
}

type writer struct {
	text strings.Builder
}

// global writes the options that every job has.
func (w *writer) global(parameters *Parameters) {
	w.section("global")
	w.set("group_reporting", "1")
	w.set("lat_percentiles", "1")
	w.set("clat_percentiles", "1")
	w.set("fallocate", "none")
	// Disable disk statistics, which are not used. To find the disks, fio walks all of /sys/block at each start, and
	// reports an error if a disk is detached meanwhile.
	w.set("disk_util", "0")
	w.set("randseed", strconv.FormatUint(parameters.seed(), 10))
	w.set("exitall_on_error", "1")
}

func (w *writer) section(name string) { fmt.Fprintf(&w.text, "[%s]\n", name) }

func (w *writer) set(name, value string) { fmt.Fprintf(&w.text, "%s=%s\n", name, value) }

func (w *writer) count(name string, value uint64) { w.set(name, strconv.FormatUint(value, 10)) }

func (w *writer) measure(what *load, parameters *Parameters) error {
	if parameters.Duration < minDuration || parameters.Duration > maxDuration {
		return fmt.Errorf("duration %v: must be from %v to %v", parameters.Duration, minDuration, maxDuration)
	}
	if parameters.WarmUp < 0 || parameters.WarmUp > maxDuration {
		return fmt.Errorf("warmUp %v: must be from 0 to %v", parameters.WarmUp, maxDuration)
	}
	if parameters.WarmUp >= parameters.Duration && what.limited() {
		// If the warm-up is not shorter than runtime, fio would end a rate-limited load during the warm-up: its function
		// rate_ddir (io_u.c) compares the option runtime with the time since the start of the warm-up, not since its end.
		return fmt.Errorf("warmUp %v must be shorter than duration %v, because otherwise a rate-limited load would end during the warm-up",
			parameters.WarmUp, parameters.Duration)
	}
	w.set("time_based", "1")
	w.set("runtime", milliseconds(parameters.Duration))
	if parameters.WarmUp > 0 {
		w.set("ramp_time", milliseconds(parameters.WarmUp))
	}
	for i := range what.sections {
		s := &what.sections[i]
		w.files(s, s.jobs)
		w.inTurn(s)
		if s.reads && !s.diskless() {
			// If a file is missing, the load must fail. By default, fio would write the file first.
			w.set("allow_file_create", "0")
		}
		for _, one := range s.settings {
			w.set(one.name, one.value)
		}
	}
	return nil
}

// milliseconds formats a time for fio, rounded up.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10) + "ms"
}

// limited reports whether the load has a rate limit.
func (l *load) limited() bool {
	return slices.ContainsFunc(l.sections, func(s loadSection) bool {
		return slices.ContainsFunc(s.settings, func(one setting) bool { return one.name == "rate" || one.name == "rate_iops" })
	})
}

// files writes the beginning of a section: its name and the options that select its files.
func (w *writer) files(s *loadSection, jobs int) {
	named := *s
	named.jobs = jobs
	w.section(s.name)
	if s.device {
		w.onDevices(s, jobs)
		return
	}
	w.set("filename_format", named.fileFormat())
	size := s.fileBytes
	if s.bytesPerJob > 0 {
		size = s.bytesPerJob
	}
	count := uint64(s.files) // #nosec G115 -- at least 1
	w.count("size", size*count)
	w.count("nrfiles", count)
	w.count("numjobs", uint64(jobs)) // #nosec G115 -- at least 1
	if s.bytesPerJob > 0 {
		w.count("offset", s.bytesPerJob*uint64(s.firstJob)) // #nosec G115 -- not negative
	}
}

// contentSettings are the options that determine the content of the files, and which processors and memory the jobs
// use. A layout sets them too.
var contentSettings = []string{
	"buffer_compress_percentage", "buffer_compress_chunk", "refill_buffers", "zero_buffers", "scramble_buffers",
	"buffer_pattern", "dedupe_percentage", "dedupe_mode", "dedupe_working_set_percentage", "dedupe_global",
	"openfiles", "thread", "cpus_allowed", "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy", "iomem",
}

// blockSettings are the options that determine the size of operations. A precondition sets them too. The list omits ba,
// because with ba fio uses no random map, so random writes would miss many blocks.
var blockSettings = []string{"bs", "bsrange", "bssplit", "bs_unaligned"}

// A layout writes large blocks, and each job keeps several of them outstanding. layoutMemoryBytes limits the
// outstanding bytes of all jobs of a client. A precondition uses the profile's block size, so even one block per job
// may exceed this limit.
const (
	layoutDepth       = 16
	layoutBlockBytes  = 1 << 20
	layoutMemoryBytes = 128 << 20
)

// layoutQueue returns the queue depth of a layout, given the total number of jobs and the block size in bytes.
func layoutQueue(jobs, block uint64) uint64 {
	return min(layoutDepth, max(1, layoutMemoryBytes/(jobs*block)))
}

// layout writes the sections of a prepare step, whose jobs write all files, or of a precondition step, whose jobs
// overwrite all files.
func (w *writer) layout(what *load, parameters *Parameters) error {
	if parameters.Duration != 0 || parameters.WarmUp != 0 {
		return errors.New("a layout ends when all data is written: duration and warmUp must be 0")
	}
	sections := what.laidOut(parameters.Purpose)
	if len(sections) == 0 {
		return ErrNothingToPrepare
	}
	w.set("end_fsync", "1")
	for i := range sections {
		s := &sections[i]
		w.files(s, s.jobs)
		w.set("ioengine", s.engine)
		w.set("direct", zeroOne(s.direct))
		copied := contentSettings
		if parameters.Purpose == Precondition {
			w.set("rw", s.overwrite())
			w.count("loops", uint64(max(parameters.Passes, 1))) // #nosec G115 -- at least 1
			copied = slices.Concat(contentSettings, blockSettings)
		} else {
			if s.direct && s.fileBytes%sectorBytes != 0 {
				return fmt.Errorf("files of %d bytes are not a multiple of 512, which direct I/O requires: "+
					"change datasetSize or the number of jobs, or set direct to false", s.fileBytes)
			}
			w.set("rw", "write")
			w.count("bs", s.blockBytes)
			if s.files > 1 && s.volumes < 2 {
				w.set("file_service_type", "sequential")
			}
		}
		w.inTurn(s)
		if ioEngines[s.engine] {
			w.count("iodepth", uint64(s.depth)) // #nosec G115 -- at least 1
		}
		for _, one := range s.settings {
			if slices.Contains(copied, one.name) {
				w.set(one.name, one.value)
			}
		}
	}
	return nil
}

// laidOut converts the load's sections to the sections of a layout. Each file belongs to exactly one of the returned
// sections. laidOut replaces the number of jobs, the queue depth and, if necessary, the I/O engine. For a prepare step,
// it also replaces the block size.
func (l *load) laidOut(purpose Purpose) []loadSection {
	var all []loadSection
	jobs := uint64(0)
	for i, s := range l.sections {
		// Sections that share files use the files of the first section.
		if s.diskless() || s.shared && i > 0 {
			continue
		}
		if !ioEngines[s.engine] {
			s.engine = "psync" // The I/O engines mmap and splice cannot create files.
		}
		s.jobs, s.bytesPerJob = s.fileSets(), 0
		jobs += uint64(s.jobs) // #nosec G115 -- at least 1
		all = append(all, s)
	}
	for i := range all {
		s := &all[i]
		block := s.largestBlock()
		if purpose == Prepare {
			block = s.layoutBlock(jobs)
			s.blockBytes = block
			s.settings = slices.DeleteFunc(slices.Clone(s.settings), func(one setting) bool { return !slices.Contains(contentSettings, one.name) })
		}
		s.depth = int(layoutQueue(jobs, block)) // #nosec G115 -- at most layoutDepth
	}
	return all
}

// overwritten returns the minimum number of bytes that one pass of a precondition writes. fio overwrites a file, or a
// job's part of a device, only up to the end of the last whole block. If blocks vary in size, fio writes at least half
// of the file or part, which is never smaller than a block.
func (l *load) overwritten() uint64 {
	var sum uint64
	for _, s := range l.laidOut(Precondition) {
		parts, bytes := uint64(s.jobs)*uint64(s.files), s.fileBytes // #nosec G115 -- at least 1
		if s.device {
			parts, bytes = uint64(s.jobs)*uint64(s.volumes), s.deviceSize() // #nosec G115 -- at least 1
		}
		if s.blockBytes > 0 {
			bytes -= bytes % s.blockBytes
		} else {
			bytes /= 2
		}
		sum += parts * bytes
	}
	return sum
}

// largestBlock returns the size in bytes of the largest operation.
func (s *loadSection) largestBlock() uint64 {
	largest := max(s.blockBytes, 1)
	for _, one := range s.settings {
		if !slices.Contains([]string{"bs", "bsrange", "bssplit"}, one.name) {
			continue
		}
		for size := range strings.FieldsFuncSeq(one.value, func(r rune) bool { return strings.ContainsRune(",:-", r) }) {
			size, _, _ = strings.Cut(size, "/")
			if bytes, err := parseSize(size); err == nil {
				largest = max(largest, bytes)
			}
		}
	}
	return largest
}

// overwrite returns the value of rw with which fio overwrites the section's files: randwrite if the section accesses
// them at random, otherwise write.
func (s *loadSection) overwrite() string {
	if s.random() {
		return "randwrite"
	}
	return "write"
}

// layoutBlock returns the largest block size that divides the size of a file evenly, because fio does not write the
// remainder after the last whole block. The block size is at most 1 MiB. With more than 128 jobs it is smaller, so that
// one block per job does not exceed layoutMemoryBytes.
func (s *loadSection) layoutBlock(jobs uint64) uint64 {
	largest := min(layoutBlockBytes, layoutMemoryBytes/jobs)
	step := uint64(1)
	if s.fileBytes%sectorBytes == 0 {
		step = sectorBytes
	}
	for block := min(largest, s.fileBytes) / step * step; block > step; block -= step {
		if s.fileBytes%block == 0 {
			return block
		}
	}
	return step
}
