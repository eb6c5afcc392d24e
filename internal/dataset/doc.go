// Package dataset is the only code that creates and deletes files on storage under test. A run's
// files live in one place, so that no path that a user, a profile or a tool names can make the
// project write or delete anything else:
//
//	<path>/                       the target, proven to be what the run was planned for
//	  .storagebench/
//	    <benchmark uid>/          owner.json, lock
//	      <dataset hash>/         owner.json, layout-<index>.json: what a client has laid out,
//	                              holder-<index>.json: which agent works in it
//	        client-<index>/       the working directory of the tool
//
// Directories are reached one component at a time by os.Root and never through a link or into
// another mount; a directory without our ownership file is nobody's to touch. The index of the
// client and never the name of its pod is in the path, so a replacement finds the files.
package dataset
