package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// Use describes how a tool uses the files of a step.
type Use struct {
	// Direct is true if the step requests direct I/O, which bypasses the page cache.
	Direct bool
	// ContentSuffix is appended to the dataset's content identifier, to distinguish contents that would otherwise have the
	// same identifier.
	ContentSuffix string
	// AnyReadOnly lets the tool work in the target's own directory if the volume is mounted read-only and holds no data of
	// an earlier run.
	AnyReadOnly bool
	// NoUsage is true if another client measures the disk usage of the same directory.
	NoUsage bool
}

// Files holds the files of a step on one volume: the client's own directory, or a raw device. The directory's mount is
// verified, and the agent holds the lock on the directory.
type Files struct {
	*dataset.Dataset

	set  *Set
	step *tool.Step
	// request is the step's request, restricted to this volume.
	request *agentapi.LoadRequest
	use     Use
	volume  tool.VolumeConfig
	// mount is the verified mount of a directory that is opened later.
	mount dataset.Mount
	// device is used in place of a directory if the volume is a raw device.
	device *dataset.Device
	// unwritten is the number of bytes that the step may read although they had never been written when it was loaded.
	unwritten uint64
	// unsure is the reason why it is unknown whether the step reads never-written data. It is empty if that is known.
	unsure string
}

// Open checks that the mounted volume is the planned one, creates the client's own directory on it, and checks that
// there is enough space and that the files to read exist.
func (s *Set) Open(step *tool.Step, use Use) (*Files, error) {
	files, err := s.files(step, step.Request, use)
	if err != nil {
		return nil, err
	}
	if files.volume.Device || len(step.Request.GetMoreVolumes()) > 0 {
		return nil, tool.Refuse(tool.ReasonVolume, errors.New("this tool works in a directory of a single volume: use one volume "+
			"with a file system in target "+s.env.Config.Target+", or use fio"))
	}
	if err := files.prepare(); err != nil {
		return nil, err
	}
	return files, nil
}

// files returns a Files for a request without opening anything. The request may be for the whole step or for one of its
// volumes.
func (s *Set) files(step *tool.Step, request *agentapi.LoadRequest, use Use) (*Files, error) {
	volume, err := s.Named(request.GetVolume())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &Files{set: s, step: step, request: request, use: use, volume: volume}, nil
}

// OpenMount checks that the mounted volume is the planned one, without opening a directory. It is for a client that
// works in another client's directory; OpenDirectoryOf opens that directory once it exists.
func (s *Set) OpenMount(step *tool.Step, use Use) (*Files, error) {
	files, err := s.files(step, step.Request, use)
	if err != nil {
		return nil, err
	}
	if files.mount, err = files.volume.Place().Make(); err != nil {
		return nil, tool.Refuse(tool.ReasonOf(err), files.volume.Advise(err))
	}
	return files, nil
}

// OpenDirectoryOf opens the directory of another client, which has created it. It does nothing if f already has an open
// directory.
func (f *Files) OpenDirectoryOf(client int) (err error) {
	if f.Dataset == nil {
		f.Dataset, err = dataset.Open(f.mount, f.set.Location(client))
	}
	return err
}

// CheckProcess checks that a process works in this directory. Another directory may have been mounted at or moved to
// the same path after this one was checked and before the process was started. Later changes to the path do not affect
// the working directory of the process.
func (f *Files) CheckProcess(pid int) error {
	info, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return nil //nolint:nilerr // The process has already exited without effect; its exit explains why.
	}
	if !f.Is(info) {
		return f.Changed("the tool was started in another directory")
	}
	return nil
}

// prepare opens the directory or the device. If prepare fails, it leaves nothing open.
func (f *Files) prepare() error {
	switch {
	case f.volume.Device:
		return f.prepareDevice()
	case f.volume.ReadOnly:
		return f.prepareReadOnly()
	}
	mount, err := f.volume.Place().Make()
	if err == nil {
		f.Dataset, err = f.take(mount)
	}
	if err != nil {
		return tool.Refuse(tool.ReasonOf(err), f.volume.Advise(err))
	}
	err = f.stripe()
	if err == nil {
		err = f.emptyFolders()
	}
	if err == nil {
		err = f.checkFiles()
	}
	if err != nil {
		f.Close()
		return err
	}
	f.lookBefore()
	return nil
}

