package csisim

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/moby/sys/mountinfo"
)

// staticBytes is the capacity of a volume that this driver did not create.
const staticBytes = 100 * gibibyte

// NodeGetInfo returns the node's name.
func (d *Driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.Node}, nil
}

// NodeGetCapabilities lists the capabilities of the node service.
func (d *Driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	var all []*csi.NodeServiceCapability
	for _, kind := range []csi.NodeServiceCapability_RPC_Type{
		csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME, csi.NodeServiceCapability_RPC_GET_VOLUME_STATS,
		csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		all = append(all, &csi.NodeServiceCapability{Type: &csi.NodeServiceCapability_Rpc{
			Rpc: &csi.NodeServiceCapability_RPC{Type: kind},
		}})
	}
	return &csi.NodeGetCapabilitiesResponse{Capabilities: all}, nil
}

// NodeStageVolume starts the store. It then mounts the volume for the node, or attaches a loop device to it.
func (d *Driver) NodeStageVolume(ctx context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	switch {
	case r.GetVolumeId() == "":
		return nil, invalid("volume_id: is missing")
	case r.GetStagingTargetPath() == "":
		return nil, invalid("staging_target_path: is missing")
	}
	u, err := d.shape.useOf(r.GetVolumeCapability())
	if err != nil {
		return nil, invalid("%v", err)
	}
	leave, err := d.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	v, err := d.knownOrStatic(r.GetVolumeId(), r.GetVolumeContext(), u)
	if err != nil {
		return nil, err
	}
	device, err := d.serve(ctx, v, u)
	if err != nil || v.Block { // a device is staged once it exists
		return &csi.NodeStageVolumeResponse{}, err
	}
	d.step()
	return &csi.NodeStageVolumeResponse{}, d.bind(v, r.GetStagingTargetPath(), device, flagsOf(u.flags))
}

// knownOrStatic returns a known volume, or creates one for a static handle. A handle can be static if its attributes
// describe a simulation or the driver has a default scenario.
func (d *Driver) knownOrStatic(id string, attributes map[string]string, u use) (volume, error) {
	v, err := d.home.load(id)
	if err == nil && v.Made || err != nil && !errors.Is(err, errNoVolume) {
		return v, err
	}
	describes := slices.ContainsFunc(slices.Collect(maps.Keys(attributes)), func(name string) bool { return strings.HasPrefix(name, Prefix) })
	if err == nil && v.Name != "" || err != nil && !describes && d.DefaultScenario == "" {
		return v, status.Errorf(codes.NotFound,
			"volume %q was not created by the simulation of %s; give it an attribute %s, or start the driver with a default scenario",
			id, d.Name, ScenarioParameter)
	}
	s, err := simulatedOf(attributes, nil, d.DefaultScenario)
	if err != nil {
		return v, invalid("%v", err)
	}
	v = newVolume(volume{ID: id, Parameters: attributes, Context: attributes, CapacityBytes: staticBytes, Block: u.block}, s)
	if err := d.make(v, s); errors.Is(err, errOtherStore) {
		return v, errors.Join(invalid("%s: %v", StoreParameter, err), remove(d.home.recordOf(id)))
	} else if err != nil {
		return v, err
	}
	v.Made = true
	return v, nil
}

// serve starts the volume's store unless it runs, and returns the loop device of a raw block volume.
func (d *Driver) serve(ctx context.Context, v volume, u use) (device string, err error) {
	if u.block != v.Block {
		return "", status.Error(codes.FailedPrecondition, "volume_capability.access_type: is not what the volume was created for")
	}
	if err := d.whole(v); err != nil {
		return "", status.Error(codes.FailedPrecondition, err.Error())
	}
	if err := d.storeOf(v).ensure(ctx, d.Program); err != nil {
		return "", err
	}
	d.step()
	if !v.Block {
		return "", nil
	}
	return attach(d.Instance, v, d.home.served(v))
}

// bind mounts a volume at a path.
func (d *Driver) bind(v volume, target, device string, flags uint64) error {
	source := d.home.served(v)
	if v.Block {
		source = device
	}
	err := v.bind(source, target, device, flags)
	if errors.Is(err, errIncompatible) {
		return status.Errorf(codes.AlreadyExists, "%v: %s", err, target)
	}
	return err
}

