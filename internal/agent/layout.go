package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// noticeReused is the notice that a prepare phase reused existing data instead of writing it again.
const noticeReused = "LayoutReused"

// noticeRenewed is the notice that a prepare phase did not reuse existing data, with the reason.
const noticeRenewed = "LayoutRenewed"

// knownLayout caches the stored record of laid-out files after it is read or written, so that a step that does not
// change the record need not read it.
type knownLayout struct {
	mu    sync.Mutex
	path  string
	files dataset.LaidOut
}

// read returns what is laid out; the caller may change the result.
func (k *knownLayout) read(directory *dataset.Dataset) (dataset.LaidOut, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.files == nil || k.path != directory.Path() {
		files, err := directory.LaidOut()
		if err != nil {
			return nil, err
		}
		k.path, k.files = directory.Path(), files
	}
	return maps.Clone(k.files), nil
}

// write stores a new record of laid-out files. If that fails, the cache is empty.
func (k *knownLayout) write(directory *dataset.Dataset, files dataset.LaidOut) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files = nil
	if err := directory.SetLaidOut(files); err != nil {
		return err
	}
	k.path, k.files = directory.Path(), files
	return nil
}

// forget empties the cache, so that the next read goes to the storage.
func (k *knownLayout) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files = nil
}

// wholeFiles holds the sizes, by path, of the files that steps of this agent have written completely.
type wholeFiles struct {
	mu    sync.Mutex
	bytes map[string]uint64
}

func (w *wholeFiles) add(directory *dataset.Dataset, name string, bytes uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bytes == nil {
		w.bytes = map[string]uint64{}
	}
	w.bytes[filepath.Join(directory.Path(), name)] = bytes
}

func (w *wholeFiles) has(directory *dataset.Dataset, name string, bytes uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, found := w.bytes[filepath.Join(directory.Path(), name)]
	return found && known >= bytes
}

// layout reports whether the step has nothing to do because everything that it should lay out already exists.
// Otherwise it updates the record, so that however the step ends, the data that it writes is not mistaken for the
// earlier data.
func (s *step) layout(directory *dataset.Dataset) (reusable bool, err error) {
	wanted, content := s.request.GetDataset(), s.content()
	if content == "" {
		return false, nil
	}
	if wanted.GetReuse() {
		// A prepare phase must rely on what is on the storage, not on the cache.
		s.agent.laidOut.forget()
	}
	known, err := s.agent.laidOut.read(directory)
	if err != nil {
		return false, refuse(ReasonVolume, err)
	}
	if wanted.GetReuse() {
		why, err := s.notLaidOut(directory, known)
		if err != nil || why == "" {
			return err == nil, err
		}
		if directory.ReadOnly() {
			return false, notKept(directory, why)
		}
		if why != nothingThere {
			s.notice(noticeRenewed, "what an earlier step or run has laid out is written again: %s", why)
		}
	}
	changed := false
	for _, file := range wanted.GetFiles() {
		before, found := known[file.GetName()]
		after := before
		after.Blocks = ""
		switch {
		case !found:
		case wanted.GetReuse() || before.Content != content:
			delete(known, file.GetName())
			changed = true
		case after != before:
			known[file.GetName()] = after
			changed = true
		}
	}
	if !changed {
		return false, nil
	}
	if err := s.agent.laidOut.write(directory, known); err != nil {
		return false, refuse(reasonOf(err), err)
	}
	return false, nil
}

// nothingThere is the reason for not reusing a layout if none was ever recorded.
const nothingThere = "nothing is laid out"

