package fio

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DeviceOffsetBytes is the offset at which the data on a raw device begins. The bytes before it are reserved for the
// mark that identifies the device's owner.
const DeviceOffsetBytes = 1 << 20

// deviceFile is the name of a raw device's region in Description.Files.
const deviceFile = "device"

// spread distributes the load over several volumes, or over raw devices. It uses the volumes like a stripe: each file
// becomes one file on every volume, and each job moves to the next volume with every operation, so that all volumes get
// the same number of operations from each job, at any queue depth. File N of a job is in a directory named N, which the
// caller of fio must provide on volume N modulo the number of volumes. The name of a raw device is just its number.
func (l *load) spread(path *field.Path, parameters *Parameters) field.ErrorList {
	volumes := max(parameters.Volumes, 1)
	if volumes == 1 && !parameters.Devices {
		return nil
	}
	var problems field.ErrorList
	files := 0
	for i := range l.sections {
		s := &l.sections[i]
		if s.diskless() {
			continue
		}
		problems = append(problems, s.unsuited(path, parameters.Devices)...)
		per := s.fileBytes / uint64(volumes)                                                                              // #nosec G115 -- at least 1
		whole := per*uint64(volumes) == s.fileBytes && per >= max(s.blockBytes, 1) && (!s.direct || per%sectorBytes == 0) // #nosec G115
		if whole && s.blockBytes > 0 && !parameters.overrides() {
			whole = per%s.blockBytes == 0
		}
		if !whole {
			unit := uint64(volumes) * max(s.blockBytes, sectorBytes) // #nosec G115 -- at least 1
			problems = append(problems, field.Invalid(path.Child("datasetSize"), s.fileBytes, fmt.Sprintf(
				"each file is spread over %d volumes, so its size of %d bytes must be a multiple of %d: change datasetSize", volumes, s.fileBytes, unit)))
			continue
		}
		s.fileBytes = per
		s.volumes, s.device = volumes, parameters.Devices
		if s.bytesPerJob > 0 {
			// Dividing each file among the volumes also divides each job's part of the file. That part must still contain at
			// least one block.
			s.bytesPerJob = s.bytesPerJob / uint64(volumes) // #nosec G115 -- at least 1
			if block := max(s.blockBytes, 1); s.bytesPerJob/block == 0 {
				problems = append(problems, field.Invalid(path.Child("datasetSize"), s.fileBytes, fmt.Sprintf(
					"is too small for %d jobs on %d volumes: increase it, or use fewer jobs", s.jobs, volumes)))
			} else {
				s.bytesPerJob = s.bytesPerJob / block * block
			}
		}
		if s.device {
			problems = append(problems, s.checkRegion(path)...)
			continue
		}
		s.files *= volumes
		if files += s.fileSets() * s.files; files > maxFiles {
			problems = append(problems, field.Forbidden(path, fmt.Sprintf("results in %d files per client on %d volumes, but the limit is %d: use fewer files or jobs", files, volumes, maxFiles)))
		}
	}
	if parameters.Devices {
		l.regions()
	}
	return problems
}

// unsuited returns an error for each option of the section that is not supported with several volumes or raw devices.
func (s *loadSection) unsuited(path *field.Path, devices bool) field.ErrorList {
	var problems field.ErrorList
	if s.sets("file_service_type") {
		problems = append(problems, field.Forbidden(path, fmt.Sprintf(
			"file_service_type is not supported with several volumes or raw devices, where jobs use their files in turn: remove it from section [%s]", s.name)))
	}
	if devices && !s.has("zonemode", "none") && s.sets("zonemode", "zonesize", "zonerange", "zoneskip") {
		problems = append(problems, field.Forbidden(path, fmt.Sprintf(
			"zonemode=strided is not supported on raw devices, because fio's zones continue beyond the dataset to the end of the device: "+
				"remove zonemode, zonesize, zonerange and zoneskip from section [%s], or use a volume with a file system", s.name)))
	}
	return problems
}