// NodeUnstageVolume undoes NodeStageVolume. It succeeds if nothing is staged.
func (d *Driver) NodeUnstageVolume(ctx context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	switch {
	case r.GetVolumeId() == "":
		return nil, invalid("volume_id: is missing")
	case r.GetStagingTargetPath() == "":
		return nil, invalid("staging_target_path: is missing")
	}
	leave, err := d.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	v, device, err := d.used(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if device != "" {
		err = detach(device)
	} else {
		err = v.unbind(r.GetStagingTargetPath())
	}
	d.step()
	return &csi.NodeUnstageVolumeResponse{}, err
}

// used returns a volume and its device, if it has one. An unknown volume is no error: it may have mounts of a store
// that is gone.
func (d *Driver) used(id string) (v volume, device string, err error) {
	v, err = d.home.load(id)
	if errors.Is(err, errNoVolume) {
		return volume{ID: id}, "", nil
	}
	if err != nil {
		return v, "", err
	}
	device, err = deviceOf(d.Instance, v)
	return v, device, err
}

// NodePublishVolume mounts a volume for a pod.
func (d *Driver) NodePublishVolume(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	switch {
	case r.GetVolumeId() == "":
		return nil, invalid("volume_id: is missing")
	case r.GetTargetPath() == "":
		return nil, invalid("target_path: is missing")
	}
	u, err := d.shape.useOf(r.GetVolumeCapability())
	if err != nil {
		return nil, invalid("%v", err)
	}
	if r.GetStagingTargetPath() == "" {
		return nil, status.Error(codes.FailedPrecondition, "staging_target_path: is missing; the volume is to be staged first")
	}
	leave, err := d.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	v, err := d.known(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	// Serve it again, because the store may have died after staging.
	device, err := d.serve(ctx, v, u)
	if err != nil {
		return nil, err
	}
	if u.mode == csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER {
		if err := onlyAt(v, device, r.GetStagingTargetPath(), r.GetTargetPath()); err != nil {
			return nil, err
		}
	}
	d.step()
	flags := flagsOf(u.flags)
	if r.GetReadonly() || readsOnly(u.mode) {
		flags |= unix.MOUNT_ATTR_RDONLY
	}
	return &csi.NodePublishVolumeResponse{}, d.bind(v, r.GetTargetPath(), device, flags)
}

// onlyAt returns an error if a volume for a single pod is mounted for another one.
func onlyAt(v volume, device, staging, target string) error {
	bound, err := v.bound(device)
	if err != nil {
		return err
	}
	elsewhere := func(m *mountinfo.Info) bool { return m.Mountpoint != staging && m.Mountpoint != target }
	if at := slices.IndexFunc(bound, elsewhere); at >= 0 {
		return status.Errorf(codes.FailedPrecondition, "volume %q is for one pod only and is at %s already", v.ID, bound[at].Mountpoint)
	}
	return nil
}

// NodeUnpublishVolume undoes NodePublishVolume and removes the target. It succeeds if nothing is published.
func (d *Driver) NodeUnpublishVolume(ctx context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	switch {
	case r.GetVolumeId() == "":
		return nil, invalid("volume_id: is missing")
	case r.GetTargetPath() == "":
		return nil, invalid("target_path: is missing")
	}
	leave, err := d.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	v, _, err := d.used(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if err := v.unbind(r.GetTargetPath()); err != nil {
		return nil, err
	}
	d.step()
	return &csi.NodeUnpublishVolumeResponse{}, remove(r.GetTargetPath())
}

// NodeGetVolumeStats returns how full a volume is, for a path where it is mounted.
func (d *Driver) NodeGetVolumeStats(_ context.Context, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	switch {
	case r.GetVolumeId() == "":
		return nil, invalid("volume_id: is missing")
	case r.GetVolumePath() == "":
		return nil, invalid("volume_path: is missing")
	}
	v, err := d.known(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	device, err := deviceOf(d.Instance, v)
	if err != nil {
		return nil, err
	}
	there, err := at(r.GetVolumePath())
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(there, func(m *mountinfo.Info) bool { return v.isMount(m, device) }) {
		return nil, status.Errorf(codes.NotFound, "volume %q is not at %s", v.ID, r.GetVolumePath())
	}
	if v.Block {
		return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: v.full()}}}, nil
	}
	stat, err := usage(r.GetVolumePath())
	if err != nil {
		return nil, err
	}
	block := stat.Bsize
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{
		{
			Unit: csi.VolumeUsage_BYTES, Total: int64(stat.Blocks) * block, Available: int64(stat.Bavail) * block,
			Used: int64(stat.Blocks-stat.Bfree) * block,
		},
		{
			Unit: csi.VolumeUsage_INODES, Total: int64(stat.Files), Available: int64(stat.Ffree),
			Used: int64(stat.Files - stat.Ffree),
		},
	}}, nil
}
