package agent

import (
	"errors"
	"fmt"
	"io/fs"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/version"
)

// Reasons for which a step is refused before it changes anything.
const (
	ReasonVolume      = "VolumeUnfit"
	ReasonNoSpace     = "NoSpace"
	ReasonNoInodes    = "NoInodes"
	ReasonReadOnly    = "ReadOnly"
	ReasonMissing     = "DirectoryMissing"
	ReasonNotPrepared = "NotPrepared"
	ReasonTool        = "ToolFailed"
	// ReasonHeld means that the client's previous agent still holds the directory.
	ReasonHeld = "DirectoryHeld"
)

// refuse returns the answer to a Load that is refused.
func refuse(reason string, err error) error {
	return withReason(status.New(codes.FailedPrecondition, err.Error()), reason)
}

// volume returns a volume of the configuration; an empty name selects the only volume.
func (a *Agent) volume(name string) (VolumeConfig, error) {
	for _, volume := range a.config.Volumes {
		if volume.Name == name || name == "" && len(a.config.Volumes) == 1 {
			return volume, nil
		}
	}
	return VolumeConfig{}, fmt.Errorf("target %s has no volume %q", a.config.Target, name)
}

// workingDirectory is the client's own directory, with its verified mount and the agent's lock.
type workingDirectory struct {
	mount   dataset.Mount
	dataset *dataset.Dataset
	hold    *dataset.Hold
}

// prepareDirectory checks that the mounted volume is the planned one, creates the client's own directory on it, and
// checks that the space suffices and that the files to read exist.
func (s *step) prepareDirectory() (workingDirectory, error) {
	volume, err := s.agent.volume(s.request.GetVolume())
	if err != nil {
		return workingDirectory{}, status.Error(codes.InvalidArgument, err.Error())
	}
	if volume.Device || len(s.request.GetMoreVolumes()) > 0 {
		return workingDirectory{}, refuse(ReasonVolume, errors.New("this tool works in a folder of one volume: give target "+
			s.agent.config.Target+" one volume with a file system, or use fio"))
	}
	if volume.ReadOnly {
		return s.prepareReadOnly(volume)
	}
	mount, err := volume.place().Make()
	if err != nil {
		return workingDirectory{}, refuse(reasonOf(err), volume.advise(err))
	}
	directory, err := s.take(volume, mount)
	if err != nil {
		return workingDirectory{}, refuse(reasonOf(err), volume.advise(err))
	}
	err = s.stripe(directory)
	if err == nil {
		err = s.emptyFolders(directory)
	}
	if err == nil {
		err = checkFiles(directory, s.request.GetDataset())
	}
	if err != nil {
		// Return the refusal; an error of Close would add nothing.
		_ = directory.Close()
		return workingDirectory{}, err
	}
	s.lookBefore(directory)
	return workingDirectory{mount: mount, dataset: directory, hold: s.agent.holds.of(volume.Name)}, nil
}

// emptyFolders makes or empties the folders in which the step makes its files. Files that an earlier attempt left would
// be opened, not created.
func (s *step) emptyFolders(directory *dataset.Dataset) error {
	for _, folder := range s.request.GetDataset().GetNewFolders() {
		if err := directory.EmptyFolder(s.stopped, folder); err != nil {
			return refuse(reasonOf(err), err)
		}
	}
	return nil
}

// lookBefore records how many of the bytes that the step reads were never written. For direct I/O it drops the
// step's files from this machine's page cache.
func (s *step) lookBefore(directory *dataset.Dataset) {
	s.unwritten = s.unwrittenOf(directory)
	if s.direct() {
		for _, file := range s.request.GetDataset().GetFiles() {
			// Pages that are cached now would later look as if direct I/O had cached them. Ignore errors: the file
			// may not exist yet, or its file system may not drop its pages.
			_ = directory.DropCache(file.GetName())
		}
	}
}

func (a *Agent) owner() dataset.Owner {
	return dataset.Owner{
		BenchmarkUID: a.config.BenchmarkUID,
		Benchmark:    a.config.Benchmark,
		RunUID:       a.config.RunUID,
		Run:          a.config.RunName,
		CreatedBy:    version.Version,
		Installation: a.config.Installation,
		Keep:         a.config.KeepData,
	}
}

// checkFiles refuses a step that would run out of space or inodes, or read missing data.
func checkFiles(directory *dataset.Dataset, wanted *agentapi.Dataset) error {
	if wanted.GetNewBytes() > 0 || wanted.GetNewFiles() > 0 {
		have, missing := uint64(0), wanted.GetNewFiles()
		for _, file := range wanted.GetFiles() {
			coverage, err := directory.Written(file.GetName())
			if err == nil && coverage.Doubtful {
				have += min(coverage.ApparentBytes, file.GetBytes())
			} else if err == nil {
				have += min(coverage.WrittenBytes, file.GetBytes())
			} else if errors.Is(err, fs.ErrNotExist) {
				missing++
			}
		}
		if err := directory.CheckFiles(missing); err != nil {
			return refuse(reasonOf(err), err)
		}
		if err := directory.CheckSpace(wanted.GetNewBytes() - min(have, wanted.GetNewBytes())); err != nil {
			return refuse(reasonOf(err), err)
		}
	}
	return checkReads(directory, wanted)
}

// checkReads refuses a step that would read missing data.
func checkReads(directory *dataset.Dataset, wanted *agentapi.Dataset) error {
	for _, file := range wanted.GetReads() {
		coverage, err := directory.Written(file.GetName())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return refuse(ReasonNotPrepared, fmt.Errorf("the step reads file %s, which no phase has laid out", file.GetName()))
		case err != nil:
			return refuse(ReasonVolume, err)
		case coverage.ApparentBytes < file.GetBytes():
			return refuse(ReasonNotPrepared, fmt.Errorf("the step reads %d bytes of file %s, which has %d",
				file.GetBytes(), file.GetName(), coverage.ApparentBytes))
		}
	}
	return nil
}

// reasonOf returns the refusal reason for an error of the dataset package.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, dataset.ErrNoSpace):
		return ReasonNoSpace
	case errors.Is(err, dataset.ErrNoInodes):
		return ReasonNoInodes
	case errors.Is(err, dataset.ErrReadOnly), errors.Is(err, dataset.ErrPermission):
		return ReasonReadOnly
	case errors.Is(err, dataset.ErrMissing):
		return ReasonMissing
	case errors.Is(err, dataset.ErrHeld):
		return ReasonHeld
	}
	return ReasonVolume
}
