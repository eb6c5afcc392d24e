// Package volumes prepares, checks and examines what a client's tools read and write: its own directory on each volume
// of the target, or a raw device. It holds the locks that keep other agents away, keeps track of the data that is laid
// out, and removes the data at the end of the run. Package dataset does the work on the storage; this package decides
// what a step may do.
//
//	Open, OpenSpread   before the load: check the mount and the free space, and that the files to read exist
//	Files.Layout       check whether the step's data already exists
//	Files.Inspect      after the load: check for an incomplete layout, reads of holes, and use of the page cache
//	Set.Remove         at the end of the run: remove the data
package volumes
