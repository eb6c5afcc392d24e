// Package convert turns the command lines and job files that people already have, of DiskSpd, fio,
// IOR and mdtest, into profiles of the API. It is pure: it starts nothing, and the files that a command
// line names come through a function.
//
//	command line, job file
//	        |  read as strictly as the tool does, or more
//	        v
//	   what it means  ----------------->  Notes: what has no equal, what belongs elsewhere
//	        |
//	        v
//	   WorkloadProfile, which the engine's own Validate accepts
//
// A figure that was measured with a converted profile is compared with one of the old tool. So the rule
// is: nothing is lost in silence. Every option that the profile does not hold is in a Note with the
// reason and what to do, and what cannot be known, such as the size of a file that exists on somebody
// else's machine, is asked for and not guessed.
//
// What DiskSpd's options mean was read in its own source (CmdLineParser, Common and IORequestGenerator
// of 2.2), not in its help, which differs in places: -w without a number is refused, and the burst of -i
// is shared by the threads of a target.
package convert
