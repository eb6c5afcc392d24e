package fio

import (
	"fmt"
	"slices"
	"strconv"
)

// load is what a profile means, whether it was written in typed fields or as a job file: its
// sections run at the same time.
type load struct {
	sections []loadSection
	cautions []string
}

// loadSection is a number of equal jobs.
type loadSection struct {
	name string
	jobs int
	// files of each job (of all jobs when shared), each of fileBytes.
	files     int
	fileBytes uint64
	// prefix of the names of files: PREFIX.JOB.FILE.
	prefix string
	// firstJob is added to the job's number in names of files. Sections with more than one
	// job have 0.
	firstJob int
	// layoutJobs is how many jobs' files are laid out, at least jobs.
	layoutJobs int
	shared     bool
	// part, when not 0, is the size of the part of each shared file that is one job's own.
	part uint64
	// volumes is over how many the files are spread, 0 for one. device says that they are raw devices, of which the
	// section's data begins at region.
	volumes int
	device  bool
	region  uint64

	engine string
	direct bool
	depth  int
	// blockBytes is the size of every operation, 0 when they differ.
	blockBytes uint64

	reads, writes, trims, syncs bool
	// settings make the load, in the order in which they are written.
	settings []setting
}

// diskless tells an engine that touches no file.
func (s *loadSection) diskless() bool { return s.engine == "null" }

// outstanding is how many operations the section keeps outstanding at most.
func (s *loadSection) outstanding() uint64 {
	depth := 1
	if ioEngines[s.engine] {
		depth = s.depth
	}
	return uint64(s.jobs) * uint64(depth) // #nosec G115 -- both are at least 1
}

// file gives the name of a file of one of the section's sets, counted from 0.
func (s *loadSection) file(set, number int) string {
	job := s.firstJob + set
	if s.shared {
		job = 0
	}
	name := s.prefix + "." + strconv.Itoa(job) + "." + strconv.Itoa(number)
	if s.volumes > 1 {
		name = strconv.Itoa(number) + "/" + name
	}
	return name
}

// fileFormat is filename_format for the section's jobs.
func (s *loadSection) fileFormat() string {
	if s.volumes > 1 {
		one := *s
		one.volumes = 0
		return "$filenum/" + one.fileFormat()
	}
	switch {
	case s.shared:
		return s.prefix + ".0.$filenum"
	case s.firstJob > 0 || s.jobs == 1:
		return fmt.Sprintf("%s.%d.$filenum", s.prefix, s.firstJob)
	}
	return s.prefix + ".$jobnum.$filenum"
}

// fileSets is how many jobs have files of their own.
func (s *loadSection) fileSets() int {
	if s.shared {
		return 1
	}
	return s.layoutJobs
}

// has reports whether a setting has a value.
func (s *loadSection) has(name, value string) bool {
	return slices.ContainsFunc(s.settings, func(one setting) bool { return one.name == name && one.value == value })
}
