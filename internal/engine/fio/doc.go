// Package fio is the engine for fio, from 3.30 on: it writes fio's job files, reads its
// output, and turns its running totals into samples.
//
// # Rendering
//
// Render gives the text of a job file that is fed to `fio -` (see Arguments) with the
// client's dataset directory as working directory. The text holds no path: files are named
// data.JOB.FILE, for every purpose, so that what prepare wrote is what is measured. A user's
// own job file is parsed more strictly than fio does, checked option by option against a list
// of allowed ones, and written anew; not one byte of it is passed through unread.
//
// # Reading
//
// Stream finds the JSON objects in fio's standard output, whatever is around them, and
// decodes each (Decode). Final makes a Result of the last one, the exit status and standard
// error. Only what can be proven is a result:
//
//	every number is there, an integer where it has to be, not negative, given once
//	io_kbytes, bw_bytes and iops agree with the totals they were computed from
//	the bins of a latency add up to its N and give the percentiles that are printed
//	nothing unreadable follows the last document, and the exit status goes with it
//
// # Sampling
//
// With --status-interval fio prints its totals again and again. Sampler turns them into
// measure.Sample. What stat.c and libfio.c of fio 3.33 and of 2026-08 do, and experiments
// with 3.33 confirm:
//
//	asked           waits for jobs inside an I/O           written
//	  |-----------------------------------------------------|
//	  runtime, job_runtime                                   timestamp_ms, total_ios, bins
//	  io_bytes (before 3.42)                                 io_bytes (3.42 and later)
//
// So the bytes of a late dump belong to an earlier instant than its timestamp: first I/O +
// runtime. When ramp_time ends each job sets its totals to zero, but not those of its sync
// latency; during the ramp no latency is recorded at all. A dump that is asked for before and
// written after a job's reset has the bytes and runtime of neither part.
package fio
