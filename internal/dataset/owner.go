package dataset

// Owner is what an ownership file says.
type Owner struct {
	SchemaVersion int    `json:"schemaVersion"`
	BenchmarkUID  string `json:"benchmarkUID"`
	Benchmark     string `json:"benchmark"`
	// RunUID and Run are those of the run that created the directory; later runs of the benchmark
	// may use it too.
	RunUID string `json:"runUID"`
	Run    string `json:"run"`
	// CreatedBy is the version of storagebench.
	CreatedBy string `json:"createdBy"`
}
