// Package discover derives the properties that determine a target's documented limits from the cluster's objects and
// from the mounts that agents report. Its functions have no side effects. Describe returns a limits.Description and,
// separately, properties that do not affect limits but are recorded with them, such as the names of volumes.
//
//	PersistentVolumeClaim --> PersistentVolume ----> driver, handle, attributes, size, options
//	       |                        |
//	       |                        +--> StorageClass --> the parameters with which the volume was created
//	       +--> VolumeAttributesClass ------------------> the parameters that were changed afterwards
//	nodes of the pods --> instance types, region
//	mounts as agents report them --> file system, server, options in force
//
// Nothing is guessed. A StorageClass does not describe a volume that was created manually. Nor does it describe a
// volume that is older than the class: an earlier class of the same name was used to create it. Objects that could not
// be read are reported as missing, with a remedy, and the run continues without them.
package discover
