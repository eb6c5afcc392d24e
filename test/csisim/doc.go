// Package csisim is a simulation of CSI drivers for tests: volumes of test/burstfs behind the real names, parameters
// and volume attributes of real drivers, through a real kubelet. Nothing here is a driver of anything real.
//
//	StorageClass -> Provision -> CreateVolume      HOME/DRIVER/
//	                                                 volumes/KEY.json        what was asked for
//	pod -> kubelet -> csi.sock -> NodeStage          stores/STORE/backing/KEY  tmpfs of the volume's size
//	                              NodePublish                     mount/       burstfs over backing
//	                                 |                            store.yaml   its limits and failures; may be edited
//	                                 +- bind of mount/KEY         truth.csv    what it did, a line a second
//	                                    or a loop device on mount/KEY/disk
//
// A store is a process of its own, so that a driver that is killed interrupts nobody. Each volume has a store unless
// parameters name one for several. A store is there from the first stage of a volume until the last one is deleted,
// so credits outlive pods, as on a real server; its record is kept in HOME/DRIVER/records after its end.
//
// Parameters of a StorageClass, or attributes of a static PersistentVolume, beside those of the real driver:
//
//	csisim/scenario   a scenario of test/burstfs; without it (and without a default of the driver) there are no limits
//	csisim/config     instead of a scenario: a configuration of test/burstfs, as YAML
//	csisim/overrides  YAML of the same fields, laid over it: lists whose entries have names are merged by name
//	csisim/store      name of a store that volumes share; all must describe it alike
//	csisim/size       where the volume is full, when that is not its capacity (a quantity, as 64Mi)
//	csisim/inodes     how many files and directories it can hold
//
// All state is in files, mounts and loop devices; no operation trusts what a process remembers. Contents are in
// memory: they end with the machine's or the node's mounts. A volume whose contents are gone says so, and is never
// made anew in silence.
//
// What is not simulated: attaching (CSIDriver objects say attachRequired: false), topology, snapshots, the mount
// options and file system types of a network (pods see fuse.burstfs), secrets.
package csisim
