// Package dataset is the only code that creates and deletes files on storage under test. A run's files are in one
// place, so that no path from a user, a profile or a tool can make storagebench write or delete anything else:
//
//	<path>/                       the target: the directory that the run was planned for
//	  .storagebench/
//	    <benchmark uid>/          owner.json, lock
//	      <dataset hash>/         owner.json, layout-<index>.json: what a client has laid out,
//	                              holder-<index>.json: which agent works in it
//	        client-<index>/       the working directory of the tool
//
// It reaches directories one component at a time with os.Root, never through a link or into another mount, and never
// changes a directory that lacks its ownership file. The path contains the client's index and not the name of its pod,
// so that a replacement pod finds the files.
package dataset
