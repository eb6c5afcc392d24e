// Package burstfs is a store with known behaviour: a FUSE file system that passes everything through to a directory, at
// the rate of a store with documented limits. The results of a benchmark can be compared with its parameters and with
// its own record, which has a line per second and bins of a hundredth of a second.
//
// Package model decides how fast a request is answered; this package adds files, a clock and a mount. [Scenario]
// returns the configurations that simulate real stores.
//
// Tests call [Mount]. To mount a store by hand:
//
//	go run ./test/burstfs/cmd/burstfs --config FILE --backing DIR --truth FILE MOUNTPOINT
//
// `make soak` runs real fio on every scenario and compares the rates, in about ten minutes.
//
// A store may compress (model.Compression): it really compresses the written data, record by record, shows the
// compressed size of files in st_blocks, counts it in buckets with countsStored, and records it. The backing files are
// not compressed.
//
// It has no other limits except those of the machine, which must be higher than those of the scenario. It uses the page
// cache for the backing directory, so that memory, not a disk, serves requests. The kernel splits requests larger than
// 1 MiB into pieces of 1 MiB.
//
// A request is completed even if its client was killed. As on a real store, a killed client ends only when all its
// outstanding requests have been answered.
//
// A process that serves a mount must not start another process while it has files of that mount open. The new process
// closes its copies of the descriptors before its first instruction, which the mount has to answer, but the mount may
// be blocked by the garbage collector, which waits for the process to start: a deadlock. Tests that only start tools
// that use the mount are not affected.
package burstfs
