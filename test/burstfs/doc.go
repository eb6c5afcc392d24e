// Package burstfs is a store with known behaviour: a FUSE file system that passes everything through to a directory, at
// the rate of a store with documented limits. The results of a benchmark can be compared with the store's parameters
// and with its own record, which has a line per second and bins of a hundredth of a second.
//
// Package model decides when a request is answered; this package adds files, a clock and a mount. [Scenario] returns
// the configurations that simulate real stores.
//
// Tests call [Mount]. To mount a store by hand:
//
//	go run ./test/burstfs/cmd/burstfs --config FILE --backing DIR --truth FILE MOUNTPOINT
//
// `make soak` runs real fio on every scenario and compares the rates, in about ten minutes.
//
// A store can compress (model.Compression). It then compresses the written data record by record. The compressed size
// is reported in st_blocks, counted by buckets with countsStored, and recorded. The backing files are not compressed.
//
// A store's only other limits are those of the machine, which must be higher than those of the scenario. The backing
// directory is accessed through the page cache, so that memory, not a disk, serves requests. The kernel splits requests
// larger than 1 MiB into pieces of 1 MiB.
//
// A request is completed even if its client was killed. As on a real store, a killed client ends only when all its
// outstanding requests have been answered.
//
// A process that serves a mount must not start another process while it has files of that mount open. Before its first
// instruction, the new process closes its copies of the descriptors, and the mount must answer that. The mount,
// however, may be blocked by the garbage collector, which waits for the process to start: a deadlock. Tests that only
// start tools that use the mount are not affected.
package burstfs
