package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

const (
	// linksPattern is the os.MkdirTemp pattern of the directories that hold the links to several volumes.
	linksPattern = "storagebench-volumes-"
	// maxFolders far exceeds the number of files of any fio job.
	maxFolders = 200_000
)

// workplace is the working directory of a fio that uses several volumes or raw devices: a temporary directory with
// links to them. The job names only files below the links, and each link was verified to lead to the directory or
// device that was checked.
type workplace struct {
	path    string
	volumes []workVolume
}

// workVolume is one volume of a step: the client's directory on it, or a device.
type workVolume struct {
	// view is the step restricted to this volume.
	view    *step
	working workingDirectory
	device  *dataset.Device
}

// isSpread reports whether fio works on several volumes or on a raw device.
func (s *step) isSpread() bool {
	if s.request.GetFio() == nil {
		return false
	}
	volume, err := s.agent.volume(s.request.GetVolume())
	return len(s.request.GetMoreVolumes()) > 0 || err == nil && volume.Device
}

// viewOf returns the step restricted to one of its volumes.
func (s *step) viewOf(index int, name string) *step {
	request, ok := proto.Clone(s.request).(*agentapi.LoadRequest)
	if !ok {
		panic("a clone is of another type")
	}
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
	view := newStep(s.agent, request)
	view.like = s.like
	view.stopped, view.cancel, view.abandoned, view.abandon = s.stopped, s.cancel, s.abandoned, s.abandon
	return view
}

// loadSpread is load for several volumes or for raw devices.
func (s *step) loadSpread() error {
	place := &workplace{}
	err := s.findLike()
	if err == nil {
		err = s.openVolumes(place)
	}
	if err != nil {
		place.close()
		return err
	}
	reusable, err := place.layout(s.request.GetDataset().GetReuse())
	if err != nil || reusable {
		place.close()
		return err
	}
	run, err := s.takeSpreadFio(place)
	if err != nil {
		place.close()
		return err
	}
	s.tool = run
	return nil
}

func (s *step) openVolumes(place *workplace) error {
	names := append([]string{s.request.GetVolume()}, s.request.GetMoreVolumes()...)
	for index, name := range names {
		configured, err := s.agent.volume(name)
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		volume := workVolume{view: s.viewOf(index, name)}
		if configured.Device {
			volume.device, err = volume.view.prepareDevice(configured)
		} else {
			volume.working, err = volume.view.prepareDirectory()
		}
		if err != nil {
			return err
		}
		place.volumes = append(place.volumes, volume)
		if first := place.volumes[0]; (first.device == nil) != (volume.device == nil) {
			return refuse(ReasonVolume, fmt.Errorf("target %s has volumes with file systems and raw devices: make two targets of them", s.agent.config.Target))
		}
	}
	return place.link(int(s.request.GetFolders()))
}

// link creates the directory of links, and verifies the target of each link.
func (p *workplace) link(folders int) error {
	if folders < len(p.volumes) || folders > maxFolders {
		return status.Errorf(codes.InvalidArgument, "the step has %d folders on %d volumes", folders, len(p.volumes))
	}
	path, err := os.MkdirTemp("", linksPattern)
	if err == nil {
		p.path, err = filepath.Abs(path)
	}
	for i := 0; i < folders && err == nil; i++ {
		err = os.Symlink(p.volumes[i%len(p.volumes)].path(), filepath.Join(p.path, strconv.Itoa(i)))
	}
	if err != nil {
		return refuse(ReasonTool, fmt.Errorf("make a directory in which fio finds its volumes: %w", err))
	}
	return p.proveLinks()
}

func (p *workplace) proveLinks() error {
	for i := range p.volumes {
		info, err := os.Stat(filepath.Join(p.path, strconv.Itoa(i)))
		if err != nil {
			return refuse(ReasonVolume, fmt.Errorf("look at volume %d: %w", i, err))
		}
		if volume := &p.volumes[i]; !volume.is(info) {
			return refuse(ReasonVolume, &dataset.Problem{Reason: dataset.ErrChanged, Path: volume.path(),
				Remedy: "look what was mounted there meanwhile, and start a new run"})
		}
	}
	return nil
}

func (v *workVolume) path() string {
	if v.device != nil {
		return v.device.Path()
	}
	return v.working.dataset.Path()
}

func (v *workVolume) is(info os.FileInfo) bool {
	if v.device == nil {
		return v.working.dataset.Is(info)
	}
	held, err := v.device.File().Stat()
	return err == nil && os.SameFile(held, info)
}

