package csisim_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/storagebench/storagebench/test/csisim"
)

const mebibyte = 1 << 20

// life is the life of one volume: its request and the paths where it is used.
type life struct {
	t       testing.TB
	d       *csisim.Driver
	block   bool
	mode    csi.VolumeCapability_AccessMode_Mode
	flags   []string
	name    string
	id      string
	context map[string]string
	// parameters and bytes go into the request.
	parameters map[string]string
	bytes      int64
	folder     string
}

func newLife(t testing.TB, d *csisim.Driver, name string, block bool) *life {
	t.Helper()
	l := &life{
		t: t, d: d, block: block, mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER, name: name, bytes: 8 * mebibyte,
		folder: filepath.Join(d.Home, "kubelet", name), parameters: map[string]string{},
	}
	must(t, os.MkdirAll(l.staging(), 0o755))
	return l
}

func (l *life) staging() string { return filepath.Join(l.folder, "staging") }
func (l *life) target() string  { return filepath.Join(l.folder, "target") }

func (l *life) capability() *csi.VolumeCapability {
	c := &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: l.mode}}
	if l.block {
		c.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
	} else {
		c.AccessType = &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{MountFlags: l.flags}}
	}
	return c
}

func (l *life) create() error {
	response, err := l.d.CreateVolume(context.Background(), &csi.CreateVolumeRequest{
		Name: l.name, CapacityRange: &csi.CapacityRange{RequiredBytes: l.bytes}, Parameters: l.parameters,
		VolumeCapabilities: []*csi.VolumeCapability{l.capability()},
	})
	if err != nil {
		return err
	}
	if l.id != "" && l.id != response.GetVolume().GetVolumeId() {
		return fmt.Errorf("the volume is %q now, it was %q", response.GetVolume().GetVolumeId(), l.id)
	}
	if got := response.GetVolume().GetCapacityBytes(); got < l.bytes {
		return fmt.Errorf("the volume has %d bytes, asked for were %d", got, l.bytes)
	}
	l.id, l.context = response.GetVolume().GetVolumeId(), response.GetVolume().GetVolumeContext()
	return nil
}

func (l *life) stage() error {
	_, err := l.d.NodeStageVolume(context.Background(), &csi.NodeStageVolumeRequest{
		VolumeId: l.id, StagingTargetPath: l.staging(), VolumeCapability: l.capability(), VolumeContext: l.context,
	})
	return err
}

func (l *life) publish() error { return l.publishAt(l.target(), false) }

func (l *life) publishAt(target string, readOnly bool) error {
	_, err := l.d.NodePublishVolume(context.Background(), &csi.NodePublishVolumeRequest{
		VolumeId: l.id, StagingTargetPath: l.staging(), TargetPath: target, VolumeCapability: l.capability(),
		VolumeContext: l.context, Readonly: readOnly,
	})
	return err
}

func (l *life) expand() error {
	const more = 16 * mebibyte
	response, err := l.d.ControllerExpandVolume(context.Background(), &csi.ControllerExpandVolumeRequest{
		VolumeId: l.id, CapacityRange: &csi.CapacityRange{RequiredBytes: more},
	})
	if err == nil && (response.GetCapacityBytes() != more || response.GetNodeExpansionRequired()) {
		err = fmt.Errorf("expansion gives %v", response)
	}
	return err
}

func (l *life) unpublish() error { return l.unpublishAt(l.target()) }

func (l *life) unpublishAt(target string) error {
	_, err := l.d.NodeUnpublishVolume(context.Background(), &csi.NodeUnpublishVolumeRequest{VolumeId: l.id, TargetPath: target})
	return err
}

func (l *life) unstage() error {
	_, err := l.d.NodeUnstageVolume(context.Background(), &csi.NodeUnstageVolumeRequest{VolumeId: l.id, StagingTargetPath: l.staging()})
	return err
}

func (l *life) remove() error {
	_, err := l.d.DeleteVolume(context.Background(), &csi.DeleteVolumeRequest{VolumeId: l.id})
	return err
}

// up runs the operations that make the volume usable by a pod.
func (l *life) up() {
	l.t.Helper()
	must(l.t, l.create())
	must(l.t, l.stage())
	must(l.t, l.publish())
}

// down reverses up and deletes the volume.
func (l *life) down() {
	l.t.Helper()
	must(l.t, l.unpublish())
	must(l.t, l.unstage())
	must(l.t, l.remove())
}

// file returns the path of a file in the volume.
func (l *life) file(name string) string { return filepath.Join(l.target(), name) }
