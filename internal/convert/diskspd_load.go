package convert

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// quantity returns a number of bytes as a quantity in the largest binary unit that represents it exactly, such as 8Gi.
func quantity(bytes int64) *resource.Quantity {
	return resource.NewQuantity(bytes, resource.BinarySI)
}

// threads converts -t and -F, which set the threads, and -o and -O, which set the outstanding operations.
//
//	-t: each target has its own threads. With one thread per target, each job has its own file. With more threads,
//	    the jobs share the files.
//	-F: each thread works on all targets.
func (w *diskspdWriter) threads() error {
	t, s := w.target, w.span
	jobs, depth, shared, files := t.threads*w.targets, t.requests, t.threads > 1, int64(1)
	if shared && w.targets > 1 {
		files = w.targets
		w.notes.differs(w.given("t", "-t"), fmt.Sprintf("each target has its own %d threads; here each of the %d jobs uses all %d files in turn", t.threads, jobs, files),
			"the load on each file is the same on average")
	}
	if s.threads > 0 {
		jobs, shared, files = s.threads, s.threads > 1 || w.targets > 1, w.targets
		depth = t.requests * w.targets
		if s.requests > 0 {
			depth = s.requests
		}
	} else if s.requests > 0 {
		w.notes.unneeded(w.given("O", "-O"), "has no effect without -F")
	}
	if t.interlocked && jobs > 1 {
		w.notes.unneeded(w.given("si", "-si"), fmt.Sprintf("%d threads share one sequential stream; here one job keeps their %d operations outstanding", jobs, jobs*depth))
		if w.targets > 1 && s.threads == 0 {
			jobs, depth, shared, files = w.targets, t.threads*t.requests, false, 1
		} else {
			depth, jobs, shared = jobs*depth, 1, w.targets > 1
		}
	}
	w.spread = 1
	switch {
	case t.mapped && depth > 1:
		w.notes.unneeded(w.given("o", "-o2, the default of -o"), "each thread copies mapped memory one block at a time")
		depth = 1
	case !t.direct() && !t.mapped && depth > 1 && t.randomRatio == 100:
		// If I/O goes through the page cache, libaio performs only one operation at a time. So each outstanding
		// operation becomes a job of its own.
		w.spread, jobs, depth, shared = depth, jobs*depth, 1, true
		files = w.targets
		w.profile.IOEngine = v1alpha1.FioPsync
		w.notes.unneeded(w.given("o", "-o2, the default of -o"), fmt.Sprintf("through the Linux page cache one job does one operation at a time, so %d jobs keep that many operations outstanding", jobs))
	case !t.direct() && !t.mapped && depth > 1:
		w.notes.differs(w.given("o", "-o2, the default of -o"), "through the Linux page cache libaio does one operation at a time, regardless of queueDepth",
			"use -S (direct), or ioEngine io_uring if the nodes allow it")
	}
	if jobs > 1024 || depth > 4096 || files > 10_000 {
		return fmt.Errorf("this results in %d jobs with %d outstanding operations each on %d files, but the limits are 1024 jobs per client, and 4096 operations and 10000 files per job: lower -t, -F or -o, and use more clients",
			jobs, depth, files)
	}
	w.profile.Jobs, w.profile.QueueDepth = new(int32(jobs)), new(int32(depth)) // #nosec G115 -- checked
	if files > 1 {
		w.profile.FilesPerJob = new(int32(files)) // #nosec G115 -- checked
	}
	if shared {
		w.profile.FileSharing = v1alpha1.FilesShared
	}
	return nil
}

// offsets converts -r, -s, -T and -p, which determine the offsets that the threads use.
func (w *diskspdWriter) offsets() {
	t := w.target
	w.profile.Pattern = v1alpha1.FioSequential
	if t.randomRatio > 0 {
		w.profile.Pattern = v1alpha1.FioRandom
		w.random()
		return
	}
	w.stride()
	jobs := int64(*w.profile.Jobs)
	shared := w.profile.FileSharing == v1alpha1.FilesShared && jobs > 1
	threads := uint64(jobs / max(int64(w.targets), 1)) // #nosec G115 -- positive
	if w.span.threads > 0 {
		threads = uint64(jobs) // #nosec G115 -- positive
	}
	switch {
	case !shared:
	case t.threadStride == 0:
		w.notes.differs(w.given("t", w.given("F", "-t")), "in DiskSpd, all threads access the same blocks in the same order, so a cache can serve every thread but the first; here, each job has its own part of the file",
			"to reproduce that load, also measure one job with a higher queueDepth")
	case t.threadStride*threads == w.bytes:
		w.notes.unneeded(w.given("T", "-T"), "spaces the threads evenly; here, the jobs' parts of the file are also spaced evenly")
	default:
		w.notes.differs(w.given("T", "-T"), fmt.Sprintf("threads start %d bytes apart and continue to the end of the file; here the file is divided evenly", t.threadStride), "")
	}
	if t.parallel {
		w.notes.differs(w.given("p", "-p"), "all outstanding operations of a thread use the same offset; here each operation uses the next offset", "")
	}
}

