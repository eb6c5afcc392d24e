package v1alpha1

// StorageDescription describes the storage of a target as detected, and its documented limits. It is recorded once,
// before the first step. Results are compared with this record, so later changes to the documented limits do not affect
// past runs.
type StorageDescription struct {
	// target is the name of the target.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// volumes are the volumes of the target, one entry per group of identical volumes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Volumes []VolumeDescription `json:"volumes,omitempty"`

	// machines are the machines that the clients run on, one entry per instance type.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Machines []MachineDescription `json:"machines,omitempty"`

	// limits are the limits that apply, in order from the machine to the volume.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=48
	Limits []DocumentedLimit `json:"limits,omitempty"`

	// serverMemoryBytes is the memory of the storage server that its cache can use. Unset if unknown.
	// +optional
	ServerMemoryBytes *int64 `json:"serverMemoryBytes,omitempty"`

	// missing lists the unknown facts that are needed to determine the limits, and how to specify them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Missing []MissingFact `json:"missing,omitempty"`

	// notes are facts about the limits for which there is no other field.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	Notes []string `json:"notes,omitempty"`

	// catalogVersion is the version of the catalog of documented limits.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CatalogVersion string `json:"catalogVersion,omitempty"`
}

// VolumeDescription describes one volume of a target, or several identical ones.
type VolumeDescription struct {
	// name is the name of the volume within the target.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`

	// count is the number of identical volumes, for example one per client. Unset if there is only one.
	// +optional
	Count int32 `json:"count,omitempty"`

	// claimName is the name of the PersistentVolumeClaim, or of the first claim if there are several.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName,omitempty"`

	// madeForRun is true if the claim was created for this run, so the disk behind it may be new and have full credits.
	// +optional
	MadeForRun bool `json:"madeForRun,omitempty"`

	// volumeName is the name of the PersistentVolume.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	VolumeName string `json:"volumeName,omitempty"`

	// driver is the name of the CSI driver, or the type of a volume without a CSI driver, such as hostPath.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Driver string `json:"driver,omitempty"`

	// driverVersion is the version in the labels of the CSIDriver. Unset if the labels contain no version.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DriverVersion string `json:"driverVersion,omitempty"`

	// volumeHandle is the driver's ID of the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	VolumeHandle string `json:"volumeHandle,omitempty"`

	// storageClass is the StorageClass of the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClass string `json:"storageClass,omitempty"`

	// storageClassGone is true if the StorageClass no longer exists, so the parameters with which the volume was
	// created are unknown.
	// +optional
	StorageClassGone bool `json:"storageClassGone,omitempty"`

	// volumeAttributesClass is the VolumeAttributesClass in effect.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	VolumeAttributesClass string `json:"volumeAttributesClass,omitempty"`

	// parameters describe the storage. They come from the StorageClass, the volume and its
	// VolumeAttributesClass, in increasing order of precedence. Parameters that name Secrets are
	// left out.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 128 && self[k].size() <= 256)",message="parameters: at most 128 characters per key, 256 per value"
	Parameters map[string]string `json:"parameters,omitempty"`

	// sizeBytes is the size of the volume. Unset if unknown.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// accessModes are the access modes of the claim.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=32
	AccessModes []string `json:"accessModes,omitempty"`

	// volumeMode is Filesystem or Block.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	VolumeMode string `json:"volumeMode,omitempty"`

	// fileSystem is the type of the file system as mounted, such as cifs, lustre, nfs4 or ext4.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	FileSystem string `json:"fileSystem,omitempty"`

	// server is the server and the share that a network file system is mounted from.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Server string `json:"server,omitempty"`

	// mountOptions are the mount options in effect that affect the speed, such as cache=none, nconnect=4 or
	// max_channels=8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	MountOptions []string `json:"mountOptions,omitempty"`
}

// MachineDescription describes the nodes of one instance type that clients run on.
type MachineDescription struct {
	// instanceType is the instance type of the nodes (label node.kubernetes.io/instance-type). Empty if the nodes do
	// not have the label.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	InstanceType string `json:"instanceType,omitempty"`

	// nodes is the number of nodes of this type.
	// +required
	Nodes int32 `json:"nodes"`
}

// DocumentedLimit is one limit that the vendor documents or the specification states. Rates are in bytes or operations
// per second, depending on dimension, and are totals over all units, such as disks.
type DocumentedLimit struct {
	// name is the limited resource, such as server disk throughput.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`

	// layer is the layer of the limit: Instance, Flow, Network, Disk or Volume.
	// +required
	// +kubebuilder:validation:MaxLength=16
	Layer string `json:"layer"`

	// dimension is Bytes or Operations.
	// +required
	// +kubebuilder:validation:Enum=Bytes;Operations
	Dimension string `json:"dimension"`

	// operation is the kind of operation that is limited. Unset if all kinds are limited.
	// +optional
	Operation Operation `json:"operation,omitempty"`

	// baseline is the rate without credits, per second.
	// +required
	Baseline int64 `json:"baseline"`

	// burst is the rate with credits, per second. Unset if the limit has no burst.
	// +optional
	Burst *int64 `json:"burst,omitempty"`

	// bucket is the number of credits in a full bucket. Unset if there is none or it is not published.
	// +optional
	Bucket *int64 `json:"bucket,omitempty"`

	// refill is the refill rate of the bucket, per second. Unset if there is none or it is not published.
	// +optional
	Refill *int64 `json:"refill,omitempty"`

	// billed is true if the burst costs money instead of credits.
	// +optional
	Billed bool `json:"billed,omitempty"`

	// units is the number of units, such as flows, nodes or disks, that the figures are summed over.
	// +optional
	Units int32 `json:"units,omitempty"`

	// operationUnitBytes is the maximum size of an operation that counts as one. Unset if every operation counts as
	// one.
	// +optional
	OperationUnitBytes *int64 `json:"operationUnitBytes,omitempty"`

	// passes are the exceptions to the limit. CachedReads: reads served from a cache are not limited. CacheOnly: only
	// reads served from a cache are limited. StoredBytes: the limit applies to bytes as stored after compression, at an
	// unknown compression ratio.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=16
	Passes []string `json:"passes,omitempty"`

	// arithmetic is the calculation of the baseline, such as 14.4 TiB x 200 MB/s/TiB = 2,880 MB/s.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Arithmetic string `json:"arithmetic,omitempty"`

	// burstArithmetic is the calculation of the burst.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	BurstArithmetic string `json:"burstArithmetic,omitempty"`

	// bucketArithmetic is the calculation of the bucket.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	BucketArithmetic string `json:"bucketArithmetic,omitempty"`

	// row is the name of the row in the catalog. Unset if the specification states the limit.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Row string `json:"row,omitempty"`

	// source is the source that documents the limit.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Source string `json:"source,omitempty"`

	// overridden is true if the row is not from the operator's built-in catalog.
	// +optional
	Overridden bool `json:"overridden,omitempty"`
}

// MissingFact is unknown information that is needed to determine a limit.
type MissingFact struct {
	// field is the field of the specification to set, or the name of the value if there is no such field.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Field string `json:"field"`

	// message says what is unknown and, if a field can supply it, which field to set.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message"`
}