// notLaidOut returns why the files of a layout cannot be reused. It is empty if all files are recorded with this
// content, have the exact sizes, have no holes, and contain the expected data at every sampled position.
func (s *step) notLaidOut(directory *dataset.Dataset, known dataset.LaidOut) (string, error) {
	wanted, content := s.request.GetDataset(), s.content()
	writes := wanted.GetWrites()
	if len(writes) == 0 {
		return nothingThere, nil
	}
	there := 0
	files := dataset.LaidOut{}
	first := ""
	for _, file := range writes {
		why, found, err := fileDiffers(directory, known, file, content)
		if err != nil {
			return "", refuse(ReasonVolume, err)
		}
		if found {
			there++
		}
		if first == "" {
			first = why
		}
		files[file.GetName()] = known[file.GetName()]
	}
	switch {
	case there == 0:
		return nothingThere, nil
	case first != "":
		return first, nil
	}
	why, err := directory.Differs(s.stopped, files, wanted.GetMayHoldZeros())
	if err != nil {
		return "", refuse(ReasonVolume, fmt.Errorf("look into what is laid out: %w", err))
	}
	return why, nil
}

// fileDiffers returns why one file of a layout cannot be reused, without reading its data, and whether the file
// exists.
func fileDiffers(directory *dataset.Dataset, known dataset.LaidOut, file *agentapi.DataFile, content string) (why string, found bool, err error) {
	name := file.GetName()
	coverage, err := directory.Written(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("file %s is not there", name), false, nil
	case err != nil:
		return "", false, err
	}
	noted, isNoted := known[name]
	switch {
	case !isNoted:
		why = fmt.Sprintf("nothing says that file %s is whole, as where its layout did not end", name)
	case noted.Content != content:
		why = fmt.Sprintf("file %s holds data of another kind", name)
	case noted.Bytes != file.GetBytes(), coverage.ApparentBytes != file.GetBytes():
		why = fmt.Sprintf("file %s has %d bytes, not %d", name, coverage.ApparentBytes, file.GetBytes())
	case !coverage.Complete() && !coverage.Doubtful:
		why = fmt.Sprintf("%d of the %d bytes of file %s were never written", coverage.ApparentBytes-coverage.WrittenBytes, coverage.ApparentBytes, name)
	}
	return why, true, nil
}

// notKept refuses a step whose layout is not usable on a read-only volume, where it cannot be written again.
func notKept(directory *dataset.Dataset, why string) error {
	return refuse(ReasonNotPrepared, fmt.Errorf("the volume at %s is mounted read-only, and what the phase lays out is not there: %s; run the same "+
		"phase with dataPolicy: Retain on a claim of this storage that may be written to, and then this one", directory.Mount().MountPoint, why))
}

// remember records what a prepare phase has laid out, after verifying that it is complete. If recording fails, a
// later run lays the data out again, which costs only time.
func (s *step) remember(directory *dataset.Dataset) error {
	wanted := s.request.GetDataset()
	if !wanted.GetReuse() || s.content() == "" {
		return nil
	}
	known, err := s.agent.laidOut.read(directory)
	if err != nil {
		return err
	}
	for _, file := range wanted.GetWrites() {
		coverage, err := directory.Written(file.GetName())
		if err != nil || coverage.ApparentBytes != file.GetBytes() {
			continue
		}
		known[file.GetName()] = dataset.LaidOutFile{Bytes: file.GetBytes(), Content: s.content()}
	}
	return s.agent.laidOut.write(directory, known)
}

// reuse returns the result of a prepare phase whose data exists: it completes at its start instant.
func (s *step) reuse() *agentapi.Ended {
	now := s.agent.clock.Monotonic()
	var meter cpuMeter
	meter.begin(s.agent.clock)
	s.write(&agentapi.Record{Entry: &agentapi.Record_Started{Started: &agentapi.Started{ReleasedNanoseconds: now}}})
	var bytes uint64
	files := s.request.GetDataset().GetWrites()
	for _, file := range files {
		bytes += file.GetBytes()
	}
	return &agentapi.Ended{
		Outcome:            agentapi.Outcome_OUTCOME_COMPLETE,
		IoStartNanoseconds: now,
		IoEndNanoseconds:   now,
		ToolVersion:        s.agent.tool.version(),
		Cpu:                meter.end(s.agent.clock, nil),
		Notices: []*agentapi.Notice{{Warning: noticeReused, Message: fmt.Sprintf(
			"%d bytes in %d files were there already, whole and of this content, and were not written again", bytes, len(files))}},
	}
}
