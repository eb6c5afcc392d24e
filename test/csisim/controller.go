package csisim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// defaultBytes is the capacity of a volume that is requested without one.
	defaultBytes = gibibyte
	// blockBytes is the unit that capacities are rounded up to.
	blockBytes = 4096
	// maxNameBytes is the longest name that the CSI specification allows.
	maxNameBytes = 128
	// metadataPrefix begins the parameters that external-provisioner reads or adds, such as the name of the claim.
	metadataPrefix = "csi.storage.k8s.io/"
)

func invalid(format string, arguments ...any) error {
	return status.Errorf(codes.InvalidArgument, format, arguments...)
}

// ControllerGetCapabilities lists the capabilities of the controller service.
func (d *Driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	var all []*csi.ControllerServiceCapability
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME, csi.ControllerServiceCapability_RPC_MODIFY_VOLUME,
		csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		all = append(all, &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{
			Rpc: &csi.ControllerServiceCapability_RPC{Type: kind},
		}})
	}
	return &csi.ControllerGetCapabilitiesResponse{Capabilities: all}, nil
}

// CreateVolume creates a volume, or returns the one that exists.
func (d *Driver) CreateVolume(ctx context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	v, s, err := d.wanted(r)
	if err != nil {
		return nil, err
	}
	leave, err := d.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	there, err := d.home.load(v.ID)
	switch {
	case err == nil && !v.like(there, r.GetCapacityRange()):
		return nil, status.Errorf(codes.AlreadyExists, "volume %q is there already, with other parameters or another capacity of %d bytes", v.Name, there.CapacityBytes)
	case err == nil:
		v = there
	case !errors.Is(err, errNoVolume):
		return nil, err
	}
	if err := d.make(v, s); errors.Is(err, errOtherStore) {
		return nil, errors.Join(invalid("%s: %v", StoreParameter, err), remove(d.home.recordOf(v.ID)))
	} else if err != nil {
		return nil, err
	}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId: v.ID, CapacityBytes: v.CapacityBytes, VolumeContext: v.Context,
	}}, nil
}

// wanted returns the volume that a request describes, and its simulation. It creates nothing.
func (d *Driver) wanted(r *csi.CreateVolumeRequest) (volume, simulated, error) {
	switch name := r.GetName(); {
	case name == "":
		return volume{}, simulated{}, invalid("name: is missing")
	case len(name) > maxNameBytes:
		return volume{}, simulated{}, invalid("name: has %d bytes, at most %d are allowed", len(name), maxNameBytes)
	case r.GetVolumeContentSource() != nil:
		return volume{}, simulated{}, invalid("volume_content_source: snapshots and clones are not simulated")
	}
	uses, err := d.shape.uses(r.GetVolumeCapabilities())
	if err != nil {
		return volume{}, simulated{}, invalid("%v", err)
	}
	if err := d.mayChange(r.GetMutableParameters()); err != nil {
		return volume{}, simulated{}, err
	}
	s, err := simulatedOf(r.GetParameters(), r.GetMutableParameters(), d.DefaultScenario)
	if err != nil {
		return volume{}, simulated{}, invalid("%v", err)
	}
	a := asked{name: r.GetName(), parameters: r.GetParameters(), bytes: r.GetCapacityRange().GetRequiredBytes()}
	if a.bytes, err = d.capacity(a, r.GetCapacityRange()); err != nil {
		return volume{}, simulated{}, err
	}
	id := d.shape.id(a)
	return newVolume(volume{
		ID: id, Name: a.name, Parameters: a.parameters, Mutable: r.GetMutableParameters(),
		Context: d.shape.context(a, id), CapacityBytes: a.bytes, Block: uses[0].block,
	}, s), s, nil
}

// newVolume adds to a volume what the csisim parameters say.
func newVolume(v volume, s simulated) volume {
	v.SizeBytes, v.Inodes = roundUp(s.sizeBytes, blockBytes), s.inodes
	if v.Store = ownStore(v.ID); s.store != "" {
		v.Store = s.store
	}
	return v
}

