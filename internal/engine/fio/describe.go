package fio

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Traits are what a load does, for those who have to plan and judge it.
type Traits struct {
	// Reads, Writes and Trims tell the operations that occur; Syncs that writes are flushed
	// during the load.
	Reads, Writes, Trims, Syncs bool
	// SyncsAtEnd: every job that writes flushes its files when it ends.
	SyncsAtEnd bool
	// Buffered: at least one job goes through the page cache.
	Buffered bool
	// NoStorage: no job touches a file (the null engine).
	NoStorage bool
	// DatasetBytes of each client, over all files.
	DatasetBytes uint64
	// FileSizes are the files of each client by name, after a prepare, with their bytes.
	FileSizes map[string]uint64
	// Jobs after numjobs, over all sections.
	Jobs int
	// MaxOutstanding operations of each client at any time.
	MaxOutstanding uint64
	// BlockBytes is the size of every operation; 0 when they differ.
	BlockBytes uint64
	// UsesLibaio needs fs.aio-max-nr of the node; UsesIOUring a seccomp profile that lets it.
	UsesLibaio, UsesIOUring bool
	// Cautions are said to the user before the run.
	Cautions []string
}

// Describe tells what a valid profile does when it is measured.
func Describe(profile *v1alpha1.FioProfile) (Traits, error) {
	return DescribeStep(profile, Parameters{})
}

// DescribeStep is Describe with the replacements of a step of a ramp or sweep.
func DescribeStep(profile *v1alpha1.FioProfile, parameters Parameters) (Traits, error) {
	what, problems := read(field.NewPath("fio"), profile, &parameters)
	if len(problems) > 0 {
		return Traits{}, fmt.Errorf("describe a fio profile: %w", problems.ToAggregate())
	}
	traits := Traits{FileSizes: map[string]uint64{}, NoStorage: true, Cautions: what.cautions}
	unsynced := false
	for i := range what.sections {
		s := &what.sections[i]
		traits.Reads = traits.Reads || s.reads
		traits.Writes = traits.Writes || s.writes
		traits.Trims = traits.Trims || s.trims
		traits.Syncs = traits.Syncs || s.syncs
		unsynced = unsynced || s.writes && !s.has("end_fsync", "1")
		traits.Jobs += s.jobs
		traits.MaxOutstanding += s.outstanding()
		if i == 0 {
			traits.BlockBytes = s.blockBytes
		} else if traits.BlockBytes != s.blockBytes {
			traits.BlockBytes = 0
		}
		if s.diskless() {
			continue
		}
		traits.NoStorage = false
		traits.Buffered = traits.Buffered || !s.direct
		traits.UsesLibaio = traits.UsesLibaio || s.engine == "libaio"
		traits.UsesIOUring = traits.UsesIOUring || s.engine == "io_uring"
		if s.device {
			for volume := range s.volumes {
				name := strconv.Itoa(volume) + "/" + deviceFile
				traits.FileSizes[name] = max(traits.FileSizes[name], s.region-DeviceOffsetBytes+s.reach())
			}
			continue
		}
		for job := range s.fileSets() {
			for number := range s.files {
				traits.FileSizes[s.file(job, number)] = s.fileBytes
			}
		}
	}
	traits.SyncsAtEnd = traits.Writes && !unsynced
	for _, bytes := range traits.FileSizes {
		traits.DatasetBytes += bytes
	}
	return traits, nil
}
