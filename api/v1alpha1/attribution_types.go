package v1alpha1

// Cause is a possible reason why a rate was not higher.
//
// +kubebuilder:validation:Enum=Disk;Limit;Network;Flow;Instance;Credits;ServerCache;ClientCPU;QueueDepth;Tool;Unknown
type Cause string

// Values of Cause.
const (
	// CauseDisk: the disks or the volume limited the rate.
	CauseDisk Cause = "Disk"
	// CauseLimit: a limit in the target's documented.throughput or documented.iops was reached. The part of the storage
	// that imposes the limit is unknown.
	CauseLimit Cause = "Limit"
	// CauseNetwork: the network of the storage server limited the rate.
	CauseNetwork Cause = "Network"
	// CauseFlow: the limit of a single network connection was reached.
	CauseFlow Cause = "Flow"
	// CauseInstance: the client machine's network, or the machine's path to the disks, limited the rate.
	CauseInstance Cause = "Instance"
	// CauseCredits: the burst credits were spent, so only the baseline rate was available.
	CauseCredits Cause = "Credits"
	// CauseServerCache: the speed of the storage server's cache limited the rate.
	CauseServerCache Cause = "ServerCache"
	// CauseClientCPU: the client's CPU limited the rate.
	CauseClientCPU Cause = "ClientCPU"
	// CauseQueueDepth: too little I/O was outstanding.
	CauseQueueDepth Cause = "QueueDepth"
	// CauseTool: the tool itself, or a rate limit in its settings, held the rate back.
	CauseTool Cause = "Tool"
	// CauseUnknown: no known cause explains the rate.
	CauseUnknown Cause = "Unknown"
)

// AttributionLevel is a throughput level of a burst drain.
//
// +kubebuilder:validation:Enum=Burst;Baseline
type AttributionLevel string

const (
	// LevelBurst is the level before the first permanent drop.
	LevelBurst AttributionLevel = "Burst"
	// LevelBaseline is the level after the last permanent drop.
	LevelBaseline AttributionLevel = "Baseline"
)

// Attribution compares a rate with the documented limits, and ranks the causes that may have limited the rate.
type Attribution struct {
	// level is the level of a burst drain. Unset if the rate covers the whole measured time.
	// +optional
	Level AttributionLevel `json:"level,omitempty"`

	// operation is the kind of operation. Unset for reads and writes together.
	// +optional
	Operation Operation `json:"operation,omitempty"`

	// bytesPerSecond is the measured throughput.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`

	// iopsMilli is the measured rate, in thousandths of an operation per second.
	// +optional
	IOPSMilli int64 `json:"iopsMilli"`

	// baseline is the lowest of the documented rates without credits. Unset if unknown.
	// +optional
	Baseline *DocumentedRate `json:"baseline,omitempty"`

	// burst is the lowest of the documented rates with credits. Unset if unknown, or if no limit has a burst.
	// +optional
	Burst *DocumentedRate `json:"burst,omitempty"`

	// ambiguous is true if a suspect with another cause explains the rate as well as the first suspect does.
	// +optional
	Ambiguous bool `json:"ambiguous,omitempty"`

	// suspects are the possible explanations, most likely first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Suspects []Suspect `json:"suspects,omitempty"`
}

// DocumentedRate is the documented rate for a load, and the fraction of this rate that was reached.
type DocumentedRate struct {
	// limit is the name of the lowest limit that applies to the load.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Limit string `json:"limit"`

	// bytesPerSecond is the throughput that the limit allows. Unset if the limit is in operations of unknown size.
	// +optional
	BytesPerSecond *int64 `json:"bytesPerSecond,omitempty"`

	// iopsMilli is the rate that the limit allows, in thousandths of an operation per second. Unset if the limit is in
	// bytes and the operation size is unknown.
	// +optional
	IOPSMilli *int64 `json:"iopsMilli,omitempty"`

	// permilleReached is the fraction of the documented rate that was reached, in thousandths.
	// +optional
	PermilleReached int64 `json:"permilleReached"`

	// arithmetic shows how the rate is calculated.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Arithmetic string `json:"arithmetic,omitempty"`
}

// Suspect is a possible explanation of a rate.
type Suspect struct {
	// cause names the suspected cause in one word.
	// +required
	Cause Cause `json:"cause"`

	// limit is the name of the limit. Unset if the cause is not a documented limit.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Limit string `json:"limit,omitempty"`

	// burst is true if the suspect is the limit's burst rate, not its baseline.
	// +optional
	Burst bool `json:"burst,omitempty"`

	// permilleUsed is the fraction of the limit that was reached, in thousandths.
	// +optional
	PermilleUsed int64 `json:"permilleUsed,omitempty"`

	// tied is true if the suspect explains the rate as well as the first suspect does.
	// +optional
	Tied bool `json:"tied,omitempty"`

	// arithmetic shows how the limit is calculated.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Arithmetic string `json:"arithmetic,omitempty"`

	// overridden is true if the limit is not from the operator's built-in catalog.
	// +optional
	Overridden bool `json:"overridden,omitempty"`

	// evidence lists facts for and against the suspect.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:items:MaxLength=256
	Evidence []string `json:"evidence,omitempty"`
}

// StepAttribution names the most likely cause that limited the rate of a step or a cell.
type StepAttribution struct {
	// cause is the most likely cause, in one word.
	// +required
	Cause Cause `json:"cause"`

	// limit is the name of the limit. Unset if the cause is not a documented limit.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Limit string `json:"limit,omitempty"`

	// burst is true if the cause is the limit's burst rate, not its baseline.
	// +optional
	Burst bool `json:"burst,omitempty"`

	// permilleUsed is the fraction of the limit that was reached, in thousandths.
	// +optional
	PermilleUsed int64 `json:"permilleUsed,omitempty"`

	// ambiguous is true if another cause explains the rate equally well.
	// +optional
	Ambiguous bool `json:"ambiguous,omitempty"`

	// permilleOfBaseline is the fraction of the documented baseline that was reached, in thousandths. Unset if unknown.
	// +optional
	PermilleOfBaseline *int64 `json:"permilleOfBaseline,omitempty"`

	// permilleOfBurst is the fraction of the documented burst that was reached, in thousandths. Unset if unknown, or if
	// no limit has a burst.
	// +optional
	PermilleOfBurst *int64 `json:"permilleOfBurst,omitempty"`
}
