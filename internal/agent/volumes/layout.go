package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// NoticeReused is the type of the notice that a prepare phase reused existing data instead of writing it again.
const NoticeReused = "LayoutReused"

// noticeRenewed is the type of the notice that a prepare phase did not reuse existing data. The notice contains the
// reason.
const noticeRenewed = "LayoutRenewed"

// knownLayout caches the stored record of laid-out files. A step that does not change the record then does not need to
// read it from the storage.
type knownLayout struct {
	mu    sync.Mutex
	path  string
	files dataset.LaidOut
}

// read returns the record of laid-out files. The caller may change the result.
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

// write stores a new record of laid-out files and caches it. If storing fails, the cache is left empty.
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

// Layout reports whether all data that the step should lay out already exists, so that the step has nothing to do.
// Otherwise, Layout updates the record of laid-out files so that the data that the step writes is not mistaken for the
// recorded data, even if the step fails.
func (f *Files) Layout() (reusable bool, err error) {
	if f.device != nil {
		return f.layoutDevice()
	}
	wanted, content := f.request.GetDataset(), f.content()
	if content == "" {
		return false, nil
	}
	if wanted.GetReuse() {
		// Read the record from the storage: a prepare phase must not rely on the cached copy.
		f.set.laidOut.forget()
	}
	known, err := f.set.laidOut.read(f.Dataset)
	if err != nil {
		return false, tool.Refuse(tool.ReasonVolume, err)
	}
	if wanted.GetReuse() {
		why, err := f.notLaidOut(known)
		if err != nil || why == "" {
			return err == nil, err
		}
		if f.ReadOnly() {
			return false, f.notKept(why)
		}
		if why != nothingThere {
			f.step.Notice(noticeRenewed, "the existing data is written again: %s", why)
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
	if err := f.set.laidOut.write(f.Dataset, known); err != nil {
		return false, tool.Refuse(tool.ReasonOf(err), err)
	}
	return false, nil
}

// nothingThere is the reason for not reusing a layout if none was ever recorded.
const nothingThere = "nothing is laid out"

// notLaidOut returns the reason why the files of a layout cannot be reused. It is empty if all files are recorded with
// the step's content, have the exact sizes, have no holes, and contain the expected data at every sampled position.
func (f *Files) notLaidOut(known dataset.LaidOut) (string, error) {
	wanted, content := f.request.GetDataset(), f.content()
	writes := wanted.GetWrites()
	if len(writes) == 0 {
		return nothingThere, nil
	}
	there := 0
	files := dataset.LaidOut{}
	first := ""
	for _, file := range writes {
		why, found, err := fileDiffers(f.Dataset, known, file, content)
		if err != nil {
			return "", tool.Refuse(tool.ReasonVolume, err)
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
	why, err := f.Differs(f.step.Stopped, files, wanted.GetMayHoldZeros())
	if err != nil {
		return "", tool.Refuse(tool.ReasonVolume, fmt.Errorf("inspect the laid-out files: %w", err))
	}
	return why, nil
}

// fileDiffers returns the reason why one file of a layout cannot be reused, and whether the file exists. It does not
// read the file's data.
func fileDiffers(directory *dataset.Dataset, known dataset.LaidOut, file *agentapi.DataFile, content string) (why string, found bool, err error) {
	name := file.GetName()
	coverage, err := directory.Written(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("file %s is missing", name), false, nil
	case err != nil:
		return "", false, err
	}
	noted, isNoted := known[name]
	switch {
	case !isNoted:
		why = fmt.Sprintf("file %s is not recorded as complete; its layout may not have finished", name)
	case noted.Content != content:
		why = fmt.Sprintf("file %s was laid out with different content", name)
	case noted.Bytes != file.GetBytes(), coverage.ApparentBytes != file.GetBytes():
		why = fmt.Sprintf("file %s has %d bytes, not %d", name, coverage.ApparentBytes, file.GetBytes())
	case !coverage.Complete() && !coverage.Doubtful:
		why = fmt.Sprintf("%d of the %d bytes of file %s were never written",
			coverage.ApparentBytes-coverage.WrittenBytes, coverage.ApparentBytes, name)
	}
	return why, true, nil
}

// notKept returns the error for a step whose layout is missing or unusable on a read-only volume, where it cannot be
// written again.
func (f *Files) notKept(why string) error {
	return tool.Refuse(tool.ReasonNotPrepared, fmt.Errorf("the volume at %s is mounted read-only and lacks the data "+
		"that the phase lays out: %s; first run the same phase with dataPolicy: Retain on a writable claim of this "+
		"storage", f.Mount().MountPoint, why))
}

// remember records the files that a prepare phase has laid out completely. If recording fails, the only cost is that a
// later run lays the data out again.
func (f *Files) remember() error {
	wanted := f.request.GetDataset()
	if !wanted.GetReuse() || f.content() == "" {
		return nil
	}
	known, err := f.set.laidOut.read(f.Dataset)
	if err != nil {
		return err
	}
	for _, file := range wanted.GetWrites() {
		coverage, err := f.Written(file.GetName())
		if err != nil || coverage.ApparentBytes != file.GetBytes() {
			continue
		}
		known[file.GetName()] = dataset.LaidOutFile{Bytes: file.GetBytes(), Content: f.content()}
	}
	return f.set.laidOut.write(f.Dataset, known)
}

// Forget clears the record of laid-out files, for a tool that may write to any file of the directory.
func (f *Files) Forget() error {
	known, err := f.set.laidOut.read(f.Dataset)
	if err == nil && len(known) > 0 {
		err = f.set.laidOut.write(f.Dataset, dataset.LaidOut{})
	}
	if err != nil {
		return tool.Refuse(tool.ReasonOf(err), err)
	}
	return nil
}

// strike removes the step's files from the record of laid-out data.
func (f *Files) strike() error {
	if f.device != nil {
		return f.strikeDevice()
	}
	if f.ReadOnly() {
		return f.notKept("another volume of the target lacks part of the data")
	}
	known, err := f.set.laidOut.read(f.Dataset)
	if err != nil {
		return tool.Refuse(tool.ReasonVolume, err)
	}
	for _, file := range f.request.GetDataset().GetFiles() {
		delete(known, file.GetName())
	}
	if err := f.set.laidOut.write(f.Dataset, known); err != nil {
		return tool.Refuse(tool.ReasonOf(err), err)
	}
	return nil
}
