package csisim

import (
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// oneNode reports whether an access mode allows a volume on only one node at a time.
func oneNode(mode csi.VolumeCapability_AccessMode_Mode) bool {
	switch mode {
	case csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER, csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER:
		return true
	default:
		return false
	}
}

// readsOnly reports whether an access mode allows no writes.
func readsOnly(mode csi.VolumeCapability_AccessMode_Mode) bool {
	return mode == csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY || mode == csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
}

// use is a requested use of a volume.
type use struct {
	mode  csi.VolumeCapability_AccessMode_Mode
	block bool
	flags []string
}

// uses converts capabilities. It returns an error if the driver's volumes do not support one of them, or if file
// systems and block devices are mixed.
func (s shape) uses(capabilities []*csi.VolumeCapability) ([]use, error) {
	if len(capabilities) == 0 {
		return nil, errors.New("volume_capability: is missing")
	}
	var all []use
	for _, c := range capabilities {
		u := use{mode: c.GetAccessMode().GetMode(), block: c.GetBlock() != nil, flags: c.GetMount().GetMountFlags()}
		switch {
		case u.mode == csi.VolumeCapability_AccessMode_UNKNOWN:
			return nil, errors.New("volume_capability.access_mode: is missing")
		case c.GetBlock() == nil && c.GetMount() == nil:
			return nil, errors.New("volume_capability.access_type: is missing")
		case u.block && !s.block:
			return nil, errors.New("volume_capability.access_type: volumes of this driver are file systems only")
		case !oneNode(u.mode) && (u.block && !s.sharedBlock || !u.block && !s.sharing):
			return nil, fmt.Errorf("volume_capability.access_mode: volumes of this driver are for one node at a time, not %s", u.mode)
		case len(all) > 0 && u.block != all[0].block:
			return nil, errors.New("volume_capability.access_type: block and mount cannot both be had of a volume")
		}
		all = append(all, u)
	}
	return all, nil
}

// useOf converts a single capability.
func (s shape) useOf(c *csi.VolumeCapability) (use, error) {
	if c == nil {
		return use{}, errors.New("volume_capability: is missing")
	}
	all, err := s.uses([]*csi.VolumeCapability{c})
	if err != nil {
		return use{}, err
	}
	return all[0], nil
}