// takeSpreadFio spawns a fio in the directory of links. It uses no spare fio, because the next step may work on other
// volumes.
func (s *step) takeSpreadFio(place *workplace) (*fioRun, error) {
	path, err := s.agent.checkedFio()
	if err != nil {
		return nil, refuse(ReasonTool, err)
	}
	how := spawning{path: path, arguments: s.fioArguments(), directory: place.path, timeout: s.agent.timeouts.gone}
	for i := range place.volumes {
		if device := place.volumes[i].device; device != nil {
			how.holds = append(how.holds, device.File())
		} else if hold := place.volumes[i].working.hold; hold != nil {
			how.holds = append(how.holds, hold.File())
		}
	}
	waiting, err := how.spawn()
	if err != nil {
		return nil, refuse(ReasonTool, err)
	}
	if err := place.proveLinks(); err != nil {
		waiting.discard()
		return nil, err
	}
	run := s.follow(waiting)
	run.place = place
	return run, nil
}

// layout is step.layout for all volumes: the step has nothing to do only if that is true for every volume.
func (p *workplace) layout(reuse bool) (bool, error) {
	whole := reuse
	for i := range p.volumes {
		done, err := p.volumes[i].layout()
		if err != nil {
			return false, err
		}
		whole = whole && done
	}
	if !reuse || whole {
		return whole, nil
	}
	// If any part must be written again, write everything again.
	for i := range p.volumes {
		if err := p.volumes[i].strike(); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (v *workVolume) layout() (bool, error) {
	if v.device != nil {
		return v.view.layoutDevice(v.device)
	}
	return v.view.layout(v.working.dataset)
}

// strike removes the step's files from the record of laid-out data.
func (v *workVolume) strike() error {
	if v.device != nil {
		return v.view.strikeDevice(v.device)
	}
	if v.working.dataset.ReadOnly() {
		return notKept(v.working.dataset, "another volume of the target lacks a part of it")
	}
	known, err := v.view.agent.laidOut.read(v.working.dataset)
	if err != nil {
		return refuse(ReasonVolume, err)
	}
	for _, file := range v.view.request.GetDataset().GetFiles() {
		delete(known, file.GetName())
	}
	if err := v.view.agent.laidOut.write(v.working.dataset, known); err != nil {
		return refuse(reasonOf(err), err)
	}
	return nil
}

// inspect examines each volume as if the step used only that volume, and adds up the findings.
func (p *workplace) inspect(ended *agentapi.Ended, tool witness, hung bool) {
	for i := range p.volumes {
		volume := &p.volumes[i]
		found := &agentapi.Ended{Outcome: ended.GetOutcome()}
		if volume.device != nil {
			volume.view.inspectDevice(found, volume.device, hung)
		} else {
			volume.view.inspect(found, volume.working.dataset, tool, hung)
			volume.working.dataset = nil // inspect has closed it.
		}
		if found.GetOutcome() != ended.GetOutcome() {
			ended.Outcome, ended.Reason = found.GetOutcome(), found.GetReason()
			ended.Message = "volume " + volume.view.request.GetVolume() + ": " + found.GetMessage()
		}
		ended.UnwrittenBytes += found.GetUnwrittenBytes()
		ended.Notices = append(ended.Notices, found.GetNotices()...)
		if i == 0 {
			ended.Usage = found.GetUsage()
			continue
		}
		ended.Usage = addUsage(ended.GetUsage(), found.GetUsage())
	}
	p.close()
}

// close releases the step's resources on its volumes; the agent keeps its locks.
func (p *workplace) close() {
	for i := range p.volumes {
		if directory := p.volumes[i].working.dataset; directory != nil {
			_ = directory.Close()
		}
	}
	if p.path != "" {
		_ = os.RemoveAll(p.path)
	}
}

// addUsage adds up the space that the files on two volumes take. The sum is nil (unknown) if either is nil.
// HolesKnown and Settled are true for the sum only if both volumes have them.
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

// errNoWrites refuses a step that would write to a raw device without permission.
var errNoWrites = errors.New("the step writes to a raw device, and the target does not allow that: set allowRawDeviceWrites: true " +
	"where nobody needs what is on it")

// heldFor returns how long to wait for a device that another agent holds.
func (s *step) heldFor() time.Duration { return s.agent.timeouts.held }
