package agent

import (
	"context"
	"fmt"
	"os"
	"sync"

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

// prepareDevice opens and locks the device. It checks that the step may read or write it as requested, and that
// everything the step reads was written before.
func (s *step) prepareDevice(volume VolumeConfig) (*dataset.Device, error) {
	a, wanted := s.agent, s.request.GetDataset()
	if wanted.GetContent() != "" && !s.request.GetRawWrites() {
		return nil, refuse(ReasonVolume, errNoWrites)
	}
	use := dataset.DeviceUse{Owner: a.owner(), Client: a.config.Client, Write: s.request.GetRawWrites(), Bytes: deviceBytes(wanted)}
	held := a.devices.of(volume.Name)
	var err error
	if held.Device != nil && held.write == use.Write {
		err = held.Use(use)
	} else {
		if held.Device != nil {
			_ = held.Close()
		}
		ctx, cancel := context.WithTimeout(s.stopped, s.heldFor())
		defer cancel()
		held = heldDevice{write: use.Write}
		if held.Device, err = dataset.OpenDevice(ctx, volume.Path, use); err == nil {
			a.devices.set(volume.Name, held)
		}
	}
	if err != nil {
		return nil, refuse(reasonOf(err), err)
	}
	for _, file := range wanted.GetReads() {
		switch {
		case !use.Write:
			share, err := held.ZeroShare(file.GetBytes())
			if err != nil {
				return nil, refuse(ReasonVolume, err)
			}
			s.unwritten += uint64(share * float64(file.GetBytes()))
		case held.WrittenBytes() < file.GetBytes():
			return nil, refuse(ReasonNotPrepared, fmt.Errorf("the step reads %d bytes of %s, of which a prepare phase has laid out %d",
				file.GetBytes(), volume.Path, held.WrittenBytes()))
		}
	}
	return held.Device, nil
}

// deviceBytes returns how many bytes of a device the step uses.
func deviceBytes(wanted *agentapi.Dataset) uint64 {
	var bytes uint64
	for _, file := range wanted.GetFiles() {
		bytes = max(bytes, file.GetBytes())
	}
	return bytes
}

// layoutDevice is layout for a device. The ownership mark on the device records what is laid out.
func (s *step) layoutDevice(device *dataset.Device) (bool, error) {
	wanted := s.request.GetDataset()
	if wanted.GetContent() == "" {
		return false, nil
	}
	known := device.LaidOut()
	if wanted.GetReuse() {
		whole := len(wanted.GetWrites()) > 0
		for _, file := range wanted.GetWrites() {
			whole = whole && known[file.GetName()] == dataset.LaidOutFile{Bytes: file.GetBytes(), Content: s.content()}
		}
		return whole, nil
	}
	for _, file := range wanted.GetFiles() {
		if known[file.GetName()].Content != s.content() {
			return false, s.strikeDevice(device)
		}
	}
	return false, nil
}

// strikeDevice clears the record of laid-out data on the device; the data itself stays.
func (s *step) strikeDevice(device *dataset.Device) error {
	if err := device.SetLaidOut(nil, 0); err != nil {
		return refuse(reasonOf(err), err)
	}
	return nil
}

// inspectDevice records what a prepare phase has laid out, and reports how many never-written bytes the step reads.
func (s *step) inspectDevice(ended *agentapi.Ended, device *dataset.Device, hung bool) {
	ended.UnwrittenBytes = s.unwritten
	wanted := s.request.GetDataset()
	if hung || ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || len(wanted.GetWrites()) == 0 {
		return
	}
	known := device.LaidOut()
	if wanted.GetReuse() {
		known = dataset.LaidOut{}
		for _, file := range wanted.GetWrites() {
			known[file.GetName()] = dataset.LaidOutFile{Bytes: file.GetBytes(), Content: s.content()}
		}
	}
	if err := device.SetLaidOut(known, deviceBytes(wanted)); err != nil {
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, reasonOf(err), err.Error()
	}
}

// clearDevice discards what this client has written to a device, and removes its mark.
func (a *Agent) clearDevice(ctx context.Context, volume VolumeConfig, client int) error {
	if client != a.config.Client {
		return nil // Every client has its own device.
	}
	held := a.devices.of(volume.Name)
	if held.Device == nil || !held.write {
		// An earlier agent of this client may have left its mark.
		marked, err := dataset.DeviceIsMarked(volume.Path, a.owner(), client)
		if err != nil || !marked {
			return err
		}
		a.devices.release()
		ctx, cancel := context.WithTimeout(ctx, a.timeouts.heldAtEnd)
		defer cancel()
		device, err := dataset.OpenDevice(ctx, volume.Path, dataset.DeviceUse{Owner: a.owner(), Client: client, Write: true})
		if err != nil {
			return err
		}
		held = heldDevice{Device: device, write: true}
		a.devices.set(volume.Name, held)
	}
	leaves, err := held.Clear()
	if err == nil && leaves {
		err = fmt.Errorf("%s is given back, and what was written stays on it, since it cannot discard: wipe it (blkdiscard -z, or dd of zeros) "+
			"before another run, which would refuse it", volume.Path)
	}
	return err
}

// describeDevice sets the size of a raw device, or what is wrong with it.
func describeDevice(volume *agentapi.Volume) {
	volume.Raw = true
	file, err := os.Open(volume.GetPath())
	if err != nil {
		volume.Problem = fmt.Sprintf("open the device: %v; look at the events of the pod, and whether its user is in the group of the device", err)
		return
	}
	defer func() { _ = file.Close() }()
	size, err := file.Seek(0, 2)
	if err != nil || size <= 0 {
		volume.Problem = fmt.Sprintf("%s tells no size (%d, %v): is it a block device?", volume.GetPath(), size, err)
		return
	}
	volume.TotalBytes, volume.AvailableBytes = uint64(size), uint64(max(0, size-dataset.DeviceDataOffset))
}
