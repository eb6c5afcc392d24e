package agent

import (
	"errors"
	"fmt"

	"github.com/storagebench/storagebench/internal/dataset"
)

// prepareReadOnly is prepareDirectory for a volume that is mounted read-only. fio uses the data that an earlier run
// laid out and retained. Without such data, a user's program works in the target's own folder, where it can do no
// harm.
func (s *step) prepareReadOnly(volume VolumeConfig) (workingDirectory, error) {
	a := s.agent
	mount, err := volume.place().Find()
	if err != nil {
		return workingDirectory{}, refuse(reasonOf(err), volume.advise(err))
	}
	if s.request.GetMpi() != nil {
		return workingDirectory{}, refuse(ReasonReadOnly, fmt.Errorf("volume %s is mounted read-only, and jobs of MPI keep their data in a "+
			"directory that they make: use fio, or a claim that may be written to", volume.Name))
	}
	kept, err := dataset.OpenKept(mount, a.location(a.config.Client))
	switch {
	case err == nil:
		if err := s.useKept(volume, kept); err != nil {
			_ = kept.Close()
			kept.Hold.Release()
			return workingDirectory{}, err
		}
		return workingDirectory{mount: mount, dataset: kept.Dataset, hold: a.holds.of(volume.Name)}, nil
	case !errors.Is(err, dataset.ErrMissing):
		return workingDirectory{}, refuse(reasonOf(err), volume.advise(err))
	case s.request.GetCommand() == nil:
		return workingDirectory{}, refuse(ReasonNotPrepared, fmt.Errorf("volume %s is mounted read-only at %s, and client %d finds no data there that a "+
			"run with the same prepare phases and dataPolicy: Retain has left (data set %s): run that on a claim of this storage that may be "+
			"written to", volume.Name, volume.Path, a.config.Client, a.config.DatasetHash))
	}
	folder, err := dataset.OpenFolder(mount)
	if err != nil {
		return workingDirectory{}, refuse(ReasonVolume, err)
	}
	return workingDirectory{mount: mount, dataset: folder}, nil
}

// useKept locks the retained data of an earlier run until the agent exits, and checks that it contains what the
// step reads.
func (s *step) useKept(volume VolumeConfig, kept *dataset.Kept) error {
	a := s.agent
	if held := a.holds.of(volume.Name); held != nil {
		kept.Hold.Release()
		kept.Hold = nil
	}
	if err := checkReads(kept.Dataset, s.request.GetDataset()); err != nil {
		return err
	}
	if kept.Hold != nil {
		a.holds.set(volume.Name, kept.Hold)
		s.notice(noticeReused, "the volume is mounted read-only: read is what run %s of benchmark %s has laid out there, in %s",
			kept.Owner.Run, kept.Owner.Benchmark, kept.Path())
	}
	s.lookBefore(kept.Dataset)
	return nil
}
