// Package convert turns existing command lines and job files of DiskSpd, fio, IOR and mdtest into profiles of the API.
// It has no side effects: it starts no process, and it reads the files that a command line names only through
// Options.ReadFile.
//
//	command line, job file
//	        |  parsed at least as strictly as the tool parses it
//	        v
//	   meaning of the load ----------->  Notes: options that have no equivalent, or that belong in the benchmark
//	        |
//	        v
//	   WorkloadProfile, which the engine's own Validate accepts
//
// Users compare the figures of a converted profile with the figures of the old tool, so no option may be dropped
// silently. Every option that the profile does not contain has a Note with the reason and the remedy. Information that
// the command line lacks, such as the size of a file on another machine, is never guessed: the user must specify it.
//
// The meaning of DiskSpd's options comes from its source (CmdLineParser, Common and IORequestGenerator of 2.2), not
// from its help, which is inaccurate in places. For example, DiskSpd refuses -w without a number, and -i sets the burst
// size of a target, which the target's threads share.
package convert
