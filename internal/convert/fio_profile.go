package convert

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// fioWriter turns jobs that run at the same time into a profile.
type fioWriter struct {
	jobs    []*fioJob
	options *Options
	notes   notes
}

func (w *fioWriter) convert() (Workload, error) {
	var result Workload
	for _, j := range w.jobs {
		if err := w.sizes(j); err != nil {
			return result, fmt.Errorf("job %s: %w", shown(j.name), err)
		}
		w.queue(j)
		result.Duration, result.WarmUp = max(result.Duration, j.runtime), max(result.WarmUp, j.warmUp)
	}
	w.times()
	profile, typed := &v1alpha1.FioProfile{}, false
	if len(w.jobs) == 1 {
		profile, typed = w.typed(w.jobs[0])
	}
	if !typed {
		var err error
		if profile, err = w.jobFile(); err != nil {
			return result, err
		}
	}
	if problems := fio.Validate(field.NewPath("fio"), profile); len(problems) > 0 {
		return result, fmt.Errorf("a profile cannot express these jobs: %w", problems.ToAggregate())
	}
	result.Spec.Fio = profile
	for _, j := range w.jobs {
		for _, note := range j.notes {
			if !slices.Contains(w.notes, note) {
				w.notes = append(w.notes, note)
			}
		}
	}
	result.Notes = w.notes
	return result, nil
}

// sizes computes the size of a job's files.
func (w *fioWriter) sizes(j *fioJob) error {
	if j.filesize > 0 {
		high, size := bits.Mul64(j.filesize, j.files)
		if high != 0 {
			return fmt.Errorf("filesize is too large")
		}
		if j.size > 0 && j.size != size {
			j.notes.differs(fmt.Sprintf("size=%d", j.size),
				fmt.Sprintf("with filesize, size only limits how many bytes fio transfers; the files have %d bytes in all", size),
				"set a duration in the phase")
		}
		j.size = size
	}
	if j.size == 0 {
		if w.options.DatasetBytes <= 0 {
			return errNoSize
		}
		j.size = uint64(w.options.DatasetBytes) / uint64(len(w.jobs)) // #nosec G115 -- above 0
		if !j.shared {
			j.size /= max(j.jobs, 1)
		}
	}
	unit := j.files * max(j.block, 1)
	if whole := j.size / unit * unit; whole != j.size {
		if whole == 0 {
			return fmt.Errorf("size %d: none of the %d files can hold a block of %d bytes: raise size", j.size, j.files, j.block)
		}
		j.notes.unneeded(fmt.Sprintf("size=%d", j.size), fmt.Sprintf("the last %d bytes do not fill a block in each file, so the files omit them", j.size-whole))
		j.size = whole
	}
	if j.size > 1<<50 {
		return fmt.Errorf("size %d exceeds the maximum size of a dataset, 1Pi: lower it", j.size)
	}
	switch {
	case j.increment == 0:
	case j.shared && j.increment == j.size:
		// Each job has its own part of the file, and the parts are adjacent.
		j.notes.unneeded(fmt.Sprintf("offset_increment=%d", j.increment), "gives each job its own part of the file, as the profile does")
		if j.random() {
			j.shared, j.fileName = false, ""
		} else {
			j.size *= j.jobs
		}
	default:
		j.notes.differs(fmt.Sprintf("offset_increment=%d", j.increment), "parts that overlap or leave gaps are not supported; the increment is ignored", "")
	}
	return nil
}

// queue adds a note if the queue depth has no effect. If the I/O engine does not support a queue depth, it sets the
// depth to 1.
func (w *fioWriter) queue(j *fioJob) {
	switch {
	case j.depth > 1 && !j.asynchronous():
		j.notes.unneeded(fmt.Sprintf("iodepth=%d", j.depth), fmt.Sprintf("the engine %s does one operation at a time; iodepth has no effect in fio either", j.engine))
		j.depth = 1
	case j.depth > 1 && j.engine == "libaio" && !j.direct:
		j.notes.unneeded(fmt.Sprintf("iodepth=%d", j.depth), "without direct, libaio does one operation at a time; iodepth has no effect in fio either, and runs report a warning")
	}
}

func (w *fioWriter) times() {
	bound := false
	for _, j := range w.jobs {
		bound = bound || !j.timed
		if j.runtime > 0 {
			w.notes.elsewhere("runtime", "the phase sets the duration", "set steady.duration to "+Seconds(j.runtime))
		}
		if j.warmUp > 0 {
			w.notes.elsewhere("ramp_time", "the phase sets the warm-up", "set steady.warmUp to "+Seconds(j.warmUp))
		}
	}
	w.notes = slices.Compact(w.notes)
	if bound {
		w.notes.differs("no time_based", "fio ends after one pass over all bytes; a phase continues for its duration and starts over at the beginning of the files",
			"set a duration in the phase")
	}
}