// checkRegion returns an error if operations may begin at offsets that are not multiples of their size, but a job's
// part of a raw device is too small for such operations.
func (s *loadSection) checkRegion(path *field.Path) field.ErrorList {
	most := s.largestBlock()
	if !s.uneven() || s.ownRegion() >= 2*most {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("datasetSize"), s.fileBytes, fmt.Sprintf(
		"is too small: each job uses %d bytes of each raw device, but needs %d for operations of up to %d bytes at varying offsets; increase it, or use fewer jobs",
		s.ownRegion(), 2*most, most))}
}

// regions assigns a region of the devices to each section that has its own data. Sections that share their data have
// the same prefix.
func (l *load) regions() {
	endOffset := map[string]uint64{}
	var order []string
	for i := range l.sections {
		s := &l.sections[i]
		if s.diskless() {
			continue
		}
		if _, known := endOffset[s.prefix]; !known {
			order = append(order, s.prefix)
		}
		endOffset[s.prefix] = max(endOffset[s.prefix], s.endOffset())
	}
	begin, next := map[string]uint64{}, uint64(DeviceOffsetBytes)
	for _, prefix := range order {
		begin[prefix] = next
		next += endOffset[prefix]
	}
	for i := range l.sections {
		l.sections[i].region = begin[l.sections[i].prefix]
	}
}

// jobRegion returns the number of bytes on each device that one job uses, or that all jobs use together if they share
// their data.
func (s *loadSection) jobRegion() uint64 { return s.fileBytes * uint64(s.files) } // #nosec G115 -- at least 1

// ownRegion returns the number of bytes on each device that one job uses.
func (s *loadSection) ownRegion() uint64 {
	if s.bytesPerJob > 0 {
		return s.bytesPerJob * uint64(s.files) // #nosec G115 -- at least 1
	}
	return s.jobRegion()
}

// uneven reports whether operations may begin at offsets that are not multiples of their size.
func (s *loadSection) uneven() bool {
	step := slices.ContainsFunc(s.settings, func(one setting) bool { return one.name == "rw" && strings.Contains(one.value, ":") })
	return s.blockBytes == 0 || step || s.sets("ba", "bs_is_seq_rand")
}

// deviceSize returns the value of fio's option size that keeps a job within its own region of each device. fio compares
// only the start of an operation with size. It compares the end of an operation with the end of the file, which is the
// end of the whole device.
func (s *loadSection) deviceSize() uint64 {
	own := s.ownRegion()
	if s.uneven() {
		return own - s.largestBlock() + 1
	}
	return own - own%s.blockBytes
}

// endOffset returns the offset of the section's end within its region, in bytes.
func (s *loadSection) endOffset() uint64 {
	if s.shared {
		return s.jobRegion()
	}
	return uint64(s.firstJob+s.fileSets()) * s.jobRegion() // #nosec G115 -- at least 1
}

// onDevices writes the settings that select the section's part of the devices.
func (w *writer) onDevices(s *loadSection, jobs int) {
	names := make([]string, s.volumes)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	w.set("filename", strings.Join(names, ":"))
	own, offset := s.ownRegion(), s.region
	if s.bytesPerJob > 0 || !s.shared {
		offset += own * uint64(s.firstJob) // #nosec G115 -- not negative
	}
	w.count("size", s.deviceSize()*uint64(s.volumes)) // #nosec G115 -- at least 1
	w.count("numjobs", uint64(jobs))                  // #nosec G115 -- at least 1
	w.count("offset", offset)
	if jobs > 1 && !s.shared {
		w.count("offset_increment", own)
	}
}

// inTurn makes each job change to its next file after every operation, if there are several volumes.
func (w *writer) inTurn(s *loadSection) {
	if s.volumes > 1 {
		w.set("file_service_type", "roundrobin:1")
	}
}

// VolumeOf splits a name of Description.Files into the index of the volume and the name of the file on it. For a raw
// device, the file name is a placeholder for its region.
func VolumeOf(name string, volumes int) (volume int, file string) {
	folder, file, found := strings.Cut(name, "/")
	number, err := strconv.Atoi(folder)
	if !found || err != nil {
		return 0, name
	}
	return number % max(volumes, 1), file
}
