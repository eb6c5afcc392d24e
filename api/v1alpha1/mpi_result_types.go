package v1alpha1

// MPIRun records how a tool was run under MPI.
type MPIRun struct {
	// commandLine is the command line that ran: the program and its arguments, the same for all
	// ranks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=512
	CommandLine []string `json:"commandLine,omitempty"`

	// version is the version of the tool.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// mpiVersion is the version of Open MPI.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	MPIVersion string `json:"mpiVersion,omitempty"`

	// ranks is the number of ranks of the job.
	// +optional
	Ranks int32 `json:"ranks,omitempty"`

	// clients is the number of clients that hosted the ranks.
	// +optional
	Clients int32 `json:"clients,omitempty"`
}

// IORResult is the result that IOR reports.
type IORResult struct {
	MPIRun `json:",inline"`

	// api is IOR's interface to the storage.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	API string `json:"api,omitempty"`

	// dataPattern is the content that was written. Unset for the default of the IOR version, which compresses 4:1 in
	// 3.3.0 and 2:1 in 4.0.0.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	DataPattern string `json:"dataPattern,omitempty"`

	// operations are the figures, one entry per kind of operation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	Operations []IOROperation `json:"operations,omitempty"`
}

// IOROperation holds the figures of one kind of operation over its repetitions. Each repetition has
// the same weight, as in IOR.
type IOROperation struct {
	// operation is the kind of operation.
	// +required
	Operation Operation `json:"operation"`

	// count is the number of completed repetitions, including those not listed in repetitions. An interrupted
	// repetition is not counted.
	// +optional
	Count int32 `json:"count"`

	// maxBytesPerSecond is the highest rate of a repetition; IOR calls it Max Write or Max Read.
	// +optional
	MaxBytesPerSecond int64 `json:"maxBytesPerSecond"`

	// minBytesPerSecond is the lowest rate of a repetition.
	// +optional
	MinBytesPerSecond int64 `json:"minBytesPerSecond"`

	// meanBytesPerSecond is the mean rate of the repetitions.
	// +optional
	MeanBytesPerSecond int64 `json:"meanBytesPerSecond"`

	// standardDeviationBytesPerSecond is the standard deviation of the rates of the repetitions.
	// +optional
	StandardDeviationBytesPerSecond int64 `json:"standardDeviationBytesPerSecond"`

	// meanNanoseconds is the mean duration of a repetition.
	// +optional
	MeanNanoseconds int64 `json:"meanNanoseconds"`

	// bytes is the number of bytes moved in all repetitions.
	// +optional
	Bytes int64 `json:"bytes"`

	// omittedRepetitions is the number of repetitions not listed in repetitions. They ran between the first and the last
	// listed repetitions, and are included in all other figures.
	// +optional
	OmittedRepetitions int32 `json:"omittedRepetitions,omitempty"`

	// repetitions are the listed repetitions in the order in which they ended.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Repetitions []IORRepetition `json:"repetitions,omitempty"`
}

// IORRepetition is one write or one read of all files. The times of opening, transferring and closing overlap, because
// each runs from the first rank's start to the last rank's end.
type IORRepetition struct {
	// index is the number of the repetition, counted from 0.
	// +optional
	Index int32 `json:"index"`

	// bytes is the number of bytes moved.
	// +optional
	Bytes int64 `json:"bytes"`

	// bytesEstimated is true if IOR did not print the bytes. bytes is then calculated from the printed rate and time, and
	// is only as precise as these.
	// +optional
	BytesEstimated bool `json:"bytesEstimated,omitempty"`

	// bytesPerSecond is the rate that IOR reports: all bytes divided by totalNanoseconds.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`

	// iopsMilli is the rate of transfers, without opening and closing the files, in thousandths of a transfer per
	// second. Unset if IOR did not print it.
	// +optional
	IOPSMilli *int64 `json:"iopsMilli,omitempty"`

	// openNanoseconds is the time for opening the files.
	// +optional
	OpenNanoseconds *int64 `json:"openNanoseconds,omitempty"`

	// transferNanoseconds is the time for writing or reading.
	// +optional
	TransferNanoseconds *int64 `json:"transferNanoseconds,omitempty"`

	// closeNanoseconds is the time for closing the files, after an fsync if one was requested.
	// +optional
	CloseNanoseconds *int64 `json:"closeNanoseconds,omitempty"`

	// totalNanoseconds is the duration of the repetition.
	// +optional
	TotalNanoseconds int64 `json:"totalNanoseconds"`
}

// MdtestResult is the result that mdtest reports.
type MdtestResult struct {
	MPIRun `json:",inline"`

	// rates are the rates by operation, over all ranks, as mdtest reports them. They are based on the time of the
	// slowest rank.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Rates []MdtestRate `json:"rates,omitempty"`
}

// MdtestRate is the rate of one kind of operation over the iterations, in thousandths of an
// operation per second.
type MdtestRate struct {
	// operation is mdtest's name for the operation, such as "File creation".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Operation string `json:"operation"`

	// maxOPSMilli is the highest rate of an iteration.
	// +optional
	MaxOPSMilli int64 `json:"maxOPSMilli"`

	// minOPSMilli is the lowest rate of an iteration.
	// +optional
	MinOPSMilli int64 `json:"minOPSMilli"`

	// meanOPSMilli is the mean rate of the iterations.
	// +optional
	MeanOPSMilli int64 `json:"meanOPSMilli"`

	// standardDeviationOPSMilli is the standard deviation of the rates of the iterations.
	// +optional
	StandardDeviationOPSMilli int64 `json:"standardDeviationOPSMilli"`
}
