package v1alpha1

// UsageResult is the space that the files of a target took after a step that
// wrote: all clients' together, a directory that clients share once.
type UsageResult struct {
	// files that there are.
	// +optional
	Files int64 `json:"files"`

	// apparentBytes are up to where the files reach, holes included.
	// +optional
	ApparentBytes int64 `json:"apparentBytes"`

	// dataBytes are those without the holes that the file system tells.
	// +optional
	DataBytes int64 `json:"dataBytes"`

	// allocatedBytes is what the file system says that the files take (du).
	// +optional
	AllocatedBytes int64 `json:"allocatedBytes"`

	// fileSystem that says so.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	FileSystem string `json:"fileSystem,omitempty"`

	// compression says what allocatedBytes show of it: Shown (what is saved is
	// not in them, as on ZFS), Hidden (the file system may compress and does
	// not show it here, as btrfs), None (it does not compress), or Unknown (a
	// server decides, as with NFS). What an array below compresses is never
	// seen.
	// +optional
	// +kubebuilder:validation:Enum=Shown;Hidden;None;Unknown
	Compression string `json:"compression,omitempty"`

	// settled is false where allocatedBytes were still changing, or may have
	// been, when they were looked at.
	// +optional
	Settled bool `json:"settled"`

	// compressionRatioMilli is a thousand times dataBytes divided by
	// allocatedBytes. Absent where they do not tell it: compression is Hidden
	// or None, they had not settled, holes cannot be told from what is saved,
	// or compression is Unknown and nothing seems to be saved.
	// +optional
	CompressionRatioMilli *int64 `json:"compressionRatioMilli,omitempty"`

	// tool that wrote the data.
	// +optional
	Tool EngineKind `json:"tool,omitempty"`

	// toolVersion, on which the data that IOR writes depends.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ToolVersion string `json:"toolVersion,omitempty"`

	// dataPattern is what the tool filled its writes with.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	DataPattern string `json:"dataPattern,omitempty"`

	// patternRatioMilli is a thousand times the ratio by which lz4 compresses
	// that pattern, as it was measured. Absent where that is not known.
	// +optional
	PatternRatioMilli *int64 `json:"patternRatioMilli,omitempty"`

	// types are the same by the extension of the files' names, those that take
	// most first. Absent where all files are of one type.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Types []TypeUsage `json:"types,omitempty"`
}

// TypeUsage is the space of the files with one extension.
type TypeUsage struct {
	// extension in lower case and without its dot; empty for none, "*" for the
	// files of all types that are not listed.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Extension string `json:"extension"`

	// files of that type.
	// +optional
	Files int64 `json:"files"`

	// apparentBytes are up to where the files reach, holes included.
	// +optional
	ApparentBytes int64 `json:"apparentBytes"`

	// dataBytes are those without the holes that the file system tells.
	// +optional
	DataBytes int64 `json:"dataBytes"`

	// allocatedBytes is what the file system says that the files take.
	// +optional
	AllocatedBytes int64 `json:"allocatedBytes"`

	// compressionRatioMilli is a thousand times dataBytes divided by
	// allocatedBytes. Absent where that of all files is.
	// +optional
	CompressionRatioMilli *int64 `json:"compressionRatioMilli,omitempty"`
}