// fioDistribution matches the random distributions that the field randomDistribution accepts.
var fioDistribution = regexp.MustCompile(`^(random|zipf:[0-9]+([.][0-9]+)?|pareto:0?[.][0-9]+|normal:[0-9]+([.][0-9]+)?|zoned:[0-9]+/[0-9]+(:[0-9]+/[0-9]+)*)$`)

// typed returns a profile that uses the API's own fields instead of a job file, or false if these fields cannot
// express the job.
func (w *fioWriter) typed(j *fioJob) (*v1alpha1.FioProfile, bool) {
	engine, known := fioTypedEngines[j.engine]
	if !known || j.block == 0 || j.block > 1<<30 || j.block < 512 {
		return nil, false
	}
	p := &v1alpha1.FioProfile{
		Pattern: v1alpha1.FioSequential, BlockSize: quantity(int64(j.block)), IOEngine: engine, Direct: new(j.direct), // #nosec G115 -- bounded
		Jobs: new(int32(j.jobs)), Options: map[string]v1alpha1.FioOptionValue{}, // #nosec G115 -- checked by its rule
	}
	if j.asynchronous() {
		p.QueueDepth = new(int32(j.depth)) // #nosec G115 -- checked by its rule
	}
	if j.random() {
		p.Pattern = v1alpha1.FioRandom
	}
	switch j.direction {
	case "read", "randread":
		p.ReadPercent = new(int32(100))
	case "write", "randwrite":
		p.ReadPercent = new(int32(0))
	case "rw", "readwrite", "randrw":
		p.ReadPercent = new(j.mix())
	default:
		return nil, false
	}
	sets := uint64(1)
	switch {
	case j.shared && j.jobs > 1:
		p.FileSharing = v1alpha1.FilesShared
	default:
		sets = j.jobs
	}
	if j.files > 1 {
		p.FilesPerJob = new(int32(j.files)) // #nosec G115 -- checked by its rule
	}
	if j.size > math.MaxInt64/max(sets, 1) {
		return nil, false
	}
	p.DatasetSize = *quantity(int64(j.size * sets)) // #nosec G115 -- checked
	before := len(j.notes)
	for _, one := range j.keep {
		if !typedOption(p, j, one) {
			j.notes = j.notes[:before]
			return nil, false
		}
	}
	if _, compresses := j.value("buffer_compress_percentage"); compresses && p.Compressibility.ChunkSize == nil {
		p.Compressibility.ChunkSize = quantity(512) // fio's default for buffer_compress_chunk
	}
	if len(p.Options) == 0 {
		p.Options = nil
	}
	if p.FileSharing == v1alpha1.FilesShared && p.Pattern == v1alpha1.FioSequential && j.increment == 0 {
		j.notes.differs(fmt.Sprintf("filename with numjobs=%d", j.jobs), "all jobs start at the first byte of the file and use the same blocks; here each job has its own part",
			"to reproduce that load, also measure one job with a higher queueDepth")
	}
	return p, len(p.Options) <= 64
}

// mix returns the percentage of reads.
func (j *fioJob) mix() int32 {
	number := func(name string) (int32, bool) {
		text, ok := j.value(name)
		value, err := strconv.ParseInt(text, 10, 32)
		return int32(value), ok && err == nil
	}
	if reads, ok := number("rwmixread"); ok {
		return reads
	}
	if writes, ok := number("rwmixwrite"); ok {
		return 100 - writes
	}
	return 50
}

// typedOption sets the profile's field for an option or, if there is none, adds the option to the profile's options. It
// returns false if the profile cannot express the option.
func typedOption(p *v1alpha1.FioProfile, j *fioJob, o fio.KnownOption) bool {
	number, err := strconv.ParseInt(o.Value, 10, 64)
	whole := err == nil
	switch o.Name {
	case "bs", "rwmixread", "rwmixwrite":
		return true
	case "rate", "rate_iops":
		return typedRate(p, j, o.Name, number, whole)
	case "fsync", "fdatasync", "end_fsync":
		return typedFlush(p, j, o, number)
	case "random_distribution":
		if o.Value == "random" || !j.random() {
			return true
		}
		p.RandomDistribution = o.Value
		return len(o.Value) <= 128 && fioDistribution.MatchString(o.Value)
	case "buffer_compress_percentage":
		if p.Compressibility == nil {
			p.Compressibility = &v1alpha1.Compressibility{}
		}
		p.Compressibility.Percent = int32(number) // #nosec G115 -- checked by its rule
	case "buffer_compress_chunk":
		if _, ok := j.value("buffer_compress_percentage"); !ok {
			j.notes.unneeded(o.Name, "has no effect without buffer_compress_percentage")
			return true
		}
		if p.Compressibility == nil {
			p.Compressibility = &v1alpha1.Compressibility{}
		}
		p.Compressibility.ChunkSize = quantity(number)
		return whole && number >= 512 && number <= 1<<30
	case "refill_buffers":
		p.RefillBuffers = new(o.Value == "1")
	default:
		p.Options[o.Name] = v1alpha1.FioOptionValue(o.Value)
		return len(o.Value) <= 256
	}
	return true
}