// emptyFolders creates or empties the directories in which the step creates its files. Otherwise the step would open
// files that an earlier attempt left, instead of creating them.
func (f *Files) emptyFolders() error {
	for _, folder := range f.request.GetDataset().GetNewFolders() {
		if err := f.EmptyFolder(f.step.Stopped, folder); err != nil {
			return tool.Refuse(tool.ReasonOf(err), err)
		}
	}
	return nil
}

// lookBefore records how many of the bytes that the step reads were never written. For direct I/O it drops the
// step's files from this machine's page cache.
func (f *Files) lookBefore() {
	f.unwritten = f.unwrittenNow()
	if f.use.Direct {
		for _, file := range f.request.GetDataset().GetFiles() {
			// Pages that are cached now would later look as if direct I/O had cached them. Ignore errors: the file may be
			// missing, or its file system may keep the pages.
			_ = f.DropCache(file.GetName())
		}
	}
}

// content identifies the data that the step writes into its files. It is empty if the step writes nothing.
func (f *Files) content() string {
	content := f.request.GetDataset().GetContent()
	if content != "" {
		content += f.use.ContentSuffix
	}
	return content
}

// Path returns the path of the directory or of the device.
func (f *Files) Path() string {
	if f.device != nil {
		return f.device.Path()
	}
	return f.Dataset.Path()
}

// Is reports whether info describes this directory or device.
func (f *Files) Is(info os.FileInfo) bool {
	if f.device == nil {
		return f.Dataset.Is(info)
	}
	held, err := f.device.File().Stat()
	return err == nil && os.SameFile(held, info)
}

// Changed returns the error for a step that is refused because its directory was replaced after the check.
func (f *Files) Changed(detail string) error {
	return tool.Refuse(tool.ReasonVolume, &dataset.Problem{Reason: dataset.ErrChanged, Path: f.Path(), Detail: detail,
		Remedy: "check what was mounted or moved there in the meantime, and start a new run"})
}

// Locks returns the locked files that a tool must inherit, so that the directory stays locked until the last of its
// processes has exited.
func (f *Files) Locks() []*os.File {
	if f.device != nil {
		return []*os.File{f.device.File()}
	}
	if hold := f.set.holds.of(f.volume.Name); hold != nil {
		return []*os.File{hold.File()}
	}
	return nil
}

// Close closes the step's directory, but the agent keeps the lock on it. Close may be called several times.
func (f *Files) Close() {
	if f.Dataset != nil {
		_ = f.Dataset.Close() // Ignore the error: the directory was only read, or its errors were already reported.
		f.Dataset = nil
	}
}

// checkFiles returns an error if the step would run out of space or inodes, would write to something other than its own
// files, or would read missing data.
func (f *Files) checkFiles() error {
	wanted := f.request.GetDataset()
	if wanted.GetNewBytes() > 0 || wanted.GetNewFiles() > 0 {
		total, have, missing, err := written(f.Dataset, wanted.GetFiles())
		if err == nil {
			// NewBytes excludes bytes that earlier steps may have written, so subtract the written bytes from the total size of
			// the files. If the request does not list all files, the total size is less than NewBytes. In this case, subtract
			// the written bytes from NewBytes.
			bytes := min(wanted.GetNewBytes(), max(total, wanted.GetNewBytes())-have)
			err = f.checkRoom(room{files: missing + wanted.GetNewFiles(), bytes: bytes})
		}
		if err != nil {
			return tool.Refuse(tool.ReasonOf(err), err)
		}
	}
	return checkReads(f.Dataset, wanted)
}

// written returns the total size of files, how many bytes of them a directory has, and how many files are missing.
func written(directory *dataset.Dataset, files []*agentapi.DataFile) (total, have, missing uint64, err error) {
	for _, file := range files {
		total += file.GetBytes()
		coverage, err := directory.Written(file.GetName())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing++
		case err != nil:
			// For example, the name may be a link that the tool would follow to another user's file.
			return 0, 0, 0, err
		case coverage.Doubtful:
			have += min(coverage.ApparentBytes, file.GetBytes())
		default:
			have += min(coverage.WrittenBytes, file.GetBytes())
		}
	}
	return total, have, missing, nil
}

