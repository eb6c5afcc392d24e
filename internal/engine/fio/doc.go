// Package fio is the engine for fio 3.30 and later: it writes fio's job files, reads its output, and turns its running
// totals into samples.
//
// # Rendering
//
// Render returns the text of a job file, which is fed to `fio -` (see Arguments) with the client's dataset directory as
// working directory. The text names files only relative to this directory. Files are named data.JOB.FILE in all kinds
// of steps, so a measured step uses the files that a prepare step wrote. The names differ with several volumes or raw
// devices (see spread). A user's own job file is parsed more strictly than fio parses it, checked option by option
// against an allow-list, and rendered anew; no byte of it is passed through unchecked.
//
// # Reading
//
// Stream finds the JSON objects in fio's standard output, skips the text around them, and decodes each object (Decode).
// Final computes a Result from the last object, the exit status and standard error. The figures count as a result only
// if all of the following conditions are met:
//
//	every figure is present, an integer where it must be, not negative, and given once
//	io_kbytes, bw_bytes and iops agree with the totals from which fio computed them
//	the bins of a latency add up to its N and yield the printed percentiles
//	nothing unreadable follows the last document, and the exit status is consistent with it
//
// # Sampling
//
// With --status-interval fio prints its totals repeatedly. Sampler turns them into measure.Sample values. The
// following diagram is based on stat.c and libfio.c of fio 3.33 and of fio's master branch of August 2026. Experiments
// with 3.33 confirmed it:
//
//	requested       waits for jobs' pending I/O            written
//	  |-----------------------------------------------------|
//	  runtime, job_runtime                                   timestamp_ms, total_ios, bins
//	  io_bytes (before 3.42)                                 io_bytes (3.42 and later)
//
// So before 3.42, if jobs delay a dump, its bytes are older than its timestamp: they were counted at the time of the
// first I/O plus the runtime. When ramp_time ends, each job resets its totals, except for its sync latency; during the
// warm-up fio records no latencies. In a dump that is requested before a job's reset and written after it, the bytes
// and the runtime belong neither to the warm-up nor to the measured part.
package fio