// stride converts -s, the distance between sequential operations.
func (w *diskspdWriter) stride() {
	t := w.target
	stride := t.alignment()
	switch {
	case stride == t.block:
	case stride > t.block:
		size := strconv.FormatUint(t.block, 10)
		w.profile.Options["zonemode"] = "strided"
		w.profile.Options["zonesize"] = v1alpha1.FioOptionValue(size)
		w.profile.Options["zonerange"] = v1alpha1.FioOptionValue(size)
		w.profile.Options["zoneskip"] = v1alpha1.FioOptionValue(strconv.FormatUint(stride-t.block, 10))
		if *w.profile.Jobs > 1 && w.profile.FileSharing == v1alpha1.FilesShared {
			w.notes.differs(w.given("s", "-s"), "with a stride, the jobs' parts of the file overlap", "use one job, or one file per job")
		}
	default:
		w.notes.differs(w.given("s", w.given("si", "-s")), fmt.Sprintf("operations of %d bytes start %d bytes apart and overlap; here they are contiguous", t.block, stride),
			"to compare both tools, remove the stride")
	}
}

// random converts -r, -rs and -rd, which set the alignment, the share and the distribution of random offsets.
func (w *diskspdWriter) random() {
	t := w.target
	w.profile.Options["norandommap"] = "1" // as in DiskSpd, an offset can repeat before every block has been accessed
	align := t.alignment()
	option := w.given("r", "-r")
	asked := fmt.Sprintf("%d after -r is an alignment of %d bytes, not a percentage; -r alone is 100 %% random", align, align)
	switch {
	case align == t.block:
	case t.direct() && align%512 != 0:
		w.notes.differs(option, asked+". Direct I/O requires offsets that are multiples of 512; here they are multiples of the block size",
			"if you only want random offsets, no change is needed")
	default:
		w.profile.Options["ba"] = v1alpha1.FioOptionValue(strconv.FormatUint(align, 10))
		if align <= 100 {
			w.notes.differs(option, asked+". The profile keeps the alignment, so operations cross block and page boundaries",
				"if you only want random offsets, remove the option ba")
		}
	}
	if t.randomRatio < 100 {
		w.profile.Options["percentage_random"] = v1alpha1.FioOptionValue(strconv.FormatInt(t.randomRatio, 10))
		if t.writes() && t.writeRatio < 100 {
			w.notes.differs(w.given("rs", "-rs"), "in DiskSpd a sequential run has only reads or only writes; here reads and writes are chosen independently for each operation", "")
		}
	}
	if len(t.ranges) > 0 {
		w.distribution()
	}
}

// distribution converts the distribution of -rd. It converts ranges in bytes to percentages of the target, because a
// profile supports only percentages.
func (w *diskspdWriter) distribution() {
	t := w.target
	parts := make([]string, 0, len(t.ranges))
	exact, gap := true, false
	var at, percentAt, operations uint64
	for _, one := range t.ranges {
		percent := one.size
		if t.absolute {
			end := at + one.size
			if one.size == 0 || end > w.bytes || end < at {
				end = w.bytes
			}
			if end == at {
				exact = false // drop a range that lies beyond the target, as DiskSpd does
				continue
			}
			at = end
			share := float64(end) * 100 / float64(w.bytes)
			rounded := uint64(math.Round(share))
			exact = exact && float64(rounded) == share
			percent, percentAt = rounded-percentAt, rounded
		}
		if percent == 0 {
			exact = false
			continue
		}
		gap = gap || one.percent == 0
		operations += one.percent
		parts = append(parts, fmt.Sprintf("%d/%d", one.percent, percent))
	}
	option := w.given("rd", "-rd")
	text := "zoned:" + strings.Join(parts, ":")
	switch {
	case operations != 100 || len(text) > 128:
		w.notes.differs(option, "its ranges cannot be expressed in whole percentages of the target; uniform offsets are used instead",
			"set randomDistribution manually, in percent")
		return
	case !exact:
		w.notes.differs(option, "its sizes are not whole percentages of the target and were rounded to "+text, "")
	}
	w.profile.RandomDistribution = text
}

// pace converts -g (rate limit), -i (operations per burst) and -j (pause between bursts).
func (w *diskspdWriter) pace() {
	t, s := w.target, w.span
	threads := max(t.threads*w.targets, 1)
	perFile := t.threads
	if s.threads > 0 {
		threads, perFile = s.threads*w.targets, s.threads // with -F, each thread has its own rate limit for each target
	}
	switch {
	case t.rateBytes > 0:
		w.profile.RateLimit = &v1alpha1.FioRateLimit{BytesPerSecond: resource.NewQuantity(t.rateBytes*1000*threads, resource.DecimalSI)}
	case t.rateIOPS > 0:
		w.profile.RateLimit = &v1alpha1.FioRateLimit{IOPS: new(t.rateIOPS * threads)}
	}
	if t.burst == 0 {
		return
	}
	if t.interlocked {
		perFile = 1 // with -si, a single fio job replaces all threads of a target
	}
	// DiskSpd divides a target's burst size among the threads of the target.
	blocks := t.burst / perFile / w.spread
	if blocks == 0 {
		blocks = 1
		w.notes.differs(w.given("i", "-i"), fmt.Sprintf("a burst of %d operations is smaller than the number of outstanding operations; in storagebench each job does one operation per burst", t.burst), "")
	}
	w.profile.Options["thinktime"] = v1alpha1.FioOptionValue(strconv.FormatInt(t.think*1000, 10))
	w.profile.Options["thinktime_blocks"] = v1alpha1.FioOptionValue(strconv.FormatInt(blocks, 10))
	if *w.profile.QueueDepth > 1 {
		w.notes.differs(w.given("j", "-j"), "fio waits for outstanding operations before it pauses; DiskSpd does not", "")
	}
}
