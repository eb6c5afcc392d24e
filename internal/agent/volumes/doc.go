// Package volumes prepares, checks and examines what a client's tools read and write: its own directory on each volume
// of the target, or a raw device. It holds the locks that keep other agents away, knows what is laid out, and removes
// the data at the end of the run. Package dataset does the work on the storage; this package decides what a step may
// do.
//
//	Open, OpenSpread   before the load: the mount is the planned one, space suffices, what is read exists
//	Files.Layout       whether the step finds its data already written
//	Files.Inspect      after the load: is the layout complete, were holes read, did direct I/O bypass the page cache
//	Set.Remove         at the end of the run
package volumes
