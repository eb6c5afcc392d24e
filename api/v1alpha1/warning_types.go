package v1alpha1

// Severity says what a warning means for the result.
//
// +kubebuilder:validation:Enum=Info;Warning;Disqualifying
type Severity string

// The severities.
const (
	// SeverityInfo: a note; the results are valid.
	SeverityInfo Severity = "Info"
	// SeverityWarning: the results are valid, but a figure may not mean what
	// it seems to.
	SeverityWarning Severity = "Warning"
	// SeverityDisqualifying: the figures do not measure what was asked for;
	// the run is not valid.
	SeverityDisqualifying Severity = "Disqualifying"
)

// Warning is one thing that is wrong with a result.
type Warning struct {
	// type of the warning.
	// +required
	Type WarningType `json:"type"`

	// severity by type and phase kind.
	// +required
	Severity Severity `json:"severity"`

	// message says it with the figures of this case.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// clients that it is about, by index, at most the first 16. Empty: all,
	// or none in particular.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Clients []int32 `json:"clients,omitempty"`
}

// WarningType names what is wrong with a result. What it means for the result
// depends on the kind of the phase; columns are prepare, measuring (steady,
// ramp, sweep, search), burstDrain, and the others (cooldown, verify, fault,
// provision). I is Info, W is Warning, D is Disqualifying.
//
//	type                   prepare measuring burstDrain others  meaning
//	StartSkew                 I        W         W        I     clients began I/O too far apart
//	ClockUncertain            I        W         W        I     a clock's offset is known too badly for that
//	ClientCPUThrottled        I        W         W        I     a client's CPU limit held it back
//	ClientCPUSaturated        I        W         W        I     a client had no CPU left
//	DirectIONotHonoured       W        D         D        W     direct I/O was asked for and did not happen
//	PageCacheSuspected        I        W         W        I     reads can have come from the client's memory
//	ServerCacheSuspected      I        W         W        I     reads can have come from the server's memory
//	FasterThanDocumented      I        W         W        I     over 1.25 times the highest documented burst
//	HostCacheOn               I        W         W        I     the machine of a client caches the disk
//	FreshVolume               I        W         W        I     the volume was made for the run, so that its credits are full
//	BurstBilled               I        W         W        I     the burst costs money, and does not end
//	UnwrittenDataRead         D        D         D        D     reads hit blocks that were never written
//	WrittenUnknown            W        W         W        I     nothing proves how much of the files was written
//	RunTooShort               I        W         W        I     shorter than the credits could last
//	ClientLost                D        D         D        D     a client was lost and its figures with it
//	ClientReplaced            I        I         D        I     a step was repeated with a replacement
//	ClientsMissing            W        W         D        W     went on without lost clients, as asked for
//	ToolError                 D        D         D        D     the tool reported an error
//	NoOperations              D        D         D        I     not one operation was completed
//	ResultIncomplete          D        D         D        D     the tool's final result is cut off or missing
//	NotSteady                 I        W         I        I     the rate was not steady
//	NotAssessed               I        I         I        I     too short to say whether it was steady
//	SteadyInBurst             I        W         I        I     steady, but perhaps only while credits last
//	ClientsShareNode          I        W         W        I     clients ran on one node
//	SharedClientNode          I        W         W        I     clients of two targets that were loaded together ran on one node
//	WindowsDiffer             I        W         W        I     under 95 % of a client's time is common to all
//	CommonWindowTooShort      I        D         D        I     under 80 % of a client's time is common to all
//	TooFewSamples             I        I         I        I     a percentile is absent
//	LatencyClipped            I        W         W        I     latencies over 17.1 s are only known by their maximum
//	SubmissionBlocks          I        W         W        I     submitting takes over 10 % of the latency
//	DirtyPages                I        W         W        I     buffered writes were not flushed in the measured time
//	BytesUncertain            I        W         W        I     two counts of the bytes, or bytes and operations, differ by over 5 %
//	SamplesLost               I        W         W        I     part of the series over time is lost
//	SweepDrift                I        W         I        I     a repeated cell differs by over 10 %
//	IOStalled                 I        W         W        I     no operation was completed for long
//	NoDropSeen                I        I         W        I     the throughput never fell
//	CreditsUnknown            I        I         W        I     the fill of the bucket at the start is not known
//	ToolVersionsDiffer        W        W         W        W     the clients run different versions of the tool
//	LayoutReused              I        I         I        I     the data was there already and was not written again
//	LayoutRenewed             I        I         I        I     data was there and could not be used: it was written again
//	PatternCompresses         I        W         W        I     the tool's own data is what the storage compresses
//	CompressionNotShown       I        W         W        I     that data may be compressed, and it cannot be seen
//	DirectoryHeld             I        I         I        I     a client's last agent was waited for, which still had its files
//	UsageUnknown              I        I         I        I     how much space the files take is not known
//	ToolMessages              I        I         I        I     the tool said something that is not understood here
//	VolumeInUse               I        W         W        I     something else uses a volume of the run
//	DataLeftBehind            I        I         I        I     data of benchmarks that are gone, or of earlier runs, was found
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=40
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z]*$`
type WarningType string

// The warnings; the table at WarningType says what each means.
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
)
