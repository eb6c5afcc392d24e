package v1alpha1

// Cause is what may have held a rate back.
//
// +kubebuilder:validation:Enum=Disk;Network;Flow;Instance;Credits;ServerCache;ClientCPU;QueueDepth;Tool;Unknown
type Cause string

// The causes.
const (
	// CauseDisk is the disks or the volume.
	CauseDisk Cause = "Disk"
	// CauseNetwork is the network of the storage server.
	CauseNetwork Cause = "Network"
	// CauseFlow is one connection.
	CauseFlow Cause = "Flow"
	// CauseInstance is the machine of a client: its network, or its way to the
	// disks.
	CauseInstance Cause = "Instance"
	// CauseCredits is a limit that is at its baseline since its credits are
	// gone.
	CauseCredits Cause = "Credits"
	// CauseServerCache is the cache of the storage server at its own speed.
	CauseServerCache Cause = "ServerCache"
	// CauseClientCPU is the client's CPU.
	CauseClientCPU Cause = "ClientCPU"
	// CauseQueueDepth is that too little was asked for at a time.
	CauseQueueDepth Cause = "QueueDepth"
	// CauseTool is the tool, or the rate that it was told.
	CauseTool Cause = "Tool"
	// CauseUnknown: nothing that is known explains the rate.
	CauseUnknown Cause = "Unknown"
)

// AttributionLevel is a level of a burst drain.
//
// +kubebuilder:validation:Enum=Burst;Baseline
type AttributionLevel string

// The levels.
const (
	// LevelBurst is before the first lasting drop.
	LevelBurst AttributionLevel = "Burst"
	// LevelBaseline is after the last lasting drop.
	LevelBaseline AttributionLevel = "Baseline"
)

// Attribution compares a rate with what is documented for it, and ranks what
// may have held it back.
type Attribution struct {
	// level of a burst drain that it is of. Absent: all that was measured.
	// +optional
	Level AttributionLevel `json:"level,omitempty"`

	// operation that it is of. Absent: reads and writes together.
	// +optional
	Operation Operation `json:"operation,omitempty"`

	// bytesPerSecond that is compared.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`

	// iopsMilli is a thousand times the operations a second.
	// +optional
	IOPSMilli int64 `json:"iopsMilli"`

	// baseline is the least of all documented limits without credits. Absent:
	// none is known.
	// +optional
	Baseline *DocumentedRate `json:"baseline,omitempty"`

	// burst is the least of all documented limits with credits. Absent: none
	// is known, or nothing bursts.
	// +optional
	Burst *DocumentedRate `json:"burst,omitempty"`

	// ambiguous says that the first suspect and one of another cause explain
	// the rate alike.
	// +optional
	Ambiguous bool `json:"ambiguous,omitempty"`

	// suspects, the likeliest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Suspects []Suspect `json:"suspects,omitempty"`
}

// DocumentedRate is what is documented for a load, and how much of it was
// reached.
type DocumentedRate struct {
	// limit that is the least, by name.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Limit string `json:"limit"`

	// bytesPerSecond that can pass. Absent: it is a limit of operations, and
	// their size is not known.
	// +optional
	BytesPerSecond *int64 `json:"bytesPerSecond,omitempty"`

	// iopsMilli is a thousand times the operations a second that can pass.
	// Absent: it is a limit of bytes, and the size of operations is not known.
	// +optional
	IOPSMilli *int64 `json:"iopsMilli,omitempty"`

	// permilleReached is the part that was reached, in thousandths.
	// +optional
	PermilleReached int64 `json:"permilleReached"`

	// arithmetic that leads to it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Arithmetic string `json:"arithmetic,omitempty"`
}

// Suspect is one explanation of a rate.
type Suspect struct {
	// cause in a word.
	// +required
	Cause Cause `json:"cause"`

	// limit by name. Absent: the cause is no documented limit.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Limit string `json:"limit,omitempty"`

	// burst says that the burst of the limit is meant.
	// +optional
	Burst bool `json:"burst,omitempty"`

	// permilleUsed is the part of it that was reached, in thousandths.
	// +optional
	PermilleUsed int64 `json:"permilleUsed,omitempty"`

	// tied says that it is as good an explanation as the first one.
	// +optional
	Tied bool `json:"tied,omitempty"`

	// arithmetic of the limit.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Arithmetic string `json:"arithmetic,omitempty"`

	// overridden says that the limit is not the one that comes with the
	// operator.
	// +optional
	Overridden bool `json:"overridden,omitempty"`

	// evidence for it and against it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:items:MaxLength=256
	Evidence []string `json:"evidence,omitempty"`
}

// StepAttribution is what held the rate of a step or a cell back, in short.
type StepAttribution struct {
	// cause in a word, the likeliest.
	// +required
	Cause Cause `json:"cause"`

	// limit by name. Absent: the cause is no documented limit.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Limit string `json:"limit,omitempty"`

	// burst says that the burst of the limit is meant.
	// +optional
	Burst bool `json:"burst,omitempty"`

	// permilleUsed is the part of it that was reached, in thousandths.
	// +optional
	PermilleUsed int64 `json:"permilleUsed,omitempty"`

	// ambiguous says that another cause explains the rate alike.
	// +optional
	Ambiguous bool `json:"ambiguous,omitempty"`

	// permilleOfBaseline is the part of the documented baseline that was
	// reached, in thousandths. Absent: none is known.
	// +optional
	PermilleOfBaseline *int64 `json:"permilleOfBaseline,omitempty"`

	// permilleOfBurst is the part of the documented burst. Absent: none is
	// known, or nothing bursts.
	// +optional
	PermilleOfBurst *int64 `json:"permilleOfBurst,omitempty"`
}
