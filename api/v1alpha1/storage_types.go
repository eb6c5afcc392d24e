package v1alpha1

// StorageDescription is what the storage of a target was found to be, and what
// is documented for it. It is recorded once, before the first step, and results
// are compared with it: what is documented later changes no past run.
type StorageDescription struct {
	// target is its name.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// volumes of the target, one entry for all that are alike.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Volumes []VolumeDescription `json:"volumes,omitempty"`

	// machines that the clients run on, one entry a type.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Machines []MachineDescription `json:"machines,omitempty"`

	// limits that apply, from the machine to the volume.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=48
	Limits []DocumentedLimit `json:"limits,omitempty"`

	// serverMemoryBytes is what the cache of the storage server can hold.
	// Absent: not known.
	// +optional
	ServerMemoryBytes *int64 `json:"serverMemoryBytes,omitempty"`

	// missing says which limits are not known, and what to write.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Missing []MissingFact `json:"missing,omitempty"`

	// notes about what the limits do not say.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	Notes []string `json:"notes,omitempty"`

	// catalogVersion of the documented limits.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CatalogVersion string `json:"catalogVersion,omitempty"`
}

// VolumeDescription is one volume of a target, or several that are alike.
type VolumeDescription struct {
	// name of the volume within the target.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`

	// count of such volumes, as claims made for each client. Absent: 1.
	// +optional
	Count int32 `json:"count,omitempty"`

	// claimName of the PersistentVolumeClaim; of several, the first one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName,omitempty"`

	// madeForRun says that the claim was made for this run, so that the disk
	// behind it may be a new one with all its credits.
	// +optional
	MadeForRun bool `json:"madeForRun,omitempty"`

	// volumeName of the PersistentVolume.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	VolumeName string `json:"volumeName,omitempty"`

	// driver is the name of the CSI driver, or the kind of a volume without
	// one, such as hostPath.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Driver string `json:"driver,omitempty"`

	// driverVersion is what the labels of its CSIDriver say. Absent: nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DriverVersion string `json:"driverVersion,omitempty"`

	// volumeHandle is the driver's name of the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	VolumeHandle string `json:"volumeHandle,omitempty"`

	// storageClass of the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClass string `json:"storageClass,omitempty"`

	// storageClassGone says that there is no such class any more, so that the
	// parameters which the volume was made with are not known.
	// +optional
	StorageClassGone bool `json:"storageClassGone,omitempty"`

	// volumeAttributesClass that is in force.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	VolumeAttributesClass string `json:"volumeAttributesClass,omitempty"`

	// parameters that describe the storage, of the class, of the volume and of
	// its VolumeAttributesClass, the later ones counting more. What names
	// Secrets is left out.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 128 && self[k].size() <= 256)",message="parameters: keys have at most 128 characters, values at most 256"
	Parameters map[string]string `json:"parameters,omitempty"`

	// sizeBytes of the volume. Absent: not known.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// accessModes of the claim.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=32
	AccessModes []string `json:"accessModes,omitempty"`

	// volumeMode is Filesystem or Block.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	VolumeMode string `json:"volumeMode,omitempty"`

	// fileSystem type as it is mounted, such as cifs, lustre, nfs4 or ext4.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	FileSystem string `json:"fileSystem,omitempty"`

	// server and share that it is mounted from, of a file system of a network.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Server string `json:"server,omitempty"`

	// mountOptions in force that matter to its speed, such as cache=none,
	// nconnect=4 or max_channels=8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	MountOptions []string `json:"mountOptions,omitempty"`
}

// MachineDescription is the nodes of one type that clients run on.
type MachineDescription struct {
	// instanceType of the nodes (node.kubernetes.io/instance-type). Empty: the
	// nodes do not tell.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	InstanceType string `json:"instanceType,omitempty"`

	// nodes of the type.
	// +required
	Nodes int32 `json:"nodes"`
}

// DocumentedLimit is one limit that the vendor documents, or the specification
// states. Rates are in bytes or operations a second, by dimension, and hold for
// all units together.
type DocumentedLimit struct {
	// name says what is limited, such as server disk throughput.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`

	// layer that it is of: Instance, Flow, Network, Disk or Volume.
	// +required
	// +kubebuilder:validation:MaxLength=16
	Layer string `json:"layer"`

	// dimension is Bytes or Operations.
	// +required
	// +kubebuilder:validation:Enum=Bytes;Operations
	Dimension string `json:"dimension"`

	// operation that it holds for. Absent: all.
	// +optional
	Operation Operation `json:"operation,omitempty"`

	// baseline a second.
	// +required
	Baseline int64 `json:"baseline"`

	// burst a second, with credits. Absent: there is none.
	// +optional
	Burst *int64 `json:"burst,omitempty"`

	// bucket is the credits of a full bucket. Absent: none, or not published.
	// +optional
	Bucket *int64 `json:"bucket,omitempty"`

	// refill a second. Absent: none, or not published.
	// +optional
	Refill *int64 `json:"refill,omitempty"`

	// billed says that the burst costs money in place of credits.
	// +optional
	Billed bool `json:"billed,omitempty"`

	// units that the figures are the sum of, such as flows, nodes or disks.
	// +optional
	Units int32 `json:"units,omitempty"`

	// operationUnitBytes is the size up to which an operation counts as one.
	// Absent: each operation counts as one.
	// +optional
	OperationUnitBytes *int64 `json:"operationUnitBytes,omitempty"`

	// passes says what does not meet the limit: CachedReads are answered
	// before it; CacheOnly means that only reads which a cache answers meet it;
	// StoredBytes that it counts what is stored after a compression whose ratio
	// is not known.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=16
	Passes []string `json:"passes,omitempty"`

	// arithmetic of the baseline, such as 14.4 TiB x 200 MB/s/TiB = 2,880 MB/s.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Arithmetic string `json:"arithmetic,omitempty"`

	// burstArithmetic is that of the burst.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	BurstArithmetic string `json:"burstArithmetic,omitempty"`

	// bucketArithmetic is that of the bucket.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	BucketArithmetic string `json:"bucketArithmetic,omitempty"`

	// row of the catalog. Absent: the specification states the limit.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Row string `json:"row,omitempty"`

	// source that documents it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Source string `json:"source,omitempty"`

	// overridden says that the row is not the one that comes with the operator.
	// +optional
	Overridden bool `json:"overridden,omitempty"`
}

// MissingFact is something that has to be known before a limit can be.
type MissingFact struct {
	// field to set in the specification, or what is to be found out.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Field string `json:"field"`

	// message says what is not known, and what to write.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message"`
}
