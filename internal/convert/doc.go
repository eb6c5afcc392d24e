// Package convert turns existing command lines and job files of DiskSpd, fio, IOR and mdtest into profiles of the API.
// It is pure: it starts nothing, and reads the files that a command line names through a function.
//
//	command line, job file
//	        |  read as strictly as the tool does, or more
//	        v
//	   what it means  ----------------->  Notes: what has no equal, what belongs elsewhere
//	        |
//	        v
//	   WorkloadProfile, which the engine's own Validate accepts
//
// Figures measured with a converted profile are compared with those of the old tool, so nothing is lost silently. Every
// option that the profile does not hold is in a Note with the reason and the remedy. What cannot be known, such as the
// size of a file on another machine, must be given by the user and is never guessed.
//
// The meaning of DiskSpd's options comes from its source (CmdLineParser, Common and IORequestGenerator of 2.2) and not
// from its help, which differs in places: -w without a number is refused, and the burst of -i is shared by the threads
// of a target.
package convert
