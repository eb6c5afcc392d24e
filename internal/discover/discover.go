package discover

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
)

// Target is the input of Describe: the cluster's objects and the agents' reports about one target.
type Target struct {
	Claims []Claim
	// Nodes lists the nodes that the clients run on, without duplicates.
	Nodes []Node
	// Environments holds the environments that all clients of the run reported, including the clients of other targets.
	Environments []v1alpha1.Environment
	Name         string
	// Denied maps each kind that could not be read to the reason, for example "nodes" to "forbidden".
	Denied map[string]string
}

// Claim is one claim of a target, together with the other objects that describe its storage. A pointer is nil if the
// object does not exist or could not be read.
type Claim struct {
	// Volume is the name of the volume within the target.
	Volume string
	// MadeForRun is true if the claim was created for this run and did not adopt an existing volume.
	MadeForRun bool
	Claim      *corev1.PersistentVolumeClaim
	PV         *corev1.PersistentVolume
	Class      *storagev1.StorageClass
	Attributes *storagev1.VolumeAttributesClass
	// Driver is the CSIDriver object of the volume's driver, or nil if it could not be read.
	Driver *storagev1.CSIDriver
}

// Node is a node that clients run on. Labels is nil if the node could not be read.
type Node struct {
	Name   string
	Labels map[string]string
}

// The kinds that Describe reads. Target.Denied uses these names as keys.
const (
	KindVolume          = "persistentvolumes"
	KindClass           = "storageclasses"
	KindAttributesClass = "volumeattributesclasses"
	KindNode            = "nodes"
)

// Annotations that Kubernetes sets.
const (
	annotationProvisionedBy = "pv.kubernetes.io/provisioned-by"
	annotationProvisioner   = "volume.kubernetes.io/storage-provisioner"
)

// Found is the result of Describe.
type Found struct {
	// Description holds the properties of the storage that determine its documented limits.
	Description limits.Description
	// volumes holds the other properties of the volumes, such as names, in the order of Description.Volumes. machines
	// counts all client nodes by instance type, including nodes of unknown type.
	volumes  []v1alpha1.VolumeDescription
	machines []v1alpha1.MachineDescription
	missing  []v1alpha1.MissingFact
	notes    []string
}

// Describe derives a description from the objects of a target. Volumes that differ only in their names are combined
// into one entry with a count.
func Describe(t Target) Found {
	var found Found
	found.denied(t.Denied)
	var keys []string
	seen := map[string]bool{}
	for _, claim := range t.Claims {
		if claim.PV != nil {
			if seen[claim.PV.Name] {
				continue // several volumes of the target can name the same claim; count its PersistentVolume once
			}
			seen[claim.PV.Name] = true
		}
		volume, names := found.volume(claim, mountOf(t, claim.Volume), t.Denied)
		key := groupKey(volume, names)
		if at := slices.Index(keys, key); at >= 0 {
			found.Description.Volumes[at].Count++
			continue
		}
		volume.Count = 1
		keys = append(keys, key)
		found.Description.Volumes = append(found.Description.Volumes, volume)
		found.volumes = append(found.volumes, names)
	}
	found.noteMountDifferences(t)
	found.nodes(t)
	return found
}

// groupKey returns a key for grouping volumes. Volumes that differ only in their names have the same key.
func groupKey(volume limits.Volume, names v1alpha1.VolumeDescription) string {
	names.Name, names.ClaimName, names.VolumeName, names.VolumeHandle, names.Server = "", "", "", "", ""
	volume.Attributes = maps.Clone(volume.Attributes)
	maps.DeleteFunc(volume.Attributes, func(attribute, _ string) bool { return !limits.DescribesKind(attribute) })
	return fmt.Sprintf("%#v\x00%#v", volume, names)
}

