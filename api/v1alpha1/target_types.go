package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Target is one storage system under test, represented by its volumes. Exactly one of claimName and
// volumes is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.claimName) != has(self.volumes)",message="set exactly one of claimName (an existing claim) and volumes (several claims, or new ones)"
// +kubebuilder:validation:XValidation:rule="!has(self.volumes) || self.volumes.all(a, self.volumes.exists_one(b, b.name == a.name))",message="volumes: names must differ; rename one",fieldPath=".volumes"
// +kubebuilder:validation:XValidation:rule="!has(self.limits)",message="limits: renamed; use documented instead",fieldPath=".limits"
type Target struct {
	// name is the name of the target, used in results, file names and flags.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="use lower-case letters, digits and dashes only, beginning and ending with a letter or a digit"
	Name string `json:"name"`

	// claimName is the name of the existing PersistentVolumeClaim that each client of the target mounts. It is
	// shorthand for a single entry of volumes, named data, with this claim.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName,omitempty"`

	// volumes are the volumes that each client of the target mounts: claims made from a template,
	// or several disks that are measured as one stripe.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Volumes []Volume `json:"volumes,omitempty"`

	// path is the directory of each volume in which the run creates its own directory .storagebench. Defaults to the
	// root of the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('^/|(^|/)[.][.]?(/|$)|//|[[:cntrl:]]|/$')",message="path: must be relative to the volume, without '.', '..', double or trailing slashes or control characters, such as bench/a"
	Path string `json:"path,omitempty"`

	// documented are the documented limits of the storage, as a preset or individually; they do not limit the load. If
	// unset, they are discovered from the volume, if possible.
	// +optional
	Documented *Limits `json:"documented,omitempty"`

	// limits is the former name of documented. Stored benchmarks and runs may set limits; new objects that set it are
	// refused.
	// +optional
	Limits *Limits `json:"limits,omitempty"`

	// dataPolicy determines what happens to the data at the end of the run: Delete, or Retain, which lets a later run
	// with the same layout reuse it. Defaults to Delete.
	// +optional
	DataPolicy DataPolicy `json:"dataPolicy,omitempty"`

	// requireIdle makes the run fail at its start if something else uses the volumes.
	// +optional
	RequireIdle *bool `json:"requireIdle,omitempty"`

	// allowRawDeviceWrites lets the run write to a raw block device that is empty, or that this benchmark has marked as
	// its own.
	// +optional
	AllowRawDeviceWrites *bool `json:"allowRawDeviceWrites,omitempty"`

	// lustre sets the striping of the run's directory on Lustre.
	// +optional
	Lustre *LustreStriping `json:"lustre,omitempty"`
}

// DataPolicy determines what happens to the data of a run at its end.
//
// +kubebuilder:validation:Enum=Delete;Retain
type DataPolicy string

// Possible values of DataPolicy.
const (
	// DataDelete removes the data of the run.
	DataDelete DataPolicy = "Delete"
	// DataRetain keeps the data for a later run with the same layout.
	DataRetain DataPolicy = "Retain"
)

// Volume is one volume of a target: an existing claim, or a template from which claims are created.
// Exactly one of the two is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.claimName) != has(self.claimTemplate)",message="set exactly one of claimName (an existing claim) and claimTemplate (new claims)"
type Volume struct {
	// name is the name of the volume within the target.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="use lower-case letters, digits and dashes only, beginning and ending with a letter or a digit"
	Name string `json:"name"`

	// claimName is the name of a PersistentVolumeClaim in the benchmark's namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName,omitempty"`

	// claimTemplate is a template from which claims are created.
	// +optional
	ClaimTemplate *ClaimTemplate `json:"claimTemplate,omitempty"`
}

// ClaimScope determines how many claims a template creates.
//
// +kubebuilder:validation:Enum=Shared;PerClient
type ClaimScope string

// Values of ClaimScope.
const (
	// ClaimShared: one claim, mounted by every client of the target.
	ClaimShared ClaimScope = "Shared"
	// ClaimPerClient: one claim for each client.
	ClaimPerClient ClaimScope = "PerClient"
)

// ClaimLifetime determines when a created claim is deleted.
//
// +kubebuilder:validation:Enum=Run;Benchmark
type ClaimLifetime string

// Values of ClaimLifetime.
const (
	// ClaimForRun: the claims are created for each run and deleted with it.
	ClaimForRun ClaimLifetime = "Run"
	// ClaimForBenchmark: the claims are created once and deleted with the benchmark.
	ClaimForBenchmark ClaimLifetime = "Benchmark"
)

