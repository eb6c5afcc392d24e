package limits

import (
	"slices"
	"strconv"
	"strings"
)

// Description is what is known of a target: its volumes and the machines that use them.
type Description struct {
	// Volumes that the target's clients load together.
	Volumes []Volume
	// Clients are the machines that the load runs on, by type. Empty where they are not known.
	Clients []Machines
	// Region of the storage, such as eu-central-1; empty where it is not known.
	Region string
	// CompressionRatio is apparent size over stored size of the data, such as 3.75; 0 where it was not measured.
	CompressionRatio float64
}

// Volume is one kind of volume of a target.
type Volume struct {
	// Driver is the name of the CSI driver, such as ebs.csi.aws.com; empty for a volume without one.
	Driver string
	// Parameters are those of the StorageClass; nil where there is none (any more), so that a parameter which
	// is absent is not known. A class without parameters is an empty map: then the driver's defaults hold.
	Parameters map[string]string
	// Attributes are the volumeAttributes of the PersistentVolume; nil where it has none.
	Attributes map[string]string
	// Modified are the parameters of the VolumeAttributesClass that is in force; they count more than the others.
	Modified map[string]string
	// CapacityBytes of the volume; 0 where it is not known.
	CapacityBytes int64
	// MountOptions in force, such as nconnect=4, cache=none.
	MountOptions []string
	// Count of such volumes that are loaded together, as disks of a stripe or one a client; 0 is 1.
	Count int
}

// Machines are client nodes of one type.
type Machines struct {
	// Type is the value of node.kubernetes.io/instance-type, such as m5n.8xlarge or Standard_D32s_v3.
	Type string
	// Nodes of the type that the load runs on.
	Nodes int
	// FlowsPerNode is the number of connections of a node to the storage; 0: as the mount options say, where
	// they do.
	FlowsPerNode int
}

// Missing is what has to be known before a limit can be.
type Missing struct {
	// Field to set in the specification, or what is to be found out.
	Field string
	// What is not known, and what to write.
	What string
}

// parameter looks a name up in what is known of the volume: what was modified after creation, what the volume
// was created with, the class. Drivers do not mind upper and lower case; neither does this.
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

// given is the parameter, or another value where it is absent.
func (v Volume) given(otherwise string, names ...string) string {
	if value, found := v.parameter(names...); found {
		return value
	}
	return otherwise
}

// count of the volumes, at least 1.
func (v Volume) count() int { return max(1, v.Count) }

// mountOption is the value of an option such as nconnect=4; "" where it is absent.
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

// connections of one mount by a mount option that counts them.
func (v Volume) connections(option string) int {
	text, _ := v.mountOption(option)
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		return 1
	}
	return count
}