// volume describes the volume of one claim. It returns the properties on which limits depend and, separately, the
// properties that are only recorded, such as names.
func (f *Found) volume(c Claim, mount *v1alpha1.MountedVolume, denied map[string]string) (limits.Volume, v1alpha1.VolumeDescription) {
	names := v1alpha1.VolumeDescription{Name: c.Volume, MadeForRun: c.MadeForRun}
	var volume limits.Volume
	if c.Claim != nil {
		names.ClaimName = c.Claim.Name
		for _, mode := range c.Claim.Spec.AccessModes {
			names.AccessModes = append(names.AccessModes, string(mode))
		}
		names.VolumeMode = string(corev1.PersistentVolumeFilesystem)
		if c.Claim.Spec.VolumeMode != nil {
			names.VolumeMode = string(*c.Claim.Spec.VolumeMode)
		}
		volume.Driver = c.Claim.Annotations[annotationProvisioner]
		size := c.Claim.Status.Capacity[corev1.ResourceStorage]
		volume.CapacityBytes = size.Value()
	}
	if c.PV != nil {
		from := sourceOf(&c.PV.Spec.PersistentVolumeSource)
		names.VolumeName, names.VolumeHandle, names.Server = c.PV.Name, from.handle, from.server
		names.DriverVersion = driverVersion(c.Driver)
		volume.Driver, volume.Attributes = from.driver, limits.PlainParameters(from.attributes)
		size := c.PV.Spec.Capacity[corev1.ResourceStorage]
		volume.CapacityBytes = size.Value()
		volume.MountOptions = limits.PlainOptions(c.PV.Spec.MountOptions)
	}
	f.class(c, &volume, &names, denied)
	f.modified(c, &volume, &names, denied)
	if mount != nil {
		names.FileSystem = mount.FileSystem
		if onNetwork(mount.Source) {
			names.Server = mount.Source
		}
		if mount.Options != "" {
			volume.MountOptions = limits.PlainOptions(strings.Split(mount.Options, ","))
		}
	}
	return volume, names
}

// class fills in the StorageClass and the parameters with which a volume was created, if they are known.
func (f *Found) class(c Claim, volume *limits.Volume, names *v1alpha1.VolumeDescription, denied map[string]string) {
	names.StorageClass = ClassOf(c)
	if names.StorageClass == "" {
		return
	}
	if c.PV != nil && c.PV.Annotations[annotationProvisionedBy] == "" {
		f.note("PersistentVolume %s was created manually, so the parameters of its StorageClass %s do not describe it", c.PV.Name, names.StorageClass)
		return
	}
	switch {
	case c.Class == nil:
		names.StorageClassGone = denied[KindClass] == ""
	case c.PV != nil && c.PV.CreationTimestamp.Before(&c.Class.CreationTimestamp):
		names.StorageClassGone = true
		f.note("StorageClass %s is newer than PersistentVolume %s, so the volume was created with an earlier class of that name", c.Class.Name, c.PV.Name)
	case c.PV == nil && c.Claim != nil && volume.Driver != c.Class.Provisioner:
	default:
		if volume.Parameters = limits.PlainParameters(c.Class.Parameters); volume.Parameters == nil {
			// The class sets no parameters, so the driver's defaults apply. nil would mean unknown parameters.
			volume.Parameters = map[string]string{}
		}
	}
}

// ClassOf returns the StorageClass that a claim's volume refers to, or "" if there is none.
func ClassOf(c Claim) string {
	if c.PV != nil {
		return c.PV.Spec.StorageClassName
	}
	if c.Claim != nil && c.Claim.Spec.StorageClassName != nil {
		return *c.Claim.Spec.StorageClassName
	}
	return ""
}

// AttributesClassOf returns the name of the VolumeAttributesClass that a claim's volume currently has, or "" if it has
// none.
func AttributesClassOf(c Claim) string {
	switch {
	case c.Claim != nil && c.Claim.Status.CurrentVolumeAttributesClassName != nil:
		return *c.Claim.Status.CurrentVolumeAttributesClassName
	case c.PV != nil && c.PV.Spec.VolumeAttributesClassName != nil:
		return *c.PV.Spec.VolumeAttributesClassName
	}
	return ""
}

