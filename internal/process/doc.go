// Package process starts tools so that none of them can outlive the calling process, finds and kills the processes that
// they leave behind, and observes their activity.
//
// A tool is more than one process: fio forks its jobs, and MPI's daemons leave the process group and the session. Four
// mechanisms find them all. Handle uses three: the process group, the parent-death signal, and a cookie in the
// environment. The fourth is the process tree below this process (SetSubreaper, KillDescendants): the kernel makes the
// nearest subreaper the parent of an orphan.
package process
