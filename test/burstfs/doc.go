// Package burstfs is storage whose truth is known: a FUSE file system that passes everything through to a
// directory, at the pace of a store with documented limits. What a benchmark says about it can be held
// against its parameters and against its own record, a line a second and
// bins of a hundredth.
//
// What is fast and slow about it is decided in package model; here it gets files, a clock and a mount.
// Scenarios, the stores it stands for, are in [Scenario].
//
// Tests call [Mount]; by hand it is
//
//	go run ./test/burstfs/cmd/burstfs --config FILE --backing DIR --truth FILE MOUNTPOINT
//
// Real fio is held against every scenario by make soak, in about ten minutes.
//
// A store may compress (model.Compression): what is written is really compressed, record by record, files show what
// they take in st_blocks, a bucket with countsStored counts that, and the record has it. The files behind are not
// compressed.
//
// It adds no limits but those of the machine, which must be above those of the scenario. It keeps nothing
// from the page cache of the directory behind it, so that memory, not a disk, serves it. Requests above
// 1 MiB come in pieces of 1 MiB, because the kernel cuts them.
//
// What is asked is answered, also when the one who asked was killed: as on a real store, a killed client ends
// once all that it has in flight is through.
//
// A process that has files of its own mount open must not start another process in that time: the new one
// closes its copies before its first instruction, the mount has to answer that, and the garbage collector
// may hold it up while it waits for the start. Tests that only start tools which use the mount are fine.
package burstfs
