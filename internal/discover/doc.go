// Package discover turns what a cluster says about the volumes of a target into the facts by which their documented
// limits are found. It is pure: it takes objects, and returns a limits.Description and the names for the record.
//
//	PersistentVolumeClaim --> PersistentVolume ----> driver, handle, attributes, size, options
//	       |                        |
//	       |                        +--> StorageClass --> the parameters with which it was created
//	       +--> VolumeAttributesClass ------------------> what was changed afterwards
//	nodes of the pods --> instance types, region
//	mounts as agents report them --> file system, server, options in force
//
// Nothing is guessed. A StorageClass says nothing about a volume that was created by hand, nor about one that is older
// than the class: the class was deleted and created again under the same name. What could not be read is reported as
// missing, with a remedy; the run continues without it.
package discover
