// Package ior is the engine for IOR and mdtest 3.3.0 and later, under MPI: it generates their arguments, reads their
// output, and evaluates their runs. mdtest comes with IOR and shares its options and messages, so this package covers
// both.
//
// # Rendering
//
// Arguments and MdtestArguments return the exact argument list of one step, which is the same for every rank. The list
// names files only relative to the working directory (FileName, MdtestDirectory). Other options that users may set are
// checked against an allow-list and rendered anew.
//
// IOR itself limits the duration of a step, in whole seconds or minutes, with three options:
//
//	-D N                  the stonewall: each write and each read of a repetition ends after N seconds
//	-O minTimeDuration=N  repeats the file from its start until N seconds have passed (4.0.0 and later)
//	-T M                  no repetition begins after M minutes
//
// A time-bound step (steady, a step of a ramp, a cell of a sweep: Parameters.Duration) divides its duration evenly into
// repetitions, and each repetition into its write and its read. -D is the duration of one write or one read. It is at
// most the profile's stonewall; without a stonewall, there is one repetition. A step that only writes or only reads
// sets minTimeDuration to the same time as -D, so a file that is too small cannot end the step early. A step that both
// writes and reads does not set minTimeDuration. IOR stops each read after as many bytes as were written, and with
// minTimeDuration it would wait for the remaining time without reading anything, and include this time in the rate. IOR
// 3.3.0 does not support minTimeDuration, so its files must be large enough.
//
// After a stonewall, ranks have written different amounts. IOR lets each rank read as many transfers as the rank wrote
// itself, and fails if the file that the rank reads is shorter. So if ranks read the files of other ranks
// (reorderTasks) after a stonewall, Arguments requests stoneWallingWearOut even if the profile does not: ranks then
// continue to write until all files are as long as the longest. This is unnecessary with existing files (-E), which
// never get shorter.
//
// A work-bound step (Duration 0) runs the profile's repetitions over all its blocks, with -D only if the profile sets
// stonewall. Limit becomes -T, rounded up to minutes. A burst drain is a work-bound step that storagebench stops.
// Unless the profile sets the number of repetitions, it requests more of them than the step can complete. Prepare
// writes everything once. mdtest has no option for the duration of a step: it is always work-bound.
//
// # Reading
//
// Stream reads IOR's output line by line, as table, JSON or CSV, even if it is mixed with standard error and has the
// prefixes of mpirun's --tag-output:
//
//	3.3.0   CSV has no rows, so Arguments requests the table; JSON nests each repetition one level deeper
//	4.0.0   CSV has a heading and rows, but no version, no parameters and no end mark
//	4.1.0   as in 4.0.0
//
// The JSON is read line by line, one name per line, because it is invalid with -v, after warnings, after a stonewall
// and when IOR is killed.
//
// A row is used only if every field is valid, and if its bandwidth, rate and times agree within rounding. So lines that
// two ranks wrote at the same time are not mistaken for figures. If a repetition moved a different number of bytes than
// the parameters imply, IOR prints the number in a warning before the row. Without a warning, the number follows from
// the parameters, if known. CSV does not contain the segments, so the caller provides them (Stream.Segments). If the
// parameters are unknown, the bytes are the multiple of whole blocks that fits the figures, if there is only one.
// Otherwise they are the product of bandwidth and time, and Repetition.BytesExact is false.
//
// Final and FinalMdtest evaluate a run by its output, exit status, standard error and expectation:
//
//	exit 0     success; 3.3.0 also exits with 0 after an unknown option
//	exit 255   MPI_Abort, after an error that IOR itself detected
//	exit 1     SIGTERM to mpirun; rows that had been printed are complete and valid
//	exit N     N words of data were wrong, modulo 256
//
// # Limits of these figures
//
//   - To compute the latency, IOR up to 4.0.0 divides the time of a rank by the number of transfers in one block
//     instead of in all segments. With 12,000 segments of one transfer, it prints the time of the whole repetition.
//     4.1.0 divides by the number of all transfers. Results do not contain this latency.
//   - IOR prints the bandwidth until the stonewall per rank from 4.0.0 on, but for all ranks in 3.3.0 (measured with
//     both). Summary always holds the bandwidth of all ranks.
//   - If an operation fails, mdtest warns, counts the operation as done and continues. FinalMdtest treats such a
//     run as failed.
//   - mdtest's lines per iteration (-V 1) cover only rank 0. Its summary covers all ranks.
package ior
