// Package discover derives the facts that determine a target's documented limits from what the cluster reports about
// its volumes. It is pure: it takes objects, and returns a limits.Description and the names for the record.
//
//	PersistentVolumeClaim --> PersistentVolume ----> driver, handle, attributes, size, options
//	       |                        |
//	       |                        +--> StorageClass --> the parameters with which it was created
//	       +--> VolumeAttributesClass ------------------> what was changed afterwards
//	nodes of the pods --> instance types, region
//	mounts as agents report them --> file system, server, options in force
//
// Nothing is guessed. A StorageClass does not describe a volume that was created manually. Nor does it describe a
// volume that is older than the class: an earlier class of the same name was used to create it. What could not be read
// is reported as missing, with a remedy; the run continues without it.
package discover
