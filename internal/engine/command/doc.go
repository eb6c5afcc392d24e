// Package command is the engine for the user's own programs. It validates profiles, expands the variables of command
// lines, interprets exit statuses, and selects a count if several sources count the same bytes.
//
// There is no tool output to parse. A program's reads and writes are counted from outside, by sources that see
// different kinds of I/O:
//
//	            files   mmap   async I/O   pipes, sockets   cached reads   others on the machine
//	Calls        yes     no       no            YES             YES               no
//	Storage      yes     yes      yes           no              no                no
//	ControlGroup yes     yes      yes           no              no                no (counts one container)
//	Mount        yes     yes      yes           no              no                YES
//
// YES in capitals marks I/O that should not be counted, because it is not the program's own storage I/O.
//
// Sources close to the storage are preferred, in the order Mount, ControlGroup, Storage, Calls. A source is used only
// if it is available and its counts exclude the I/O of other clients. If another available source differs by more than
// five percent, the result has a warning. docs/commands.md is the user documentation of these sources.
package command
