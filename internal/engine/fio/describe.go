package fio

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// Describe describes the load that a valid profile generates in a step with the given parameters.
func Describe(profile *v1alpha1.FioProfile, parameters Parameters) (engine.Description, error) {
	what, problems := read(field.NewPath("fio"), profile, &parameters)
	if len(problems) > 0 {
		return engine.Description{}, fmt.Errorf("describe a fio profile: %w", problems.ToAggregate())
	}
	made := engine.Description{NoStorage: true, Cautions: what.cautions}
	unsynced, sequential := false, false
	for i := range what.sections {
		s := &what.sections[i]
		made.Reads = made.Reads || s.reads
		made.Writes = made.Writes || s.writes
		made.Trims = made.Trims || s.trims
		made.Random = made.Random || s.random()
		sequential = sequential || !s.random()
		made.Jobs += s.jobs
		made.MaxOutstanding += s.outstanding()
		if i == 0 {
			made.BlockBytes = s.blockBytes
		} else if made.BlockBytes != s.blockBytes {
			made.BlockBytes = 0
		}
		if s.diskless() {
			continue
		}
		made.NoStorage = false
		if s.direct {
			continue
		}
		made.Buffered = true
		if s.reads {
			made.Cached = engine.Cached{
				Why: "the reads are not direct, and the data on", Remedy: "set direct to true, or raise datasetSize",
			}
		}
		// The mmap engine writes to memory, so its writes are not synchronous even if the file is open for synchronous
		// writes.
		if s.writes && !s.syncs && !(s.synchronous() && s.engine != string(v1alpha1.FioMmap)) {
			made.Dirty = true
			unsynced = unsynced || !s.has("end_fsync", "1")
		}
	}
	if profile.JobFile != "" {
		made.LimitBytesPerSecond, made.LimitIOPS = what.limits()
	}
	made.Mixed = made.Random && sequential
	made.SyncsAtEnd = made.Dirty && !unsynced
	made.ClientBytes = what.bytes(false)
	used := load{sections: slices.Clone(what.sections)}
	for i := range used.sections {
		used.sections[i].layoutJobs = used.sections[i].jobs
	}
	made.UnusedBytes = made.ClientBytes - used.bytes(false)
	made.Files = func(yield func(string, uint64) bool) {
		// Parse the profile again instead of storing the parsed sections, which would make the description large.
		if what, problems := read(field.NewPath("fio"), profile, &parameters); len(problems) == 0 {
			what.files(yield)
		}
	}
	return made, nil
}

// files yields the name and the size of each file.
func (l *load) files(yield func(name string, bytes uint64) bool) {
	region, volumes := uint64(0), 0
	for i := range l.sections {
		s := &l.sections[i]
		switch {
		// A section has no files of its own if its I/O engine uses none, or if it shares the files of the first section.
		case s.diskless() || s.shared && i > 0:
		case s.device:
			region, volumes = max(region, s.region-DeviceOffsetBytes+s.endOffset()), s.volumes
		default:
			for set := range s.fileSets() {
				for number := range s.files {
					if !yield(s.file(set, number), s.fileBytes) {
						return
					}
				}
			}
		}
	}
	for volume := range volumes {
		if !yield(strconv.Itoa(volume)+"/"+deviceFile, region) {
			return
		}
	}
}
