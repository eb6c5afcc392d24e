// Package command is the engine for programs of the user's: what of a profile is refused, what the words of
// a command line stand for, what an exit status means, and which of several counts of the same bytes is
// believed.
//
// There is no tool whose output could be parsed. What a program has read and written is counted from
// outside, by sources that see different things:
//
//	            files   mmap   async I/O   pipes, sockets   cached reads   others on the machine
//	Calls        yes     no       no            YES             YES               no
//	Storage      yes     yes      yes           no              no                no
//	ControlGroup yes     yes      yes           no              no                no (a container's own)
//	Mount        yes     yes      yes           no              no                YES
//
// The nearer to the storage, the better: Mount, ControlGroup, Storage, Calls is the order in which they are
// believed, as far as they are there and can be told from what others do. Where another one that there is
// differs by more than five percent, the result says so. docs/commands.md tells users of it.
package command
