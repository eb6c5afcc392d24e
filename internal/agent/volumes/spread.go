package volumes

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

const (
	// linksPattern is the os.MkdirTemp pattern of the directories that hold the links to several volumes.
	linksPattern = "storagebench-volumes-"
	// maxFolders limits the number of links. It is far above the number of files in any fio job.
	maxFolders = 200_000
)

// Spread holds the files of a step on several volumes or on raw devices. The tool works in a temporary directory with
// links to them, and names only files below the links. OpenSpread has verified that the links lead to the directories
// or devices that were checked.
type Spread struct {
	path    string
	volumes []*Files
}

// IsSpread reports whether a step works on several volumes or on a raw device.
func (s *Set) IsSpread(request *agentapi.LoadRequest) bool {
	volume, err := s.Named(request.GetVolume())
	return len(request.GetMoreVolumes()) > 0 || err == nil && volume.Device
}

// OpenSpread is like Open, but for a step on several volumes or on raw devices.
func (s *Set) OpenSpread(step *tool.Step, use Use) (*Spread, error) {
	spread := &Spread{}
	err := spread.open(s, step, use)
	if err == nil {
		err = spread.link(int(step.Request.GetFolders()))
	}
	if err != nil {
		spread.Close()
		return nil, err
	}
	return spread, nil
}

func (p *Spread) open(set *Set, step *tool.Step, use Use) error {
	for index, name := range append([]string{step.Request.GetVolume()}, step.Request.GetMoreVolumes()...) {
		files, err := set.files(step, onVolume(step.Request, index, name), use)
		if err == nil {
			err = files.prepare()
		}
		if err != nil {
			return err
		}
		p.volumes = append(p.volumes, files)
		if (p.volumes[0].device == nil) != (files.device == nil) {
			return tool.Refuse(tool.ReasonVolume, fmt.Errorf("target %s has both raw devices and volumes with a "+
				"file system: split them into two targets",
				step.Config.Target))
		}
	}
	return nil
}

// onVolume returns a step's request restricted to one of its volumes.
func onVolume(whole *agentapi.LoadRequest, index int, name string) *agentapi.LoadRequest {
	request := proto.CloneOf(whole)
	request.Volume, request.MoreVolumes = name, nil
	on := func(all []*agentapi.DataFile) []*agentapi.DataFile {
		var own []*agentapi.DataFile
		for _, file := range all {
			if int(file.GetVolume()) == index {
				own = append(own, file)
			}
		}
		return own
	}
	if data := request.GetDataset(); data != nil {
		data.Reads, data.Writes, data.Files = on(data.GetReads()), on(data.GetWrites()), on(data.GetFiles())
	}
	return request
}

// link creates the directory of links and verifies the links.
func (p *Spread) link(folders int) error {
	if folders < len(p.volumes) || folders > maxFolders {
		return status.Errorf(codes.InvalidArgument, "invalid number of directories: %d on %d volumes", folders, len(p.volumes))
	}
	path, err := os.MkdirTemp("", linksPattern)
	if err == nil {
		p.path, err = filepath.Abs(path)
	}
	for i := 0; i < folders && err == nil; i++ {
		err = os.Symlink(p.volumes[i%len(p.volumes)].Path(), filepath.Join(p.path, strconv.Itoa(i)))
	}
	if err != nil {
		return tool.Refuse(tool.ReasonTool, fmt.Errorf("make a directory of links to the volumes: %w", err))
	}
	return p.verify()
}

// CheckProcess checks that the links in the process's working directory still lead to the volumes.
func (p *Spread) CheckProcess(int) error { return p.verify() }

// verify checks that the links lead to the directories or devices that were checked before. It tests one link per
// volume.
func (p *Spread) verify() error {
	for i, volume := range p.volumes {
		info, err := os.Stat(filepath.Join(p.path, strconv.Itoa(i)))
		if err != nil {
			return tool.Refuse(tool.ReasonVolume, fmt.Errorf("check volume %d: %w", i, err))
		}
		if !volume.Is(info) {
			return volume.Changed("")
		}
	}
	return nil
}

// Path returns the path of the directory of links.
func (p *Spread) Path() string { return p.path }

// Locks returns the locked files that a tool must inherit, so that the volumes stay locked until the last of its
// processes has exited.
func (p *Spread) Locks() []*os.File {
	var all []*os.File
	for _, volume := range p.volumes {
		all = append(all, volume.Locks()...)
	}
	return all
}

// Layout calls Files.Layout for each volume. It returns true only if the step has nothing to do on any volume.
func (p *Spread) Layout() (reusable bool, err error) {
	whole := true
	for _, volume := range p.volumes {
		done, err := volume.Layout()
		if err != nil {
			return false, err
		}
		whole = whole && done
	}
	if whole || !p.volumes[0].request.GetDataset().GetReuse() {
		return whole, nil
	}
	// If the data of any volume must be written again, write the data of all volumes again.
	for _, volume := range p.volumes {
		if err := volume.strike(); err != nil {
			return false, err
		}
	}
	return false, nil
}

// Inspect examines each volume as if the step used only that volume, and adds up the findings. It also removes the
// links.
func (p *Spread) Inspect(ended *agentapi.Ended, wrote Witness, hung bool) {
	for i, volume := range p.volumes {
		found := &agentapi.Ended{Outcome: ended.GetOutcome(), Operations: ended.GetOperations()}
		volume.Inspect(found, wrote, hung)
		if found.GetOutcome() != ended.GetOutcome() {
			ended.Outcome, ended.Reason = found.GetOutcome(), found.GetReason()
			ended.Message = "volume " + volume.volume.Name + ": " + found.GetMessage()
		}
		ended.UnwrittenBytes += found.GetUnwrittenBytes()
		ended.Notices = append(ended.Notices, found.GetNotices()...)
		if i == 0 {
			ended.Usage = found.GetUsage()
			continue
		}
		ended.Usage = addUsage(ended.GetUsage(), found.GetUsage())
	}
	p.Close()
}

// Close releases the step's resources on its volumes; the agent keeps its locks.
func (p *Spread) Close() {
	for _, volume := range p.volumes {
		volume.Close()
	}
	if p.path != "" {
		_ = os.RemoveAll(p.path)
	}
}

// addUsage adds up the disk usage of the files on two volumes. The sum is nil (unknown) if either is nil. HolesKnown
// and Settled are true for the sum only if they are true for both volumes.
func addUsage(sum, more *agentapi.Usage) *agentapi.Usage {
	if sum == nil || more == nil {
		return nil
	}
	sum.ApparentBytes += more.GetApparentBytes()
	sum.AllocatedBytes += more.GetAllocatedBytes()
	sum.DataBytes += more.GetDataBytes()
	sum.Files += more.GetFiles()
	sum.HolesKnown = sum.GetHolesKnown() && more.GetHolesKnown()
	sum.Settled = sum.GetSettled() && more.GetSettled()
	for _, of := range more.GetTypes() {
		known := false
		for _, to := range sum.GetTypes() {
			if to.GetExtension() == of.GetExtension() {
				known = true
				to.ApparentBytes += of.GetApparentBytes()
				to.AllocatedBytes += of.GetAllocatedBytes()
				to.DataBytes += of.GetDataBytes()
				to.Files += of.GetFiles()
			}
		}
		if !known {
			sum.Types = append(sum.Types, of)
		}
	}
	return sum
}
