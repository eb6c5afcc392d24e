// Package csisim simulates CSI drivers for tests: volumes of test/burstfs behind the real names, parameters
// and volume attributes of real drivers, mounted by a real kubelet. It accesses no real storage system.
//
//	StorageClass -> Provision -> CreateVolume      HOME/DRIVER/
//	                                                 volumes/KEY.json        what was asked for
//	pod -> kubelet -> csi.sock -> NodeStage          stores/STORE/backing/KEY  tmpfs of the volume's size
//	                              NodePublish                     mount/       burstfs over backing
//	                                 |                            store.yaml   its limits and failures; may be edited
//	                                 +- bind of mount/KEY         truth.csv    what it did, a line a second
//	                                    or a loop device on mount/KEY/disk
//
// A store is a process of its own: killing a driver does not interrupt the users of its volumes. Each volume has its
// own store, unless parameters name one that several volumes share. A store exists from the first staging of a volume
// until its last volume is deleted. Credits therefore outlive pods, as on a real server. The record of an ended store
// is kept in HOME/DRIVER/records.
//
// Parameters of a StorageClass, or attributes of a static PersistentVolume, in addition to those of the real driver:
//
//	csisim/scenario   a scenario of test/burstfs; without one (and without a default of the driver) there are no limits
//	csisim/config     instead of a scenario: a configuration of test/burstfs, as YAML
//	csisim/overrides  YAML of the same fields, merged into it: lists whose entries have names are merged by name
//	csisim/store      name of a store that volumes share; all must describe it in the same way
//	csisim/size       the size at which the volume is full, if that is not its capacity (a quantity such as 64Mi)
//	csisim/inodes     how many files and directories the volume can hold
//
// All state is in files, mounts and loop devices; no operation relies on the memory of a process. Contents are in
// memory and end with the machine or with the node's mounts. A volume that lost its contents returns an error and is
// never recreated silently.
//
// Not simulated: attaching (CSIDriver objects have attachRequired: false), topology, snapshots, mount options and file
// system types of network file systems (pods see fuse.burstfs), secrets.
package csisim
