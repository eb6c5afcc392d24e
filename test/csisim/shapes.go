package csisim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

const gibibyte = 1 << 30

// asked is a request for a volume.
type asked struct {
	name       string
	parameters map[string]string
	bytes      int64
}

// shape describes the features of a driver's volumes. Drivers that are not in shapes have the shape generic.
type shape struct {
	// sharing says that several nodes may mount a volume at once.
	sharing bool
	// block says that volumes can be raw devices.
	block bool
	// sharedBlock says that several nodes may use a raw device at once.
	sharedBlock bool
	// bytes returns the capacity that the driver gives for a requested one.
	bytes func(asked) int64
	// id returns the handle of a volume, always the same for the same name.
	id func(asked) string
	// context returns the attributes of a volume.
	context func(a asked, id string) map[string]string
	// fileSystem is the file system type of a PersistentVolume whose class names none.
	fileSystem string
	// mutable lists further parameters that a VolumeAttributesClass may have. They have no effect here.
	mutable []string
}

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// digits returns hexadecimal digits derived from a name.
func digits(name string, count int) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])[:count]
}

func wholeGibibytes(a asked) int64 { return roundUp(a.bytes, gibibyte) }

func noContext(asked, string) map[string]string { return nil }

// parametersWith returns all parameters, including the simulation's, as the drivers for Azure and SMB put them into the
// attributes.
func parametersWith(a asked, more map[string]string) map[string]string {
	all := maps.Clone(a.parameters)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, more)
	return all
}

// lustreBytes rounds as fsx.csi.aws.com does: 1.2 TiB, then steps of 2.4 TiB. HDD and SCRATCH_1 have other steps.
func lustreBytes(a asked) int64 {
	step := int64(2400 * gibibyte)
	switch {
	case a.parameters["storageType"] == "HDD" && a.parameters["perUnitStorageThroughput"] == "12":
		step = 6000 * gibibyte
	case a.parameters["storageType"] == "HDD":
		step = 1800 * gibibyte
	case a.parameters["deploymentType"] == "SCRATCH_1":
		step = 3600 * gibibyte
	case a.bytes <= step/2:
		return step / 2
	}
	return roundUp(a.bytes, step)
}

func lustreID(a asked) string { return "fs-0" + digits(a.name, 16) }

func lustreContext(a asked, id string) map[string]string {
	return map[string]string{"dnsname": id + ".fsx.us-east-1.amazonaws.com", "mountname": digits(a.name+"/mount", 8)}
}

func openZFSID(a asked) string {
	if a.parameters["ResourceType"] == "volume" {
		return "fsvol-0" + digits(a.name, 16)
	}
	return "fs-0" + digits(a.name, 16)
}

func openZFSContext(a asked, id string) map[string]string {
	kind := a.parameters["ResourceType"]
	if kind == "" {
		kind = "filesystem"
	}
	fileSystem, volume := id, "/fsx"
	if kind == "volume" {
		fileSystem, volume = strings.Trim(a.parameters["ParentVolumeId"], `"`), "/fsx/"+a.name
	}
	return map[string]string{"ResourceType": kind, "DNSName": fileSystem + ".fsx.us-east-1.amazonaws.com", "VolumePath": volume}
}

func fileSystemOr(a asked, other string) string {
	if id := a.parameters["fileSystemId"]; id != "" {
		return id
	}
	return other
}

func smbID(a asked) string {
	return strings.Trim(a.parameters["source"], "/") + "#" + smbFolder(a) + "#" + a.name + "#" + a.parameters["onDelete"]
}

func smbFolder(a asked) string {
	if a.parameters["subDir"] != "" {
		return a.parameters["subDir"]
	}
	return a.name
}

func azureFileID(a asked) string {
	return fmt.Sprintf("%s#%s#%s###%s", or(a.parameters["resourceGroup"], "csisim"), or(a.parameters["storageAccount"], "f"+digits(a.name, 20)),
		or(a.parameters["shareName"], a.name), a.parameters["csi.storage.k8s.io/pvc/namespace"])
}

func azureDiskID(a asked) string {
	return path.Join("/subscriptions", "00000000-0000-0000-0000-000000000000", "resourceGroups", or(a.parameters["resourceGroup"], "csisim"),
		"providers/Microsoft.Compute/disks", or(a.parameters["diskName"], a.name))
}

func or(value, other string) string {
	if value == "" {
		return other
	}
	return value
}

// generic is the shape of drivers that imitate no real one.
var generic = shape{
	sharing: true, block: true, sharedBlock: true,
	bytes:   func(a asked) int64 { return a.bytes },
	id:      func(a asked) string { return a.name },
	context: noContext,
}

// shapes holds the real drivers, after their CreateVolume.
var shapes = map[string]shape{
	"fsx.csi.aws.com": {sharing: true, bytes: lustreBytes, id: lustreID, context: lustreContext},
	"fsx.openzfs.csi.aws.com": {
		sharing: true, bytes: wholeGibibytes, id: openZFSID, context: openZFSContext,
	},
	"efs.csi.aws.com": {
		sharing: true, bytes: func(a asked) int64 { return a.bytes }, // the driver enforces no capacity
		id:      func(a asked) string { return fileSystemOr(a, "fs-0csisim") + "::fsap-0" + digits(a.name, 16) },
		context: noContext,
	},
	"ebs.csi.aws.com": {
		fileSystem: "ext4", block: true, bytes: wholeGibibytes,
		id:      func(a asked) string { return "vol-0" + digits(a.name, 16) },
		context: noContext,
		mutable: []string{"type", "iops", "throughput"},
	},
	"disk.csi.azure.com": {
		fileSystem: "ext4", block: true, sharedBlock: true, bytes: wholeGibibytes, id: azureDiskID,
		context: func(a asked, _ string) map[string]string {
			return parametersWith(a, map[string]string{"requestedsizegib": strconv.FormatInt(wholeGibibytes(a)/gibibyte, 10)})
		},
		mutable: []string{"DiskIOPSReadWrite", "DiskMBpsReadWrite", "diskIOPSReadWrite", "diskMBpsReadWrite", "skuName"},
	},
	"file.csi.azure.com": {
		sharing: true, bytes: wholeGibibytes, id: azureFileID,
		context: func(a asked, _ string) map[string]string { return parametersWith(a, nil) },
	},
	"smb.csi.k8s.io": {
		sharing: true, bytes: func(a asked) int64 { return a.bytes }, id: smbID,
		context: func(a asked, _ string) map[string]string {
			name := "subdir" // the driver's spelling, unless the class has the parameter
			if a.parameters["subDir"] != "" {
				name = "subDir"
			}
			return parametersWith(a, map[string]string{name: smbFolder(a)})
		},
	},
}

// RealDrivers returns the names of the real drivers that are imitated.
func RealDrivers() []string { return slices.Sorted(maps.Keys(shapes)) }

func shapeOf(driver string) shape {
	if s, ok := shapes[driver]; ok {
		return s
	}
	return generic
}
