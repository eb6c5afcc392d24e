package convert

import (
	"errors"
	"fmt"
)

// diskspdSpan holds the options that apply to all targets together. DiskSpd calls them a time span.
type diskspdSpan struct {
	// duration, warmUp and coolDown are in seconds. With a duration of 0, DiskSpd runs until it is stopped.
	duration, warmUp, coolDown int64
	// threads is the value of -F, the number of threads that all targets share. requests is the value of -O, the number
	// of outstanding operations per thread. Both are 0 if not given.
	threads, requests int64
	affinity          []diskspdCPU
	noAffinity        bool
	completion        bool
	randomWrites      bool
	// given holds each option as the user wrote it. The key is the option's letter, or rs, rd, si or fh (for the hints
	// -fr, -fs and -ft).
	given map[string]string
	// extra holds notes about options that are not converted.
	extra notes
}

type diskspdCPU struct{ group, number int64 }

// diskspdTarget is the load on one file or device.
type diskspdTarget struct {
	block uint64
	// size is the size in bytes that -c sets, or 0 if the load uses an existing file or device.
	size uint64
	// base and limit are the start and the end of the range that the load uses, in bytes. A limit of 0 means the end of
	// the target.
	base, limit uint64
	// align is the alignment of random offsets, or the stride of sequential ones; nil means the block size.
	align       *uint64
	randomRatio int64
	ranges      []diskspdRange
	absolute    bool
	interlocked bool
	parallel    bool
	// threadStride is the value of -T; 0 if not given.
	threadStride uint64
	threads      int64
	requests     int64
	writeRatio   int64
	// cache is the caching mode that -S sets: 'b', 'u' or 'r', or 0 if -S sets none of them.
	cache        byte
	writeThrough bool
	mapped       bool
	flush        string
	// Either rateBytes, in bytes per millisecond, or rateIOPS limits the rate of each thread on each target.
	rateBytes, rateIOPS int64
	burst, think        int64
	priority            int64
	largePages          bool
	hints               string
	zero                bool
	buffer              uint64
	bufferFile          string
}

// diskspdRange is a range of the target: its size, in percent or in bytes, and the percentage of the operations that
// access it.
type diskspdRange struct {
	percent, size uint64
}

const (
	diskspdBlock    = 64 << 10
	diskspdRequests = 2
	diskspdDuration = 10
	diskspdWarmUp   = 5
)

func newDiskspdSpan() diskspdSpan {
	return diskspdSpan{duration: diskspdDuration, warmUp: diskspdWarmUp, given: map[string]string{}}
}

func newDiskspdTarget() diskspdTarget {
	return diskspdTarget{block: diskspdBlock, requests: diskspdRequests, threads: 1}
}

func (t *diskspdTarget) alignment() uint64 {
	if t.align == nil {
		return t.block
	}
	return *t.align
}

func (t *diskspdTarget) direct() bool { return t.cache == 'u' || t.cache == 'r' }

func (t *diskspdTarget) writes() bool { return t.writeRatio > 0 }

// finish completes the distribution of random offsets as DiskSpd does. It returns an error for settings that DiskSpd
// rejects or that a profile does not support.
func (s *diskspdSpan) finish(t *diskspdTarget) error {
	var problems []error
	refuse := func(when bool, format string, arguments ...any) {
		if when {
			problems = append(problems, fmt.Errorf(format, arguments...))
		}
	}
	refuse(s.noAffinity && len(s.affinity) > 0, "-n and -a are mutually exclusive: keep one")
	several := s.threads > 1 || t.threads > 1
	shared := s.threads > 0 && s.requests > 0
	limited := t.rateBytes > 0 || t.rateIOPS > 0
	refuse(s.threads > 0 && t.threads > 1, "-F and -t are mutually exclusive: keep one")
	refuse(limited && s.completion, "-g cannot be used with -x: remove -x, which has no effect here")
	refuse((t.burst > 0) != (t.think > 0), "-i and -j must be used together: specify both or neither")
	refuse(shared && (limited || t.think > 0 || t.parallel), "-O cannot be used with -g, -j or -p: remove -O, or remove -g, -j and -p")
	refuse(t.randomRatio > 0 && t.threadStride > 0, "-T applies only to sequential operations: remove -T or -r")
	refuse(t.randomRatio > 0 && t.interlocked, "-si applies only to sequential operations: remove -si or -r")
	refuse(t.randomRatio > 0 && t.parallel, "-p applies only to sequential operations: remove -p or -r")
	refuse(t.randomRatio == 0 && len(t.ranges) > 0, "-rd requires random operations: add -r")
	refuse(t.interlocked && (t.threadStride > 0 || t.parallel), "-si cannot be used with -T or -p: remove -si, or remove -T and -p")
	refuse(t.threadStride > 0 && !several, "-T requires more than one thread: remove -T, or raise -t")
	refuse(t.mapped && s.completion, "-x cannot be used with -Sm: remove -x")
	refuse(t.mapped && t.cache == 'u', "-Sm uses the cache and cannot be used with -Su or -Sh: keep one")
	refuse(!t.mapped && t.flush != "", "-N sets how mapped memory is flushed and requires -Sm: add -Sm, or remove -N")
	refuse(t.limit > 0 && t.limit <= t.base, "-f must be greater than -B: raise -f, or lower -B")
	refuse(t.buffer > 0 && t.buffer < t.block, "the buffer of -Z (%d) is smaller than a block (%d): enlarge it, or lower -b", t.buffer, t.block)
	refuse(t.block < 512 || t.block > 1<<30, "-b is %d bytes: use a block size from 512 bytes to 1 GiB", t.block)
	refuse(t.block%512 != 0 && t.direct() && !t.mapped, "-b is %d bytes: for direct I/O it must be a multiple of 512", t.block)
	if err := t.finishRanges(); err != nil {
		problems = append(problems, err)
	}
	return all(problems)
}

func (t *diskspdTarget) finishRanges() error {
	if len(t.ranges) == 0 {
		return nil
	}
	var percent, size uint64
	for _, one := range t.ranges {
		percent += one.percent
		size += one.size
		if t.absolute && one.size < t.block {
			return fmt.Errorf("-rdabs: a range of %d bytes is smaller than a block of %d: enlarge it, or lower -b", one.size, t.block)
		}
	}
	switch {
	case percent > 100:
		return fmt.Errorf("-rd: the shares of operations add up to %d %%: lower them to at most 100 %%", percent)
	case !t.absolute && size > 100:
		return fmt.Errorf("-rdpct: the shares of the target add up to %d %%: lower them to at most 100 %%", size)
	case !t.absolute && size == 100 && percent < 100:
		return fmt.Errorf("-rdpct: the ranges cover the whole target, but only %d %% of the operations: raise the shares of operations to 100 %%", percent)
	case !t.absolute && size < 100 && percent == 100:
		return errors.New("-rdpct: the ranges receive all operations but do not cover the whole target: end with a range 0/N, where N is the rest of the target in percent")
	case percent < 100 && !t.absolute:
		t.ranges = append(t.ranges, diskspdRange{percent: 100 - percent, size: 100 - size})
	case percent < 100:
		t.ranges = append(t.ranges, diskspdRange{percent: 100 - percent}) // a size of 0 means the rest of the target
	}
	return nil
}