// typedRate sets the rate limit to the sum over the jobs. It returns false for a mixed load, because fio limits reads
// and writes separately, but the field limits both together.
func typedRate(p *v1alpha1.FioProfile, j *fioJob, name string, rate int64, whole bool) bool {
	jobs := int64(j.jobs) // #nosec G115 -- checked by its rule
	if !whole || *p.ReadPercent != 0 && *p.ReadPercent != 100 || rate > math.MaxInt64/jobs {
		return false
	}
	if rate == 0 {
		return true
	}
	if p.RateLimit == nil {
		p.RateLimit = &v1alpha1.FioRateLimit{}
	}
	if name == "rate" {
		p.RateLimit.BytesPerSecond = resource.NewQuantity(rate*jobs, resource.DecimalSI)
	} else {
		p.RateLimit.IOPS = new(rate * jobs)
	}
	return true
}

func typedFlush(p *v1alpha1.FioProfile, j *fioJob, o fio.KnownOption, number int64) bool {
	if number == 0 {
		return true
	}
	if *p.ReadPercent == 100 {
		j.notes.unneeded(o.Name+"="+o.Value, "the load writes no data, so there is nothing to flush")
		return true
	}
	if p.Fsync == nil {
		p.Fsync = &v1alpha1.FioFsync{}
	}
	if o.Name == "end_fsync" {
		p.Fsync.AtEnd = new(true)
		return true
	}
	if p.Fsync.EveryWrites != nil {
		return false // the job sets both fsync and fdatasync, which the field Fsync cannot express
	}
	p.Fsync.EveryWrites = new(int32(number)) // #nosec G115 -- checked by its rule
	if o.Name == "fdatasync" {
		p.Fsync.Data = new(true)
	}
	return true
}

// jobFile returns the jobs as a job file that the engine accepts.
func (w *fioWriter) jobFile() (*v1alpha1.FioProfile, error) {
	var text strings.Builder
	var total uint64
	names := map[string]bool{}
	shared := map[string]int{}
	for _, j := range w.jobs {
		fmt.Fprintf(&text, "[%s]\n", sectionName(j.name, names))
		size := j.size
		if j.shared && j.jobs > 1 {
			j.notes.differs(fmt.Sprintf("filename with numjobs=%d", j.jobs), "the jobs share their files, which jobFile does not support: each job gets its own files, and the total size of all files stays the same",
				"to share the files, use typed fields with fileSharing instead of jobFile")
			unit := j.files * max(j.block, 1)
			if size = size / j.jobs / unit * unit; size == 0 {
				return nil, fmt.Errorf("job %s: size %d is too small for separate files of its %d jobs: raise size", shown(j.name), j.size, j.jobs)
			}
		}
		if j.fileName != "" {
			shared[j.fileName]++
		}
		fmt.Fprintf(&text, "rw=%s\nioengine=%s\ndirect=%s\n", j.direction, j.engine, zeroOne(j.direct))
		fmt.Fprintf(&text, "size=%d\nnumjobs=%d\nnrfiles=%d\niodepth=%d\n", size, j.jobs, j.files, j.depth)
		for _, one := range j.keep {
			fmt.Fprintf(&text, "%s=%s\n", one.Name, one.Value)
		}
		high, bytes := bits.Mul64(size, j.jobs)
		if total += bytes; high != 0 || total > 1<<50 {
			return nil, fmt.Errorf("the total size of the files exceeds 1Pi: lower size or numjobs")
		}
	}
	for name, count := range shared {
		if count > 1 {
			w.notes.differs("filename="+name, fmt.Sprintf("%d jobs work on the same file; here each job has its own files", count), "")
		}
	}
	slices.SortStableFunc(w.notes, func(a, b Note) int { return strings.Compare(a.Option, b.Option) })
	return &v1alpha1.FioProfile{JobFile: text.String(), DatasetSize: *quantity(int64(total))}, nil // #nosec G115 -- bounded
}

func zeroOne(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// sectionName returns a name that the engine accepts and that no other section has.
func sectionName(name string, taken map[string]bool) string {
	clean := resourceName(name, "job")
	if strings.HasPrefix(clean, "global") {
		clean = "job-" + clean
	}
	return unique(clean, taken)
}
