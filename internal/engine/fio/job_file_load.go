package fio

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// jobFileLoad reads a user's job file. datasetBytes must equal the total size of its files.
func jobFileLoad(text string, datasetBytes uint64) (load, error) {
	sections, err := parseJobFile(text)
	if err != nil {
		return load{}, err
	}
	var result load
	var problems []error
	jobs, files := 0, 0
	for ordinal := range sections {
		read, err := readSection(&sections[ordinal], ordinal)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		jobs += read.jobs
		files += read.jobs * read.files
		result.sections = append(result.sections, read)
		if !read.direct && !read.diskless() {
			result.cautions = append(result.cautions, fmt.Sprintf("section [%s] does not set direct=1, so its I/O goes through the client's page cache", read.name))
		}
	}
	if jobs > 4*maxJobs {
		problems = append(problems, fmt.Errorf("the job file has %d jobs, but the limit is %d", jobs, 4*maxJobs))
	}
	if files > maxFiles {
		problems = append(problems, fmt.Errorf("the job file has %d files, but the limit is %d", files, maxFiles))
	}
	if len(problems) > 0 {
		return load{}, errors.Join(problems...)
	}
	if total := result.bytes(true); total != datasetBytes {
		return load{}, fmt.Errorf("the files of the job file add up to %d bytes per client, but datasetSize is %d: set datasetSize to %d",
			total, datasetBytes, total)
	}
	return result, nil
}

// sectionReader reads the options of a section as numbers or text, and stores the first error.
type sectionReader struct {
	from *section
	err  error
}

func (r *sectionReader) number(name string, otherwise uint64) uint64 {
	text, ok := r.from.get(name)
	if !ok {
		return otherwise
	}
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("section [%s]: %s: %w", r.from.name, name, err)
	}
	return number
}

func (r *sectionReader) text(name, otherwise string) string {
	if text, ok := r.from.get(name); ok {
		return text
	}
	return otherwise
}

// structural lists the options that readSection stores in separate fields of a loadSection, and not in its settings.
var structural = map[string]bool{
	"ioengine": true, "direct": true, "buffered": true, "rw": true, "numjobs": true, "nrfiles": true,
	"size": true, "filesize": true, "iodepth": true,
}

func readSection(from *section, ordinal int) (loadSection, error) {
	if err := from.checkExclusive(); err != nil {
		return loadSection{}, err
	}
	r := &sectionReader{from: from}
	s := loadSection{
		name:   from.name,
		prefix: "data." + strconv.Itoa(ordinal),
		jobs:   int(r.number("numjobs", 1)),  // #nosec G115 -- bounded by its rule
		files:  int(r.number("nrfiles", 1)),  // #nosec G115 -- bounded by its rule
		depth:  int(r.number("iodepth", 1)),  // #nosec G115 -- bounded by its rule
		engine: r.text("ioengine", "psync"),  // fio's default for ioengine is psync
		direct: r.text("direct", "0") == "1", // fio's default for direct is 0
	}
	if r.text("buffered", "1") == "0" {
		s.direct = true
	}
	s.layoutJobs = s.jobs
	direction, _, _ := strings.Cut(r.text("rw", "read"), ":")
	s.direction(direction, r)
	s.syncs = s.writes && (r.number("fsync", 0) > 0 || r.number("fdatasync", 0) > 0)
	s.blockBytes = 4096
	if text, ok := from.get("bs"); ok {
		// If bs lists several sizes, ParseUint fails and returns 0, which means that sizes vary.
		s.blockBytes, _ = strconv.ParseUint(text, 10, 64)
	}
	for _, several := range []string{"bsrange", "bssplit"} {
		if _, ok := from.get(several); ok {
			s.blockBytes = 0
		}
	}
	if err := errors.Join(r.err, s.readFileSizes(r), s.fits()); err != nil {
		return loadSection{}, err
	}
	s.settings = []setting{{name: "ioengine", value: s.engine}, {name: "direct", value: zeroOne(s.direct)}, {name: "rw", value: r.text("rw", "read")}}
	if ioEngines[s.engine] {
		s.settings = append(s.settings, setting{name: "iodepth", value: strconv.Itoa(s.depth)})
	}
	for _, one := range from.settings {
		if err := checkEngineOption(one.name, s.engine, one.place); err != nil {
			return loadSection{}, err
		}
		if !structural[one.name] {
			s.settings = append(s.settings, setting{name: one.name, value: one.value})
		}
	}
	if err := s.checkSettings(); err != nil {
		return loadSection{}, fmt.Errorf("section [%s]: %w", s.name, err)
	}
	return s, nil
}

