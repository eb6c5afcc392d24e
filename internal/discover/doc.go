// Package discover makes of what a cluster says about the volumes of a target what is documented of them can be
// found by. It is pure: objects go in, a limits.Description and the names for the record come out.
//
//	PersistentVolumeClaim --> PersistentVolume ----> driver, handle, attributes, size, options
//	       |                        |
//	       |                        +--> StorageClass --> the parameters that it was made with
//	       +--> VolumeAttributesClass ------------------> what was changed afterwards
//	nodes of the pods --> instance types, region
//	mounts as agents see them --> file system, server, options in force
//
// Nothing is guessed. A StorageClass tells nothing of a volume that was made by hand, nor of one that is older than
// the class: somebody has made a class of that name anew. What could not be read is said to be missing, with who
// can help; the run goes on without.
package discover
