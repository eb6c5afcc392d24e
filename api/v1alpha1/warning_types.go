package v1alpha1

import (
	"maps"
	"slices"
)

// Severity states what a warning means for the result.
//
// +kubebuilder:validation:Enum=Info;Warning;Disqualifying
type Severity string

// Values of Severity.
const (
	// SeverityInfo: a note; the results are valid.
	SeverityInfo Severity = "Info"
	// SeverityWarning: the results are valid, but a figure may be misleading.
	SeverityWarning Severity = "Warning"
	// SeverityDisqualifying: the figures do not measure what was requested; the run is not valid.
	SeverityDisqualifying Severity = "Disqualifying"
)

// Warning is one problem with a result.
type Warning struct {
	// type is the type of the warning.
	// +required
	Type WarningType `json:"type"`

	// severity depends on the type and on the kind of the phase.
	// +required
	Severity Severity `json:"severity"`

	// message describes this occurrence of the problem, with the relevant figures.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// clients are the indexes of the affected clients, at most the first 16. Empty if the warning affects all clients, or
	// none in particular.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Clients []int32 `json:"clients,omitempty"`
}

// WarningType names a problem with a result. The severity of a warning depends on the kind of the phase: prepare,
// measuring (steady, ramp, sweep, smallFiles, search, interference), burstDrain, or others (cooldown). I is Info, W is
// Warning, D is Disqualifying.
//
//	type                   prepare measuring burstDrain others  meaning
//	StartSkew                 I        W         W        I     clients began I/O too far apart
//	ClockUncertain            I        W         W        I     clock offsets are too uncertain to determine the start skew
//	ClientCPUThrottled        I        W         W        I     a client's CPU limit throttled it
//	ClientCPUSaturated        I        W         W        I     a client had no CPU left
//	DirectIONotHonoured       W        D         D        W     direct I/O was requested, but not performed
//	PageCacheSuspected        I        W         W        I     reads may have come from the client's memory
//	ServerCacheSuspected      I        W         W        I     reads may have come from the server's memory
//	FasterThanDocumented      I        W         W        I     the rate is over 1.25 times the highest documented burst
//	HostCacheOn               I        W         W        I     a client's machine caches the disk
//	FreshVolume               I        W         W        I     the volume is new, so its credits are full
//	BurstBilled               I        W         W        I     the burst costs money and does not end
//	UnwrittenDataRead         D        D         D        D     reads hit blocks that were never written
//	WrittenUnknown            W        W         W        I     it is unknown how much of the files was written
//	RunTooShort               I        W         W        I     the run was shorter than the credits could last
//	ClientLost                D        D         D        D     a client and its figures were lost
//	ClientReplaced            I        I         D        I     a step was repeated with a replacement
//	ClientsMissing            W        W         D        W     the run continued without lost clients, as requested
//	ToolError                 D        D         D        D     the tool reported an error
//	NoOperations              D        D         D        I     no operation completed
//	ResultIncomplete          D        D         D        D     the tool's final result is cut off or missing
//	NotSteady                 I        W         I        I     the rate was not steady
//	NotAssessed               I        W         I        I     the step was too short for a steady-state verdict
//	SteadyInBurst             I        W         I        I     the rate was steady, but perhaps only while credits last
//	ClientsShareNode          I        W         W        I     clients of a target shared a node
//	SharedClientNode          I        W         W        I     clients of targets loaded together shared a node
//	WindowsDiffer             I        W         W        I     the common window is under 95 % of a client's time
//	CommonWindowTooShort      I        D         D        I     the common window is under 80 % of a client's time
//	TooFewSamples             I        I         I        I     too few samples for a percentile
//	LatencyClipped            I        W         W        I     of latencies over 17.1 s, only the maximum is known
//	SubmissionBlocks          I        W         W        I     submission takes over 10 % of the latency
//	DirtyPages                I        W         W        I     buffered writes were not flushed in the measured time
//	BytesUncertain            I        W         W        I     two counts of bytes or operations differ by over 5 %
//	SamplesLost               I        W         W        I     part of the time series is lost
//	SweepDrift                I        W         I        I     a repeated cell differs by over 10 %
//	SearchInconclusive        I        W         I        I     the highest rate of a search is a bound, or not confirmed
//	IOStalled                 I        W         W        I     no operation completed for a long time
//	NoDropSeen                I        I         W        I     the throughput never fell
//	CreditsUnknown            I        I         W        I     the initial fill level of the bucket is unknown
//	ToolVersionsDiffer        W        W         W        W     the clients run different versions of the tool
//	LayoutReused              I        I         I        I     existing data was reused and not written again
//	LayoutRenewed             I        I         I        I     existing data could not be used and was written again
//	PatternCompresses         I        W         W        I     the storage compresses the data that the tool writes
//	CompressionNotShown       I        W         W        I     compression by the storage is possible but not visible
//	DirectoryHeld             I        I         I        I     a client waited for its previous agent to release its files
//	UsageUnknown              I        I         I        I     the space that the files occupy is unknown
//	ToolMessages              I        I         I        I     the tool printed unrecognized messages
//	VolumeInUse               I        W         W        I     something else uses a volume of the run
//	DataLeftBehind            I        I         I        I     data of deleted benchmarks or earlier runs was found
//	ObservationFailed         W        W         W        W     an observation has no answer
//	ObservationIncomplete     I        I         I        I     an observation is late, has gaps, or was cut short
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=40
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z]*$`
type WarningType string

// Possible values of WarningType. The table in the comment of WarningType gives their meaning.
const (
	WarningStartSkew            WarningType = "StartSkew"
	WarningClockUncertain       WarningType = "ClockUncertain"
	WarningClientCPUThrottled   WarningType = "ClientCPUThrottled"
	WarningClientCPUSaturated   WarningType = "ClientCPUSaturated"
	WarningDirectIONotHonoured  WarningType = "DirectIONotHonoured"
	WarningPageCacheSuspected   WarningType = "PageCacheSuspected"
	WarningServerCacheSuspected WarningType = "ServerCacheSuspected"
	WarningFasterThanDocumented WarningType = "FasterThanDocumented"
	WarningHostCacheOn          WarningType = "HostCacheOn"
	WarningFreshVolume          WarningType = "FreshVolume"
	WarningBurstBilled          WarningType = "BurstBilled"
	WarningUnwrittenDataRead    WarningType = "UnwrittenDataRead"
	WarningWrittenUnknown       WarningType = "WrittenUnknown"
	WarningRunTooShort          WarningType = "RunTooShort"
	WarningClientLost           WarningType = "ClientLost"
	WarningClientReplaced       WarningType = "ClientReplaced"
	WarningClientsMissing       WarningType = "ClientsMissing"
	WarningToolError            WarningType = "ToolError"
	WarningNoOperations         WarningType = "NoOperations"
	WarningResultIncomplete     WarningType = "ResultIncomplete"
	WarningNotSteady            WarningType = "NotSteady"
	WarningNotAssessed          WarningType = "NotAssessed"
	WarningSteadyInBurst        WarningType = "SteadyInBurst"
	WarningClientsShareNode     WarningType = "ClientsShareNode"
	WarningSharedClientNode     WarningType = "SharedClientNode"
	WarningWindowsDiffer        WarningType = "WindowsDiffer"
	WarningCommonWindowTooShort WarningType = "CommonWindowTooShort"
	WarningTooFewSamples        WarningType = "TooFewSamples"
	WarningLatencyClipped       WarningType = "LatencyClipped"
	WarningSubmissionBlocks     WarningType = "SubmissionBlocks"
	WarningDirtyPages           WarningType = "DirtyPages"
	WarningBytesUncertain       WarningType = "BytesUncertain"
	WarningSamplesLost          WarningType = "SamplesLost"
	WarningSweepDrift           WarningType = "SweepDrift"
	WarningSearchInconclusive   WarningType = "SearchInconclusive"
	WarningIOStalled            WarningType = "IOStalled"
	WarningNoDropSeen           WarningType = "NoDropSeen"
	WarningCreditsUnknown       WarningType = "CreditsUnknown"
	WarningToolVersionsDiffer   WarningType = "ToolVersionsDiffer"
	WarningLayoutReused         WarningType = "LayoutReused"
	WarningLayoutRenewed        WarningType = "LayoutRenewed"
	WarningPatternCompresses    WarningType = "PatternCompresses"
	WarningCompressionNotShown  WarningType = "CompressionNotShown"
	WarningDirectoryHeld        WarningType = "DirectoryHeld"
	WarningUsageUnknown         WarningType = "UsageUnknown"
	WarningToolMessages         WarningType = "ToolMessages"
	WarningVolumeInUse          WarningType = "VolumeInUse"
	WarningDataLeftBehind       WarningType = "DataLeftBehind"

	WarningObservationFailed     WarningType = "ObservationFailed"
	WarningObservationIncomplete WarningType = "ObservationIncomplete"
)

// severities is one row of the table in WarningType's comment.
type severities struct {
	prepare, measuring, burstDrain, others Severity
}

const (
	info          = SeverityInfo
	warning       = SeverityWarning
	disqualifying = SeverityDisqualifying
)

var severityTable = map[WarningType]severities{
	WarningStartSkew:            {info, warning, warning, info},
	WarningClockUncertain:       {info, warning, warning, info},
	WarningClientCPUThrottled:   {info, warning, warning, info},
	WarningClientCPUSaturated:   {info, warning, warning, info},
	WarningDirectIONotHonoured:  {warning, disqualifying, disqualifying, warning},
	WarningPageCacheSuspected:   {info, warning, warning, info},
	WarningServerCacheSuspected: {info, warning, warning, info},
	WarningFasterThanDocumented: {info, warning, warning, info},
	WarningHostCacheOn:          {info, warning, warning, info},
	WarningFreshVolume:          {info, warning, warning, info},
	WarningBurstBilled:          {info, warning, warning, info},
	WarningUnwrittenDataRead:    {disqualifying, disqualifying, disqualifying, disqualifying},
	WarningWrittenUnknown:       {warning, warning, warning, info},
	WarningRunTooShort:          {info, warning, warning, info},
	WarningClientLost:           {disqualifying, disqualifying, disqualifying, disqualifying},
	WarningClientReplaced:       {info, info, disqualifying, info},
	WarningClientsMissing:       {warning, warning, disqualifying, warning},
	WarningToolError:            {disqualifying, disqualifying, disqualifying, disqualifying},
	WarningNoOperations:         {disqualifying, disqualifying, disqualifying, info},
	WarningResultIncomplete:     {disqualifying, disqualifying, disqualifying, disqualifying},
	WarningNotSteady:            {info, warning, info, info},
	WarningNotAssessed:          {info, warning, info, info},
	WarningSteadyInBurst:        {info, warning, info, info},
	WarningClientsShareNode:     {info, warning, warning, info},
	WarningSharedClientNode:     {info, warning, warning, info},
	WarningWindowsDiffer:        {info, warning, warning, info},
	WarningCommonWindowTooShort: {info, disqualifying, disqualifying, info},
	WarningTooFewSamples:        {info, info, info, info},
	WarningLatencyClipped:       {info, warning, warning, info},
	WarningSubmissionBlocks:     {info, warning, warning, info},
	WarningDirtyPages:           {info, warning, warning, info},
	WarningBytesUncertain:       {info, warning, warning, info},
	WarningSamplesLost:          {info, warning, warning, info},
	WarningSweepDrift:           {info, warning, info, info},
	WarningSearchInconclusive:   {info, warning, info, info},
	WarningIOStalled:            {info, warning, warning, info},
	WarningNoDropSeen:           {info, info, warning, info},
	WarningCreditsUnknown:       {info, info, warning, info},
	WarningToolVersionsDiffer:   {warning, warning, warning, warning},
	WarningLayoutReused:         {info, info, info, info},
	WarningLayoutRenewed:        {info, info, info, info},
	WarningPatternCompresses:    {info, warning, warning, info},
	WarningCompressionNotShown:  {info, warning, warning, info},
	WarningDirectoryHeld:        {info, info, info, info},
	WarningUsageUnknown:         {info, info, info, info},
	WarningToolMessages:         {info, info, info, info},
	WarningVolumeInUse:          {info, warning, warning, info},
	WarningDataLeftBehind:       {info, info, info, info},

	WarningObservationFailed:     {warning, warning, warning, warning},
	WarningObservationIncomplete: {info, info, info, info},
}

// Severity returns the severity of the warning in a phase of the given kind, as listed in WarningType's comment. An
// unknown type is disqualifying, because its meaning is unknown.
func (t WarningType) Severity(kind PhaseKind) Severity {
	row, known := severityTable[t]
	if !known {
		return SeverityDisqualifying
	}
	switch kind {
	case PhasePrepare:
		return row.prepare
	case PhaseBurstDrain:
		return row.burstDrain
	case PhaseCooldown:
		return row.others
	default:
		return row.measuring
	}
}

// Disqualified reports whether a warning disqualifies the figures of a cell.
func (s *StepResult) Disqualified() bool {
	return slices.ContainsFunc(s.Warnings, func(w WarningType) bool { return w.Severity(PhaseSweep) == SeverityDisqualifying })
}

// WarningTypes returns all types, sorted by name.
func WarningTypes() []WarningType {
	return slices.Sorted(maps.Keys(severityTable))
}

// NewWarning returns a warning with the severity from the table of WarningType. It shortens message and clients to what
// the API accepts.
func NewWarning(t WarningType, kind PhaseKind, message string, clients ...int32) Warning {
	const maxMessage, maxClients = 512, 16
	if len(clients) > maxClients {
		clients = clients[:maxClients]
	}
	return Warning{
		Type:     t,
		Severity: t.Severity(kind),
		Message:  Truncate(message, maxMessage),
		Clients:  slices.Clone(clients),
	}
}