// capacity returns the capacity that a volume gets for a requested range.
func (d *Driver) capacity(a asked, r *csi.CapacityRange) (int64, error) {
	if r.GetRequiredBytes() < 0 || r.GetLimitBytes() < 0 || r.GetLimitBytes() > 0 && r.GetLimitBytes() < r.GetRequiredBytes() {
		return 0, invalid("capacity_range: required %d and limit %d bytes contradict each other", r.GetRequiredBytes(), r.GetLimitBytes())
	}
	if a.bytes == 0 {
		a.bytes = defaultBytes
		if limit := r.GetLimitBytes(); limit > 0 {
			a.bytes = min(a.bytes, limit)
		}
	}
	bytes := roundUp(d.shape.bytes(a), blockBytes)
	if limit := r.GetLimitBytes(); limit > 0 && bytes > limit {
		return 0, status.Errorf(codes.OutOfRange, "capacity_range: volumes of this driver have %d bytes for %d, above the limit of %d",
			bytes, a.bytes, limit)
	}
	return bytes, nil
}

// like reports whether an existing volume matches the requested one.
func (v volume) like(there volume, r *csi.CapacityRange) bool {
	if r.GetRequiredBytes() > there.CapacityBytes || r.GetLimitBytes() > 0 && r.GetLimitBytes() < there.CapacityBytes {
		return false
	}
	return v.Block == there.Block && v.Store == there.Store && v.ID == there.ID && v.Name == there.Name &&
		maps.Equal(withoutMetadata(v.Parameters), withoutMetadata(there.Parameters))
}

func withoutMetadata(parameters map[string]string) map[string]string {
	left := maps.Clone(parameters)
	maps.DeleteFunc(left, func(key, _ string) bool { return strings.HasPrefix(key, metadataPrefix) })
	return left
}

// mayChange refuses mutable parameters that a VolumeAttributesClass of this driver cannot have.
func (d *Driver) mayChange(mutable map[string]string) error {
	for name := range mutable {
		if name != OverridesParameter && !slices.Contains(d.shape.mutable, name) {
			return invalid("mutable_parameters: %q cannot be changed, only %s", name,
				strings.Join(append([]string{OverridesParameter}, d.shape.mutable...), ", "))
		}
	}
	return nil
}

// DeleteVolume removes a volume and its contents. It succeeds if the volume does not exist.
func (d *Driver) DeleteVolume(ctx context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if r.GetVolumeId() == "" {
		return nil, invalid("volume_id: is missing")
	}
	leave, err := d.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	v, err := d.home.load(r.GetVolumeId())
	if errors.Is(err, errNoVolume) {
		return &csi.DeleteVolumeResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	device, err := deviceOf(d.Instance, v)
	if err != nil {
		return nil, err
	}
	bound, err := v.bound(device)
	if err != nil {
		return nil, err
	}
	if device != "" || len(bound) > 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %q is in use on this node (%s%d mounts)", v.ID, device, len(bound))
	}
	if err := d.unmake(ctx, v); err != nil {
		return nil, err
	}
	return &csi.DeleteVolumeResponse{}, nil
}

// ValidateVolumeCapabilities reports whether a volume supports the requested capabilities.
func (d *Driver) ValidateVolumeCapabilities(_ context.Context, r *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	switch {
	case r.GetVolumeId() == "":
		return nil, invalid("volume_id: is missing")
	case len(r.GetVolumeCapabilities()) == 0:
		return nil, invalid("volume_capabilities: are missing")
	}
	v, err := d.known(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	uses, err := d.shape.uses(r.GetVolumeCapabilities())
	if err == nil && uses[0].block != v.Block {
		err = errors.New("volume_capability.access_type: is not what the volume was created for")
	}
	if err != nil {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: err.Error()}, nil //nolint:nilerr // the error is the answer
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext: r.GetVolumeContext(), VolumeCapabilities: r.GetVolumeCapabilities(), Parameters: r.GetParameters(),
	}}, nil
}

