package limits

import (
	"slices"
	"strconv"
	"strings"
)

// Description contains what is known about the storage of a target: its volumes and the machines that use them.
type Description struct {
	// Volumes are the volumes that the target's clients load at the same time.
	Volumes []Volume
	// Clients are the machines that run the load, by type; empty if they are not known.
	Clients []Machines
	// Region is the region of the storage, such as eu-central-1; empty if it is not known.
	Region string
}

// Volume describes one or more equal volumes of a target.
type Volume struct {
	// Driver is the name of the CSI driver, such as ebs.csi.aws.com; empty for a volume without one.
	Driver string
	// Parameters are the parameters of the StorageClass. nil means that the class does not exist or was deleted, and all
	// parameters are unknown. An empty map means that the class sets none, and the driver's defaults apply.
	Parameters map[string]string
	// Attributes are the volumeAttributes of the PersistentVolume; nil if it has none.
	Attributes map[string]string
	// Modified are the parameters of the VolumeAttributesClass in force; they take precedence over Parameters and
	// Attributes.
	Modified map[string]string
	// CapacityBytes is the size of the volume; 0 if it is not known.
	CapacityBytes int64
	// MountOptions are the mount options in force, such as nconnect=4 and cache=none.
	MountOptions []string
	// Count is the number of volumes with this description that are loaded at the same time, such as the disks of a
	// stripe or the volumes of all clients; 0 means 1.
	Count int
}

// Machines are client nodes of one type.
type Machines struct {
	// Type is the value of node.kubernetes.io/instance-type, such as m5n.8xlarge or Standard_D32s_v3.
	Type string
	// Nodes is the number of nodes of this type that run the load.
	Nodes int
}

// Missing describes an unknown value that is needed to compute a limit.
type Missing struct {
	// Field is the field of the specification that sets the value, or the name of the value if there is no such field.
	Field string
	// What explains why the value is unknown, and what to specify.
	What string
}

// parameter returns the value of the first of the given parameters that is set. Values in Modified take precedence over
// those in Attributes, which take precedence over those in Parameters. Like the drivers, parameter ignores the case of
// names.
func (v Volume) parameter(names ...string) (string, bool) {
	for _, from := range []map[string]string{v.Modified, v.Attributes, v.Parameters} {
		for _, name := range names {
			if value, found := from[name]; found && value != "" {
				return value, true
			}
		}
		for key, value := range from {
			if value != "" && slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, key) }) {
				return value, true
			}
		}
	}
	return "", false
}

// given returns the value of the first of the given parameters that is set, or `otherwise` if none is set.
func (v Volume) given(otherwise string, names ...string) string {
	if value, found := v.parameter(names...); found {
		return value
	}
	return otherwise
}

// count returns the number of volumes, at least 1.
func (v Volume) count() int { return max(1, v.Count) }

// mountOption returns the value of an option such as nconnect=4, or false if the option is absent.
func (v Volume) mountOption(name string) (string, bool) {
	for _, options := range v.MountOptions {
		for option := range strings.SplitSeq(options, ",") {
			if key, value, _ := strings.Cut(strings.TrimSpace(option), "="); key == name {
				return value, true
			}
		}
	}
	return "", false
}

// connections returns the number of connections of a mount, from the mount option that sets it, or 1 by default.
func (v Volume) connections(option string) int {
	text, _ := v.mountOption(option)
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		return 1
	}
	return count
}
