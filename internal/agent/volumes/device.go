package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// devices holds the raw devices that the agent has open, by volume. A device stays open from the first step that
// uses it until the agent exits.
type devices struct {
	mu   sync.Mutex
	held map[string]heldDevice
}

type heldDevice struct {
	*dataset.Device
	write bool
}

func (d *devices) of(volume string) heldDevice {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held[volume]
}

func (d *devices) set(volume string, device heldDevice) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		d.held = map[string]heldDevice{}
	}
	d.held[volume] = device
}

func (d *devices) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, device := range d.held {
		_ = device.Close()
	}
	d.held = nil
}

// prepareDevice opens and locks the device. It checks that the step may read or write the device as requested. If the
// run may write to the device, prepareDevice also checks that a prepare phase has written the data that the step reads.
// Otherwise, it estimates how much of this data was never written.
func (f *Files) prepareDevice() error {
	s, wanted := f.set, f.request.GetDataset()
	if wanted.GetContent() != "" && !f.request.GetRawWrites() {
		return tool.Refuse(tool.ReasonVolume, errNoWrites)
	}
	use := dataset.DeviceUse{Owner: s.owner(), Client: s.env.Config.Client, Write: f.request.GetRawWrites(),
		Bytes: deviceBytes(wanted)}
	held := s.devices.of(f.volume.Name)
	var err error
	if held.Device != nil && held.write == use.Write {
		err = held.Use(use)
	} else {
		if held.Device != nil {
			_ = held.Close()
		}
		ctx, cancel := context.WithTimeout(f.step.Stopped, s.env.Timeouts.Held)
		defer cancel()
		held = heldDevice{write: use.Write}
		if held.Device, err = dataset.OpenDevice(ctx, f.volume.Path, use); err == nil {
			s.devices.set(f.volume.Name, held)
		}
	}
	if err != nil {
		return tool.Refuse(tool.ReasonOf(err), err)
	}
	for _, file := range wanted.GetReads() {
		switch {
		case !use.Write:
			share, err := held.ZeroShare(file.GetBytes())
			if err != nil {
				return tool.Refuse(tool.ReasonVolume, err)
			}
			f.unwritten += uint64(share * float64(file.GetBytes()))
		case held.WrittenBytes() < file.GetBytes():
			return tool.Refuse(tool.ReasonNotPrepared, fmt.Errorf("the step reads %d bytes of %s, but only %d "+
				"are laid out",
				file.GetBytes(), f.volume.Path, held.WrittenBytes()))
		}
	}
	f.device = held.Device
	return nil
}

// deviceBytes returns how many bytes of a device the step uses.
func deviceBytes(wanted *agentapi.Dataset) uint64 {
	var bytes uint64
	for _, file := range wanted.GetFiles() {
		bytes = max(bytes, file.GetBytes())
	}
	return bytes
}

// layoutDevice reports whether the step can reuse the data on a raw device. To allow this, the device's ownership mark
// must record all data that the step would lay out. If a step that must not reuse data is about to replace recorded
// data, layoutDevice clears the record first. If a step may reuse data but cannot, Spread.Layout clears the record.
func (f *Files) layoutDevice() (bool, error) {
	wanted := f.request.GetDataset()
	if wanted.GetContent() == "" {
		return false, nil
	}
	known := f.device.LaidOut()
	if wanted.GetReuse() {
		whole := len(wanted.GetWrites()) > 0
		for _, file := range wanted.GetWrites() {
			whole = whole && known[file.GetName()] == dataset.LaidOutFile{Bytes: file.GetBytes(), Content: f.content()}
		}
		return whole, nil
	}
	for _, file := range wanted.GetFiles() {
		if known[file.GetName()].Content != f.content() {
			return false, f.strikeDevice()
		}
	}
	return false, nil
}

// strikeDevice clears the device's record of laid-out data but keeps the data.
func (f *Files) strikeDevice() error {
	if err := f.device.SetLaidOut(nil, 0); err != nil {
		return tool.Refuse(tool.ReasonOf(err), err)
	}
	return nil
}

// inspectDevice records what a prepare phase has laid out, and reports how many never-written bytes the step reads.
func (f *Files) inspectDevice(ended *agentapi.Ended, hung bool) {
	ended.UnwrittenBytes = f.unwritten
	wanted := f.request.GetDataset()
	if hung || ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || len(wanted.GetWrites()) == 0 {
		return
	}
	known := f.device.LaidOut()
	if wanted.GetReuse() {
		known = dataset.LaidOut{}
		for _, file := range wanted.GetWrites() {
			known[file.GetName()] = dataset.LaidOutFile{Bytes: file.GetBytes(), Content: f.content()}
		}
	}
	if err := f.device.SetLaidOut(known, deviceBytes(wanted)); err != nil {
		tool.Fail(ended, tool.ReasonOf(err), "%s", err)
	}
}

// clearDevice discards the data that this client has written to a device, and removes its mark.
func (s *Set) clearDevice(ctx context.Context, volume tool.VolumeConfig, client int) error {
	if client != s.env.Config.Client {
		return nil // Each client has its own device, so this one contains no data of other clients.
	}
	held := s.devices.of(volume.Name)
	if held.Device == nil || !held.write {
		// This agent has written nothing to the device, but an earlier agent of the same run and client may have marked the
		// device as its own.
		marked, err := dataset.DeviceIsMarked(volume.Path, s.owner(), client)
		if err != nil || !marked {
			return err
		}
		s.devices.release()
		ctx, cancel := context.WithTimeout(ctx, s.env.Timeouts.HeldAtEnd)
		defer cancel()
		device, err := dataset.OpenDevice(ctx, volume.Path, dataset.DeviceUse{Owner: s.owner(), Client: client,
			Write: true})
		if err != nil {
			return err
		}
		held = heldDevice{Device: device, write: true}
		s.devices.set(volume.Name, held)
	}
	leaves, err := held.Clear()
	if err == nil && leaves {
		// The operator adds the name of the claim and instructions for wiping the device.
		err = fmt.Errorf("%s was released, but the data on it remains because the device does not support "+
			"discard; wipe the device, or the next run will refuse it", volume.Path)
	}
	return err
}

// describeDevice sets the size of a raw device in its description, or a problem if the device cannot be used.
func describeDevice(volume *agentapi.Volume) {
	volume.Raw = true
	file, err := os.Open(volume.GetPath())
	if err != nil {
		volume.Problem = fmt.Sprintf("open the device: %v; check the events of the pod, and check that the pod's user is in "+
			"the device's group", err)
		return
	}
	defer func() { _ = file.Close() }()
	size, err := file.Seek(0, 2)
	if err != nil {
		volume.Problem = fmt.Sprintf("determine the size of %s: %v; check that it is a block device", volume.GetPath(), err)
		return
	}
	if size <= 0 {
		volume.Problem = fmt.Sprintf("the size of %s is %d; check that it is a block device", volume.GetPath(), size)
		return
	}
	volume.TotalBytes, volume.AvailableBytes = uint64(size), uint64(max(0, size-dataset.DeviceDataOffset))
}

// errNoWrites means that a step would write to a raw device without permission.
var errNoWrites = errors.New("the step writes to a raw device, but the target does not allow it; set " +
	"allowRawDeviceWrites: true if the data on it is not needed")