// maxLooks limits how many files of other clients checkRoom examines, because each file takes a request to the file
// server, and all clients examine files at the same time.
const maxLooks = 2000

// room counts the files and bytes that clients add to a volume.
type room struct{ files, bytes uint64 }

// checkRoom returns an error if the volume has too few inodes or too little space for the files and bytes that this
// client and the other clients of the volume have yet to write. All clients check before any of them writes.
func (f *Files) checkRoom(lacked room) error {
	wanted, others := f.request.GetDataset(), uint64(0)
	if lacked != (room{}) && wanted.GetSharing() > 1 {
		others = uint64(wanted.GetSharing()) - 1
	}
	most := math.MaxInt64 / max(1, others) // The sums must not overflow.
	each := room{
		files: min(most, uint64(len(wanted.GetFiles()))+wanted.GetNewFiles()),
		bytes: min(most, wanted.GetNewBytes()),
	}
	err := f.hasRoom(room{files: lacked.files + others*each.files, bytes: lacked.bytes + others*each.bytes})
	if err == nil || others == 0 {
		return err
	}
	// The volume may still suffice, because other clients may have written data already. Examine their directories only in
	// this case, because there can be hundreds of them.
	for client := range int(wanted.GetSharing()) {
		if client != f.set.env.Config.Client {
			theirs := f.lackedBy(client, each)
			lacked.files += min(each.files, theirs.files)
			lacked.bytes += min(each.bytes, theirs.bytes)
		}
	}
	return f.hasRoom(lacked)
}

func (f *Files) hasRoom(need room) error {
	if err := f.CheckFiles(need.files); err != nil {
		return err
	}
	return f.CheckSpace(need.bytes)
}

// lackedBy returns the files and bytes that another client has yet to write. The client may have some of them from an
// earlier run or attempt. Unknown amounts count as 0, because a run that fits must not be refused.
func (f *Files) lackedBy(client int, all room) room {
	wanted := f.request.GetDataset()
	directory, err := dataset.Open(f.Mount(), f.set.Location(client))
	if errors.Is(err, dataset.ErrMissing) {
		return all
	}
	if err != nil {
		return room{}
	}
	defer func() { _ = directory.Close() }()
	empty, err := directory.Empty()
	switch {
	case err != nil:
		return room{}
	case empty:
		return all
	case (len(wanted.GetFiles())+len(wanted.GetNewFolders()))*int(wanted.GetSharing()) > maxLooks:
		return room{}
	}
	// Ignore the error: all results are then 0.
	total, have, missing, _ := written(directory, wanted.GetFiles())
	return room{files: missing + newFiles(directory, wanted), bytes: total - have}
}

// newFiles returns how many files a client creates in the step's new directories. It returns 0 if one of these
// directories has files of an earlier attempt.
func newFiles(directory *dataset.Dataset, wanted *agentapi.Dataset) (files uint64) {
	for _, folder := range wanted.GetNewFolders() {
		if empty, err := directory.EmptyIn(folder); err != nil || !empty {
			return 0
		}
		files = wanted.GetNewFiles()
	}
	return files
}

// checkReads returns an error if the step would read missing data.
func checkReads(directory *dataset.Dataset, wanted *agentapi.Dataset) error {
	for _, file := range wanted.GetReads() {
		coverage, err := directory.Written(file.GetName())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return tool.Refuse(tool.ReasonNotPrepared, fmt.Errorf("the step reads file %s, which no phase has laid out",
				file.GetName()))
		case err != nil:
			return tool.Refuse(tool.ReasonVolume, err)
		case coverage.ApparentBytes < file.GetBytes():
			return tool.Refuse(tool.ReasonNotPrepared, fmt.Errorf("the step reads %d bytes of file %s, which has only %d",
				file.GetBytes(), file.GetName(), coverage.ApparentBytes))
		}
	}
	return nil
}