// modified applies the changes that were made to a volume after its creation. If the changes are unknown, it removes
// the original parameters, because they may no longer apply.
func (f *Found) modified(c Claim, volume *limits.Volume, names *v1alpha1.VolumeDescription, denied map[string]string) {
	names.VolumeAttributesClass = AttributesClassOf(c)
	if c.Claim != nil {
		if changing := c.Claim.Status.ModifyVolumeStatus; changing != nil && changing.TargetVolumeAttributesClassName != "" {
			f.note("claim %s is being changed to VolumeAttributesClass %s (%s): its limits may change during the run",
				c.Claim.Name, changing.TargetVolumeAttributesClassName, changing.Status)
		}
	}
	switch {
	case names.VolumeAttributesClass == "":
	case c.Attributes != nil:
		volume.Modified = limits.PlainParameters(c.Attributes.Parameters)
	default:
		volume.Parameters, volume.Attributes = nil, nil
		why := "does not exist"
		if denied[KindAttributesClass] != "" {
			why = "could not be read"
		}
		f.addMissing("the VolumeAttributesClass of the volume", fmt.Sprintf(
			"VolumeAttributesClass %s %s, so the modified parameters of claim %s are unknown; set documented.preset, or documented.throughput and documented.iops",
			names.VolumeAttributesClass, why, names.ClaimName))
	}
}

// mountOf returns the mount of a volume as the first client reported it, or nil if no client did.
func mountOf(t Target, volume string) *v1alpha1.MountedVolume {
	for i := range t.Environments {
		if t.Environments[i].Target != t.Name {
			continue
		}
		for j := range t.Environments[i].Volumes {
			if t.Environments[i].Volumes[j].Name == volume {
				return &t.Environments[i].Volumes[j]
			}
		}
	}
	return nil
}

// noteMountDifferences adds a note if clients have mounted a volume with different options, because only the first
// mount is described.
func (f *Found) noteMountDifferences(t Target) {
	for i := range t.Environments {
		if t.Environments[i].Target != t.Name {
			continue
		}
		for _, mount := range t.Environments[i].Volumes {
			if first := mountOf(t, mount.Name); first != nil && first.Options != mount.Options {
				f.note("clients mount volume %s with different options: only the options of the first client are shown; see status.environments for the others", mount.Name)
				return
			}
		}
	}
}

// Complete adds the properties that do not affect limits, such as volume names, to `record`, which already contains the
// properties in f.Description.
func (f Found) Complete(record *v1alpha1.StorageDescription) {
	for i := range record.Volumes {
		if i >= len(f.volumes) {
			break
		}
		names := f.volumes[i]
		into := &record.Volumes[i]
		names.Driver, names.Count, names.Parameters = into.Driver, into.Count, into.Parameters
		names.SizeBytes, names.MountOptions = into.SizeBytes, into.MountOptions
		*into = names
	}
	if len(record.Machines) == 0 {
		record.Machines = slices.Clone(f.machines)
	}
	record.Missing = slices.Concat(f.missing, record.Missing)
	record.Missing = record.Missing[:min(len(record.Missing), maxListed)]
	record.Notes = slices.Concat(f.notes, record.Notes)
	record.Notes = record.Notes[:min(len(record.Notes), maxListed)]
}

// Limits of the API: the maximum number of entries in a list, and the maximum number of characters in a text.
const (
	maxListed   = 16
	maxSentence = 512
)

func (f *Found) note(format string, arguments ...any) {
	note := v1alpha1.Truncate(fmt.Sprintf(format, arguments...), maxSentence)
	if !slices.Contains(f.notes, note) {
		f.notes = append(f.notes, note)
	}
}

func (f *Found) addMissing(what, message string) {
	fact := v1alpha1.MissingFact{Field: what, Message: v1alpha1.Truncate(message, maxSentence)}
	if !slices.Contains(f.missing, fact) {
		f.missing = append(f.missing, fact)
	}
}

// rightToRead is the prefix of MissingFact.Field for a kind that the operator could not read. The name of the kind
// follows it.
const rightToRead = "permission to read "

// Unread returns the kinds that could not be read, without duplicates. It finds them in the Missing field of the
// targets' descriptions.
func Unread(all []v1alpha1.StorageDescription) []string {
	var kinds []string
	for _, described := range all {
		for _, fact := range described.Missing {
			if kind, found := strings.CutPrefix(fact.Field, rightToRead); found && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// denied adds a MissingFact to f for each of the given kinds, which the operator could not read.
func (f *Found) denied(kinds map[string]string) {
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		f.addMissing(rightToRead+kind, fmt.Sprintf(
			"the operator cannot read %s (%s), so some facts about the storage are missing; grant it the roles of config/rbac, or set documented.preset, or documented.throughput and documented.iops",
			kind, cmp.Or(kinds[kind], "unknown reason")))
	}
}
