package v1alpha1

// UsageResult is the space that the files of a target occupied after a step that wrote data, for
// all clients together. A directory that clients share is counted once.
type UsageResult struct {
	// files is the number of files.
	// +optional
	Files int64 `json:"files"`

	// apparentBytes is the sum of the file sizes, including holes.
	// +optional
	ApparentBytes int64 `json:"apparentBytes"`

	// dataBytes is the sum of the file sizes without the holes that the file system reports.
	// +optional
	DataBytes int64 `json:"dataBytes"`

	// allocatedBytes is the space that the files occupy, as the file system reports it (du).
	// +optional
	AllocatedBytes int64 `json:"allocatedBytes"`

	// fileSystem is the type of the file system.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	FileSystem string `json:"fileSystem,omitempty"`

	// compression states whether allocatedBytes reflects compression: Shown (it excludes the
	// savings, as on ZFS), Hidden (the file system may compress but does not show it here, as on
	// btrfs), None (the file system does not compress), or Unknown (a server decides, as with NFS).
	// Compression by an array below the file system is never visible.
	// +optional
	// +kubebuilder:validation:Enum=Shown;Hidden;None;Unknown
	Compression string `json:"compression,omitempty"`

	// settled is false if allocatedBytes may still have been changing when it was read.
	// +optional
	Settled bool `json:"settled"`

	// compressionRatioMilli is 1000 times dataBytes divided by allocatedBytes. Unset if this quotient is not the
	// compression ratio: compression is Hidden or None, allocatedBytes had not settled, holes cannot be distinguished
	// from savings, or compression is Unknown and there seem to be no savings.
	// +optional
	CompressionRatioMilli *int64 `json:"compressionRatioMilli,omitempty"`

	// tool is the tool that wrote the data.
	// +optional
	Tool EngineKind `json:"tool,omitempty"`

	// toolVersion is the version of the tool. The data that IOR writes depends on it.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ToolVersion string `json:"toolVersion,omitempty"`

	// dataPattern describes the data that the tool wrote, such as random.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	DataPattern string `json:"dataPattern,omitempty"`

	// patternRatioMilli is 1000 times the compression ratio of the content named in dataPattern, measured with lz4.
	// Unset if unknown.
	// +optional
	PatternRatioMilli *int64 `json:"patternRatioMilli,omitempty"`

	// types are the figures per file name extension, largest first. Unset if all files are of one type.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Types []TypeUsage `json:"types,omitempty"`
}

// TypeUsage is the space that the files with one extension occupy.
type TypeUsage struct {
	// extension is the extension in lower case, without the dot. It is empty for files without an extension, and "*"
	// for all types that are not listed.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Extension string `json:"extension"`

	// files is the number of files of this type.
	// +optional
	Files int64 `json:"files"`

	// apparentBytes is the sum of the file sizes, including holes.
	// +optional
	ApparentBytes int64 `json:"apparentBytes"`

	// dataBytes is the sum of the file sizes without the holes that the file system reports.
	// +optional
	DataBytes int64 `json:"dataBytes"`

	// allocatedBytes is the space that the files occupy, as the file system reports it.
	// +optional
	AllocatedBytes int64 `json:"allocatedBytes"`

	// compressionRatioMilli is 1000 times dataBytes divided by allocatedBytes. Unset if the ratio of all files is
	// unset.
	// +optional
	CompressionRatioMilli *int64 `json:"compressionRatioMilli,omitempty"`
}