// known loads a volume, and returns NotFound if it does not exist.
func (d *Driver) known(id string) (volume, error) {
	v, err := d.home.load(id)
	if errors.Is(err, errNoVolume) {
		return v, status.Errorf(codes.NotFound, "%v of driver %s", err, d.Name)
	}
	return v, err
}

// tokenPrefix begins the token of the next page. The key of the last volume of the page follows it.
const tokenPrefix = "after-"

// ListVolumes lists volumes in the order of their keys. A page therefore continues correctly after volumes were
// deleted.
func (d *Driver) ListVolumes(_ context.Context, r *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	after, ok := strings.CutPrefix(r.GetStartingToken(), tokenPrefix)
	if r.GetStartingToken() != "" && (!ok || len(after) != len(key(""))) {
		return nil, status.Errorf(codes.Aborted, "starting_token: %q is none of ours", r.GetStartingToken())
	}
	if r.GetMaxEntries() < 0 {
		return nil, invalid("max_entries: %d is below 0", r.GetMaxEntries())
	}
	all, err := d.home.all()
	if err != nil {
		return nil, err
	}
	var response csi.ListVolumesResponse
	for _, v := range all {
		if v.key() <= after || !v.Made {
			continue
		}
		if most := int(r.GetMaxEntries()); most > 0 && len(response.Entries) == most {
			response.NextToken = tokenPrefix + key(response.Entries[most-1].Volume.VolumeId)
			break
		}
		response.Entries = append(response.Entries, &csi.ListVolumesResponse_Entry{Volume: &csi.Volume{
			VolumeId: v.ID, CapacityBytes: v.CapacityBytes, VolumeContext: v.Context,
		}})
	}
	return &response, nil
}

// ControllerExpandVolume grows a volume while it is in use. The node needs no expansion of its own.
func (d *Driver) ControllerExpandVolume(ctx context.Context, r *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	switch {
	case r.GetVolumeId() == "":
		return nil, invalid("volume_id: is missing")
	case r.GetCapacityRange() == nil:
		return nil, invalid("capacity_range: is missing")
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
	bytes, err := d.capacity(asked{name: v.Name, parameters: v.Parameters, bytes: r.GetCapacityRange().GetRequiredBytes()}, r.GetCapacityRange())
	if err != nil {
		return nil, err
	}
	if err := d.whole(v); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	if bytes > v.CapacityBytes {
		v.CapacityBytes = bytes
		if err := d.home.save(v); err != nil {
			return nil, err
		}
		d.step()
	}
	// Grow it even if the record has this capacity already: an earlier process may have been killed before it did so.
	if err := d.grow(v); err != nil {
		return nil, err
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: v.CapacityBytes}, nil
}

func (d *Driver) grow(v volume) error {
	if err := d.fill(v); err != nil {
		return err
	}
	device, err := deviceOf(d.Instance, v)
	if err != nil || device == "" {
		return err
	}
	d.step()
	return grow(device)
}

// ControllerModifyVolume applies the parameters of a VolumeAttributesClass to the store of a volume.
func (d *Driver) ControllerModifyVolume(ctx context.Context, r *csi.ControllerModifyVolumeRequest) (*csi.ControllerModifyVolumeResponse, error) {
	if r.GetVolumeId() == "" {
		return nil, invalid("volume_id: is missing")
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
	if err := d.mayChange(r.GetMutableParameters()); err != nil {
		return nil, err
	}
	s, err := simulatedOf(v.Parameters, r.GetMutableParameters(), d.DefaultScenario)
	if err != nil {
		return nil, invalid("%v", err)
	}
	if !maps.Equal(v.Mutable, r.GetMutableParameters()) {
		if err := d.storeOf(v).Set(s.config); err != nil {
			return nil, fmt.Errorf("changing the store of volume %q: %w", v.ID, err)
		}
		d.step()
		v.Mutable = r.GetMutableParameters()
		if err := d.home.save(v); err != nil {
			return nil, err
		}
	}
	return &csi.ControllerModifyVolumeResponse{}, nil
}
