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
// Nothing is guessed. A StorageClass reveals nothing about a volume that was created by hand, or about one that is
// older than the class, because the class was then deleted and created again under the same name. What could not be
// read is reported as missing, with a remedy; the run continues without it.
package discover
