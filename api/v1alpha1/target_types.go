package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Target is one storage system under test, as its volumes show it.
type Target struct {
	// name of the target, used in results, file names and flags.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// volumes that each client of the target mounts: usually one; several for
	// disks that are measured as one stripe.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Volumes []Volume `json:"volumes"`

	// path is the folder inside each volume below which the run works, always
	// in a folder .storagebench of its own. Absent: the volume's root.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// limits are what the storage is documented to do, by preset or one by
	// one. Absent: discovered from the volume, where that is possible.
	// +optional
	Limits *Limits `json:"limits,omitempty"`

	// dataPolicy says what happens to the data at the end of the run: Delete,
	// or Retain, which lets a later run with the same layout reuse it.
	// +optional
	// +kubebuilder:default=Delete
	DataPolicy DataPolicy `json:"dataPolicy,omitempty"`

	// requireIdle refuses to start while something else uses the volumes.
	// +optional
	RequireIdle *bool `json:"requireIdle,omitempty"`

	// allowRawDeviceWrites lets the run write to a raw block device that
	// carries no file system signature.
	// +optional
	AllowRawDeviceWrites *bool `json:"allowRawDeviceWrites,omitempty"`

	// lustre sets the striping of the run's directory on Lustre.
	// +optional
	Lustre *LustreStriping `json:"lustre,omitempty"`
}

// DataPolicy says what happens to a run's data at its end.
//
// +kubebuilder:validation:Enum=Delete;Retain
type DataPolicy string

// The data policies.
const (
	// DataDelete removes the data of the run.
	DataDelete DataPolicy = "Delete"
	// DataRetain keeps it for a later run with the same layout.
	DataRetain DataPolicy = "Retain"
)

// Volume is one volume of a target: a claim that exists, or a template from
// which claims are made. Exactly one of the two.
type Volume struct {
	// name of the volume within the target.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// claimName is a PersistentVolumeClaim of the benchmark's namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName,omitempty"`

	// claimTemplate makes claims.
	// +optional
	ClaimTemplate *ClaimTemplate `json:"claimTemplate,omitempty"`
}

// ClaimScope says how many claims a template makes.
//
// +kubebuilder:validation:Enum=Shared;PerClient
type ClaimScope string

// The scopes of a claim template.
const (
	// ClaimShared: one claim, mounted by every client of the target.
	ClaimShared ClaimScope = "Shared"
	// ClaimPerClient: a claim for each client.
	ClaimPerClient ClaimScope = "PerClient"
)

// ClaimLifetime says how long a made claim lives.
//
// +kubebuilder:validation:Enum=Run;Benchmark
type ClaimLifetime string

// The lifetimes of a claim.
const (
	// ClaimForRun: made for each run, removed with it.
	ClaimForRun ClaimLifetime = "Run"
	// ClaimForBenchmark: made once, removed with the benchmark.
	ClaimForBenchmark ClaimLifetime = "Benchmark"
)

// ClaimTemplate makes PersistentVolumeClaims.
type ClaimTemplate struct {
	// scope is Shared (one claim for all clients, which then has to be
	// ReadWriteMany where clients are on several nodes) or PerClient.
	// +optional
	// +kubebuilder:default=Shared
	Scope ClaimScope `json:"scope,omitempty"`

	// lifetime is Run or Benchmark.
	// +optional
	// +kubebuilder:default=Run
	Lifetime ClaimLifetime `json:"lifetime,omitempty"`

	// spec of the claims.
	// +required
	Spec corev1.PersistentVolumeClaimSpec `json:"spec"`
}

// Limits are what a storage system is documented to do. Rates of MB/s are of
// 10^6 bytes: write 260M for 260 MB/s.
type Limits struct {
	// preset names an entry of the catalog, such as aws-fsx-windows/hdd-32.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Preset string `json:"preset,omitempty"`

	// capacity in bytes, on which the limits of many systems depend.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`

	// throughput limits, in bytes and bytes a second.
	// +optional
	Throughput *RateLimits `json:"throughput,omitempty"`

	// iops limits, in operations and operations a second.
	// +optional
	IOPS *RateLimits `json:"iops,omitempty"`

	// serverMemory is the memory of the storage server in bytes, which is
	// what its cache can hold.
	// +optional
	ServerMemory *resource.Quantity `json:"serverMemory,omitempty"`
}

// RateLimits is a token bucket: a baseline, a burst above it while there are
// credits, and the size of the bucket.
type RateLimits struct {
	// baseline a second, without credits.
	// +optional
	Baseline *resource.Quantity `json:"baseline,omitempty"`

	// burst a second, with credits.
	// +optional
	Burst *resource.Quantity `json:"burst,omitempty"`

	// bucket is the number of credits in a full bucket, in bytes or operations.
	// +optional
	Bucket *resource.Quantity `json:"bucket,omitempty"`

	// refill a second. Absent: equal to the baseline.
	// +optional
	Refill *resource.Quantity `json:"refill,omitempty"`
}

// LustreStriping is how files are spread over the object targets of Lustre.
type LustreStriping struct {
	// stripeCount is the number of object targets of a file; -1 is all.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=2000
	StripeCount *int32 `json:"stripeCount,omitempty"`

	// stripeSize in bytes, a multiple of 64 KiB.
	// +optional
	StripeSize *resource.Quantity `json:"stripeSize,omitempty"`
}