// ClaimTemplate is a template for PersistentVolumeClaims.
type ClaimTemplate struct {
	// scope is Shared (one claim for all clients, which must be ReadWriteMany if clients are on several nodes) or
	// PerClient (one claim for each client). Defaults to Shared.
	// +optional
	Scope ClaimScope `json:"scope,omitempty"`

	// lifetime is Run (created for each run, deleted with it) or Benchmark (created once, deleted with the benchmark).
	// Defaults to Run.
	// +optional
	Lifetime ClaimLifetime `json:"lifetime,omitempty"`

	// allowExistingVolumes lets the claims bind to existing volumes, for example through spec.volumeName, spec.selector
	// or an empty spec.storageClassName. Such volumes may hold data. Files keep their group, unless fsGroup is set. The
	// claims are still deleted as lifetime specifies. Volumes whose reclaim policy is Delete are deleted with them.
	// +optional
	AllowExistingVolumes *bool `json:"allowExistingVolumes,omitempty"`

	// spec is the spec of the claims.
	// +required
	Spec corev1.PersistentVolumeClaimSpec `json:"spec"`
}

// DocumentedLimits returns the field documented or, if it is unset, the field limits, which is its former name. It
// returns nil if neither is set.
func (t *Target) DocumentedLimits() *Limits {
	if t.Documented != nil {
		return t.Documented
	}
	return t.Limits
}

// Limits are the documented limits of a storage system. MB/s means 10^6 bytes per second: specify 260M for 260 MB/s.
//
// +kubebuilder:validation:XValidation:rule="has(self.preset) != (has(self.throughput) || has(self.iops))",message="set either preset or the limits themselves (throughput, iops), not both"
type Limits struct {
	// preset is the name of a row of the catalog, such as aws-fsx-windows/hdd-32.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Preset string `json:"preset,omitempty"`

	// capacity is the size of the storage in bytes. The limits of many systems depend on it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1Ei')))",message="a whole number of bytes above zero, such as 5Ti"
	Capacity *resource.Quantity `json:"capacity,omitempty"`

	// throughput holds the documented limits on bytes. Rates are in bytes per second, the bucket is in bytes.
	// +optional
	Throughput *RateLimits `json:"throughput,omitempty"`

	// iops holds the documented limits on operations. Rates are in operations per second, the bucket is in operations.
	// +optional
	IOPS *RateLimits `json:"iops,omitempty"`

	// serverMemory is the memory of the storage server in bytes, which limits how much data its cache can hold.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1Pi')))",message="a whole number of bytes above zero, such as 4Gi"
	ServerMemory *resource.Quantity `json:"serverMemory,omitempty"`
}

// RateLimits describes a token bucket: its baseline rate, its burst rate while there are credits, and its size.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.baseline) || !has(self.burst) || ![string(self.baseline), string(self.burst)].all(s, isQuantity(s)) || !quantity(string(self.burst)).isLessThan(quantity(string(self.baseline)))",message="burst: cannot be below the baseline; swap the two, or remove burst if there is none",fieldPath=".burst"
type RateLimits struct {
	// baseline is the rate without credits, per second.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1E')))",message="a whole number above zero, such as 32M"
	Baseline *resource.Quantity `json:"baseline,omitempty"`

	// burst is the rate with credits, per second.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1E')))",message="a whole number above zero, such as 32M"
	Burst *resource.Quantity `json:"burst,omitempty"`

	// bucket is the number of credits in a full bucket, in bytes or operations.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1E')))",message="a whole number above zero, such as 32M"
	Bucket *resource.Quantity `json:"bucket,omitempty"`

	// refill is the refill rate of the bucket, per second. Defaults to the baseline.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1E')))",message="a whole number above zero, such as 32M"
	Refill *resource.Quantity `json:"refill,omitempty"`
}

// LustreStriping sets how files are striped over the object storage targets of Lustre.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.stripeCount) || self.stripeCount != 0",message="stripeCount: cannot be 0; remove it for the file system's default, or use -1 for all object targets",fieldPath=".stripeCount"
type LustreStriping struct {
	// stripeCount is the number of object storage targets per file; -1 means all.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=2000
	StripeCount *int32 `json:"stripeCount,omitempty"`

	// stripeSize is the stripe size in bytes, a multiple of 64 KiB.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && !quantity(s).isLessThan(quantity('64Ki')) && quantity(s).isLessThan(quantity('4Gi')) && int(quantity(s).asApproximateFloat() + 0.5) % 65536 == 0)",message="a multiple of 64Ki below 4Gi, such as 1Mi"
	StripeSize *resource.Quantity `json:"stripeSize,omitempty"`
}
