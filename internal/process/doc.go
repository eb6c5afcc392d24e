// Package process starts tools so that none of them can outlive us, finds and kills what they left behind, and
// observes how busy they are.
//
// A tool is more than one process: fio forks its jobs, MPI's daemons leave the process group and the session. Four
// nets catch them: the process group, the death signal of the parent, and a cookie in the environment (all in
// Handle); and, because an orphan is given to the nearest subreaper, the tree below ourselves (SetSubreaper,
// KillDescendants).
package process