// direction reads rw and the mix of reads and writes.
func (s *loadSection) direction(rw string, r *sectionReader) {
	switch strings.TrimPrefix(rw, "rand") {
	case "read":
		s.reads = true
	case "write":
		s.writes = true
	case "trim":
		s.trims = true
	case "trimwrite":
		s.trims, s.writes = true, true
	default:
		mix := r.number("rwmixread", 50)
		if _, ok := r.from.get("rwmixwrite"); ok {
			mix = 100 - r.number("rwmixwrite", 50)
		}
		s.reads, s.writes = mix > 0, mix < 100
	}
}

// readFileSizes computes the size of each file.
func (s *loadSection) readFileSizes(r *sectionReader) error {
	size, each := r.number("size", 0), r.number("filesize", 0)
	count := uint64(s.files) // #nosec G115 -- at least 1
	where := fmt.Sprintf("section [%s] (line %d)", s.name, r.from.line)
	switch {
	case each > 0:
		s.fileBytes = each
		if size > 0 && size != each*count {
			return fmt.Errorf("%s: size %d is not nrfiles x filesize (%d x %d): remove size", where, size, count, each)
		}
	case size == 0:
		return fmt.Errorf("%s has no size, but the layout requires it: set size to the bytes that each of the %d jobs uses", where, s.jobs)
	case size%count != 0:
		return fmt.Errorf("%s: size %d cannot be divided evenly into %d files: use %d", where, size, count, (size/count+1)*count)
	default:
		s.fileBytes = size / count
	}
	// Limit each section to the maximum of datasetSize, so that the sum over all sections cannot overflow.
	high, low := bits.Mul64(s.fileBytes, count*uint64(s.jobs)) // #nosec G115 -- at least 1
	if high != 0 || low > maxDatasetBytes {
		return fmt.Errorf("%s: its files take more than 1Pi per client: lower size, nrfiles or numjobs", where)
	}
	if s.blockBytes > 0 && s.fileBytes < s.blockBytes {
		return fmt.Errorf("%s: files of %d bytes are smaller than a block of %d bytes: use larger files, or lower bs", where, s.fileBytes, s.blockBytes)
	}
	return nil
}

// fits returns an error for options that do not work together.
func (s *loadSection) fits() error {
	switch {
	case s.trims && !s.diskless():
		return fmt.Errorf("section [%s]: trim works only on block devices, not on files", s.name)
	case s.engine == "mmap" && s.direct:
		return fmt.Errorf("section [%s]: mmap uses the page cache and cannot be direct: remove direct", s.name)
	case s.depth > 1 && !ioEngines[s.engine]:
		return fmt.Errorf("section [%s]: iodepth is %d, but the I/O engine %s does one operation at a time: set ioengine=libaio, or remove iodepth",
			s.name, s.depth, s.engine)
	case s.direct && !s.diskless() && s.blockBytes%sectorBytes != 0:
		return fmt.Errorf("section [%s]: bs %d is not a multiple of 512, which direct I/O requires", s.name, s.blockBytes)
	case s.direct && !s.diskless() && s.fileBytes%sectorBytes != 0:
		return fmt.Errorf("section [%s]: files of %d bytes are not a multiple of 512, which direct I/O requires: change size", s.name, s.fileBytes)
	}
	return nil
}

// bytes returns the total size of all files. If diskless is true, it also counts the configured size of jobs whose I/O
// engine accesses no files.
func (l *load) bytes(diskless bool) uint64 {
	var total uint64
	for i := range l.sections {
		s := &l.sections[i]
		if s.shared && i > 0 || s.diskless() && !diskless {
			// The section has no files, or shares the files of the first section, which are counted already.
			continue
		}
		volumes := 1
		if s.device {
			volumes = s.volumes
		}
		total += uint64(s.fileSets()*volumes) * uint64(s.files) * s.fileBytes // #nosec G115 -- at least 1
	}
	return total
}
