package fio

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// load is a parsed profile, with or without a job file. Its sections run at the same time.
type load struct {
	sections []loadSection
	cautions []string
}

// loadSection describes a group of identical jobs.
type loadSection struct {
	name string
	jobs int
	// files is the number of files of each job, or of all jobs together if shared is true. The size of each file is
	// fileBytes.
	files     int
	fileBytes uint64
	// prefix is the first part of file names: PREFIX.JOB.FILE.
	prefix string
	// firstJob is the number of the section's first job in file names. It can be greater than 0 only in a section with a
	// single job.
	firstJob int
	// layoutJobs is the number of jobs for which files are laid out. It can be greater than jobs, because other steps
	// may run more jobs.
	layoutJobs int
	shared     bool
	// bytesPerJob is the size of each job's part of each shared file, in bytes. It is 0 if all jobs use whole files.
	bytesPerJob uint64
	// volumes is the number of volumes that the files are spread over; 0 means one volume. device is true if the
	// volumes are raw devices. region is the offset on each device at which the section's data begins.
	volumes int
	device  bool
	region  uint64

	engine string
	direct bool
	depth  int
	// blockBytes is the size of each operation; 0 if sizes vary.
	blockBytes uint64

	reads, writes, trims, syncs bool
	// settings are the options that define the load, in the order in which they are written.
	settings []setting
}

// diskless reports whether the I/O engine accesses no files.
func (s *loadSection) diskless() bool { return s.engine == "null" }

// outstanding returns the maximum number of operations that the section keeps outstanding.
func (s *loadSection) outstanding() uint64 {
	depth := 1
	if ioEngines[s.engine] {
		depth = s.depth
	}
	return uint64(s.jobs) * uint64(depth) // #nosec G115 -- both are at least 1
}

// file returns the name of a file, given the index of its file set in the section and its index in the set. Both count
// from 0. Each job has a file set, or all jobs share one file set.
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

// fileFormat returns filename_format for the section's jobs.
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

// fileSets returns the number of file sets: 1 if the jobs share files, otherwise layoutJobs.
func (s *loadSection) fileSets() int {
	if s.shared {
		return 1
	}
	return s.layoutJobs
}

// has reports whether the section sets an option to the given value.
func (s *loadSection) has(name, value string) bool {
	return slices.ContainsFunc(s.settings, func(one setting) bool { return one.name == name && one.value == value })
}

// checkSettings returns an error for settings with which fio would not start or would not end. It also checks zones,
// because fio itself checks them only when it starts.
func (s *loadSection) checkSettings() error {
	strided, zoned := s.has("zonemode", "strided"), s.sets("zonesize") && !s.has("zonesize", "0")
	switch {
	case s.depth > 1 && s.has("io_submit_mode", "offload"):
		return errors.New("with io_submit_mode=offload and a queue depth above 1, fio does not end: remove io_submit_mode")
	case strided && !zoned:
		return errors.New("zonemode=strided needs a zone size: set zonesize, such as 64k")
	case zoned && !strided:
		return errors.New("zonesize applies only to zonemode=strided: set zonemode=strided, or remove zonesize")
	}
	return nil
}

// random reports whether the section accesses its files in random order.
func (s *loadSection) random() bool {
	return slices.ContainsFunc(s.settings, func(one setting) bool {
		return one.name == "rw" && strings.HasPrefix(one.value, "rand")
	})
}

// synchronous reports whether each write returns only after its data has been written to the storage.
func (s *loadSection) synchronous() bool {
	return s.sets("sync") && !s.has("sync", "0") && !s.has("sync", "none")
}

// sets reports whether the section sets one of the options.
func (s *loadSection) sets(names ...string) bool {
	return slices.ContainsFunc(s.settings, func(one setting) bool { return slices.Contains(names, one.name) })
}
