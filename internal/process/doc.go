// Package process starts tools so that none of them can outlive us, finds and ends what they left
// behind, and looks at how busy they are.
//
// A tool is more than one process: fio forks its jobs, MPI's daemons leave the process group and
// the session. Three nets catch them: the process group (Handle), the death signal of the parent
// (Handle), and, because an orphan is given to the nearest subreaper, the tree below ourselves
// (Subreaper, KillDescendants).
package process
