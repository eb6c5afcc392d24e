// Package ior is the engine for IOR and mdtest, from 3.3.0 on, under MPI: it writes their arguments,
// reads what they print, and judges how they ended. mdtest comes with IOR, shares its options and its
// messages, and lives here too.
//
// # Rendering
//
// Arguments and MdtestArguments give the exact argument list of one step, for every rank the same. It
// names files relative to the working directory alone (FileName, MdtestDirectory). More of the tools' own
// options are read by an allow-list and written anew.
//
// How long a step goes on is IOR's to count, in whole seconds, and it knows three means:
//
//	-D N                  the stonewall: each write and each read of a repetition ends after N seconds
//	-O minTimeDuration=N  begins the file again until N seconds are over (4.0.0 and newer)
//	-T M                  no repetition begins after M minutes
//
// A step that is bound by time (steady, a step of a ramp, a cell of a sweep: Parameters.Duration) has -D of
// the profile's stonewall, or else of its whole time, and as many repetitions as fill it. A step of
// writes or reads alone has minTimeDuration of the same length, so that too small a file cannot end it
// early. One of both has not: IOR then stops each read after what the write had done, and with
// minTimeDuration would wait for the rest of the time without a single read, and count that. 3.3.0 does
// not know the option: its files must be large enough.
//
// A step that is bound by its work (Duration 0) is the profile's own: its repetitions of all its blocks,
// with -D only where stonewall says so. Limit becomes -T, rounded up to minutes. A burst drain is such a
// step, with so many repetitions that it is ended from outside, unless the profile has a number of its own.
// Prepare is one write of everything. mdtest knows no time: it is always bound by its work.
//
// # Reading
//
// Stream takes what IOR prints, line by line, as table, JSON or CSV, also with standard error and the
// prefixes of mpirun's --tag-output in it:
//
//	3.3.0   CSV has no rows at all, so Arguments asks for the table; JSON nests each repetition once more
//	4.0.0   CSV has a heading and rows, no version, no parameters and no end
//	4.1.0   the same
//
// JSON cannot be decoded as JSON: with -v, after warnings, after a stonewall and when it is killed it is
// none. It is read by its lines, one name each.
//
// A row counts when every field is what it should be and its bandwidth, rate and times fit together
// within what was rounded off: lines that two ranks wrote at once must not become a figure. The bytes of
// a repetition are those of the warning before its row, which IOR prints whenever they are not those of its
// parameters. Else they are just those, where they are known: the CSV has no segments, and who ran IOR tells
// them (Stream.Segments). Else they are the only multiple of whole blocks that fits, else a product
// (Repetition.BytesExact).
//
// Final and FinalMdtest judge a run by output, exit status, standard error and what was expected:
//
//	exit 0     3.3.0, also after an option that it does not know
//	exit 255   MPI_Abort, after an error of IOR's own
//	exit 1     SIGTERM to mpirun; rows that had been printed are whole and count
//	exit N     N words of data were wrong, modulo 256
//
// # What these figures are not
//
//   - IOR's latency up to 4.0.0 is the time of a rank over the transfers of one block, not of all its segments:
//     with 12,000 segments of one transfer it is the time of the whole repetition. 4.1.0 divides by all
//     transfers. It is not given here.
//   - The bandwidth until the stonewall is printed a rank from 4.0.0 on, and of all ranks in 3.3.0
//     (measured with both). Summary has that of all ranks.
//   - mdtest goes on when an operation fails, warns, and counts it as done. Such a run is a failure.
//   - mdtest's lines of each iteration (-V 1) are of rank 0. Only its summary is of all.
package ior
