package discover

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// source describes the storage behind a PersistentVolume.
type source struct {
	// driver is the name of the CSI driver, or the type of a volume without one, such as nfs.
	driver, handle string
	attributes     map[string]string
	// server is the address of a network file system, if the volume specifies it.
	server   string
	readOnly bool
}

// attribute returns the value of an attribute of the volume. Like the drivers, it ignores the case of the name.
func (s source) attribute(name string) string {
	for key, value := range s.attributes {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// Names of CSI drivers. An in-tree volume gets the name of the CSI driver to which the kubelet migrates it.
const (
	driverEBS       = "ebs.csi.aws.com"
	driverAzureDisk = "disk.csi.azure.com"
	driverAzureFile = "file.csi.azure.com"
	driverLustre    = "fsx.csi.aws.com"
	driverNFS       = "nfs.csi.k8s.io"
)

// sourceOf returns the source of a PersistentVolume, or the zero source if its type is unknown. Every PersistentVolume
// has exactly one source.
func sourceOf(from *corev1.PersistentVolumeSource) source {
	switch {
	case from.CSI != nil:
		return source{driver: from.CSI.Driver, handle: from.CSI.VolumeHandle, attributes: from.CSI.VolumeAttributes,
			server: serverOf(from.CSI.VolumeAttributes), readOnly: from.CSI.ReadOnly}
	case from.NFS != nil:
		at := from.NFS.Server + ":" + from.NFS.Path
		return source{driver: "nfs", handle: at, server: at, readOnly: from.NFS.ReadOnly}
	case from.AWSElasticBlockStore != nil:
		return source{driver: driverEBS, handle: path.Base(from.AWSElasticBlockStore.VolumeID), readOnly: from.AWSElasticBlockStore.ReadOnly}
	case from.AzureDisk != nil:
		return azureDisk(from.AzureDisk)
	case from.AzureFile != nil:
		return source{driver: driverAzureFile, handle: from.AzureFile.ShareName, attributes: map[string]string{"shareName": from.AzureFile.ShareName},
			readOnly: from.AzureFile.ReadOnly}
	case from.HostPath != nil:
		return source{driver: "hostPath"}
	case from.Local != nil:
		return source{driver: "local"}
	case from.ISCSI != nil:
		return source{driver: "iscsi", handle: fmt.Sprintf("%s/%s/%d", from.ISCSI.TargetPortal, from.ISCSI.IQN, from.ISCSI.Lun), readOnly: from.ISCSI.ReadOnly}
	case from.FC != nil:
		handle := strings.Join(slices.Concat(from.FC.TargetWWNs, from.FC.WWIDs), ",")
		if from.FC.Lun != nil {
			handle += fmt.Sprintf("/%d", *from.FC.Lun)
		}
		return source{driver: "fc", handle: handle, readOnly: from.FC.ReadOnly}
	case from.CephFS != nil:
		return source{driver: "cephfs", handle: strings.Join(from.CephFS.Monitors, ",") + ":" + from.CephFS.Path, readOnly: from.CephFS.ReadOnly}
	case from.RBD != nil:
		return source{driver: "rbd", handle: from.RBD.RBDPool + "/" + from.RBD.RBDImage, readOnly: from.RBD.ReadOnly}
	case from.GCEPersistentDisk != nil:
		return source{driver: "pd.csi.storage.gke.io", handle: from.GCEPersistentDisk.PDName, readOnly: from.GCEPersistentDisk.ReadOnly}
	case from.VsphereVolume != nil:
		return source{driver: "csi.vsphere.vmware.com", handle: from.VsphereVolume.VolumePath}
	}
	return source{}
}

func azureDisk(from *corev1.AzureDiskVolumeSource) source {
	made := source{driver: driverAzureDisk, handle: from.DataDiskURI}
	if from.CachingMode != nil {
		made.attributes = map[string]string{"cachingMode": string(*from.CachingMode)}
	}
	made.readOnly = from.ReadOnly != nil && *from.ReadOnly
	return made
}

// serverOf returns the server address in a volume's attributes, in the format in which a mount shows it. It returns ""
// if the attributes do not contain one.
func serverOf(attributes map[string]string) string {
	switch {
	case attributes["source"] != "": // set by smb.csi.k8s.io
		return attributes["source"]
	case attributes["dnsname"] != "": // set by fsx.csi.aws.com
		return attributes["dnsname"] + "@tcp:/" + attributes["mountname"]
	case attributes["DNSName"] != "": // set by fsx.openzfs.csi.aws.com
		return attributes["DNSName"] + ":" + attributes["VolumePath"]
	case attributes["server"] != "": // set by nfs.csi.k8s.io and file.csi.azure.com
		return attributes["server"] + ":" + attributes["share"]
	}
	return ""
}

// onNetwork reports whether the source of a mount contains a network address.
func onNetwork(mounted string) bool {
	return strings.HasPrefix(mounted, "//") || strings.HasPrefix(mounted, `\\`) || strings.Contains(mounted, ":/")
}

// MountedReadOnly returns the reason why a volume cannot be written to, or "" if none of its settings prevents it.
func MountedReadOnly(volume *corev1.PersistentVolume) string {
	switch {
	case volume == nil:
		return ""
	case sourceOf(&volume.Spec.PersistentVolumeSource).readOnly:
		return "readOnly is true in PersistentVolume " + volume.Name
	case slices.ContainsFunc(volume.Spec.MountOptions, func(option string) bool {
		return slices.Contains(strings.Split(option, ","), "ro")
	}):
		return "PersistentVolume " + volume.Name + " has the mount option ro"
	}
	return ""
}

// Same reports whether two PersistentVolumes refer to the same storage, even under different names. It does not
// recognize node-local storage, such as a local directory, under different names.
func Same(a, b *corev1.PersistentVolume) bool {
	return slices.ContainsFunc(Identities(a), func(one string) bool { return slices.Contains(Identities(b), one) })
}

// Identities returns the unique names of the storage behind a volume, beginning with the volume's own name in the
// cluster. It returns nil if volume is nil.
func Identities(volume *corev1.PersistentVolume) []string {
	if volume == nil {
		return nil
	}
	from := sourceOf(&volume.Spec.PersistentVolumeSource)
	all := []string{"volume\x00" + volume.Name}
	if from.handle != "" {
		handle := []string{"handle", from.driver, from.handle}
		if share := volume.Spec.AzureFile; share != nil {
			// The Secret names the storage account. The name of a share is unique only in its account.
			handle = append(handle, share.SecretName)
		}
		all = append(all, strings.Join(handle, "\x00"))
	}
	// Include the subdirectory, because volumes of one StorageClass can be different subdirectories of the same share.
	subdirectory := strings.Trim(from.attribute("subdir"), "/")
	if share := from.attribute("source"); share != "" {
		all = append(all, strings.Join([]string{"share", strings.ToLower(strings.TrimRight(share, "/")), subdirectory}, "\x00"))
	}
	if server, share := from.attribute("server"), from.attribute("share"); from.driver == driverNFS && server != "" && share != "" {
		// Add the handle that sourceOf gives an in-tree nfs volume of the same share, so that Same recognizes both volumes as
		// the same storage.
		all = append(all, strings.Join([]string{"handle", "nfs", server + ":" + path.Join("/", share, subdirectory)}, "\x00"))
	}
	if from.driver == driverLustre && from.attributes["dnsname"] != "" {
		all = append(all, strings.Join([]string{"lustre", from.attributes["dnsname"], from.attributes["mountname"]}, "\x00"))
	}
	return all
}
