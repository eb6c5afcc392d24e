package volumes

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/dataset"
)

// prepareReadOnly is like prepare, but for a volume that is mounted read-only. The tool uses the data that an earlier
// run laid out and retained. Without such data, a tool with AnyReadOnly works in the target's own directory, where it
// cannot change anything.
func (f *Files) prepareReadOnly() error {
	s, volume := f.set, f.volume
	mount, err := volume.Place().Find()
	if err != nil {
		return tool.Refuse(tool.ReasonOf(err), volume.Advise(err))
	}
	location := s.Location(s.env.Config.Client)
	location.BenchmarkUID = cmp.Or(s.holds.readFrom(volume.Name), location.BenchmarkUID)
	kept, err := dataset.OpenKept(mount, location)
	switch {
	case err == nil:
		if err := f.useKept(kept); err != nil {
			_ = kept.Close()
			kept.Hold.Release()
			return err
		}
		return nil
	case !errors.Is(err, dataset.ErrMissing):
		return tool.Refuse(tool.ReasonOf(err), volume.Advise(err))
	case !f.use.AnyReadOnly:
		return tool.Refuse(tool.ReasonNotPrepared, fmt.Errorf("volume %s is mounted read-only at %s, but has no data "+
			"for client %d; first run the same prepare phases with dataPolicy: Retain (dataset hash %s) on a writable "+
			"claim of this storage",
			volume.Name, volume.Path, s.env.Config.Client, s.env.Config.DatasetHash))
	}
	if f.Dataset, err = dataset.OpenFolder(mount); err != nil {
		return tool.Refuse(tool.ReasonVolume, err)
	}
	return nil
}

// useKept locks the retained data of an earlier run until the agent exits, and checks that this data includes all files
// that the step reads.
func (f *Files) useKept(kept *dataset.Kept) error {
	holds, name := &f.set.holds, f.volume.Name
	if holds.of(name) != nil && holds.readFrom(name) == kept.Owner.BenchmarkUID {
		kept.Hold.Release()
		kept.Hold = nil
	}
	if err := checkReads(kept.Dataset, f.request.GetDataset()); err != nil {
		return err
	}
	if kept.Hold != nil {
		holds.set(name, kept.Hold)
		f.step.Notice(NoticeReused, "the volume is mounted read-only, so the step reads the data of run %s of benchmark "+
			"%s in %s",
			kept.Owner.Run, kept.Owner.Benchmark, kept.Path())
	}
	holds.setReadFrom(name, kept.Owner.BenchmarkUID)
	f.Dataset = kept.Dataset
	f.lookBefore()
	return nil
}
