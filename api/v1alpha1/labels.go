package v1alpha1

// Labels of the objects that belong to a run.
const (
	// LabelBenchmark is the name of the StorageBenchmark.
	LabelBenchmark = Group + "/benchmark"
	// LabelRun is the name of the BenchmarkRun.
	LabelRun = Group + "/run"
	// LabelTarget is the name of the target that a client loads.
	LabelTarget = Group + "/target"
	// LabelClient is the index of a client among those of its target.
	LabelClient = Group + "/client"
	// LabelAttempt counts the pods of a client, from 1.
	LabelAttempt = Group + "/attempt"
	// LabelQueue is the queue of a run.
	LabelQueue = Group + "/queue"
)

// Annotations.
const (
	// AnnotationRequestedAt on a StorageBenchmark asks for one more run when
	// its value changes; status.lastHandledRequest echoes it.
	AnnotationRequestedAt = Group + "/requested-at"
)

// Finalizers.
const (
	// FinalizerRun sits on a BenchmarkRun from the creation of its pods until
	// its data is removed.
	FinalizerRun = Group + "/run"
)

// DataDirectory is the folder, below a target's path, under which runs write.
const DataDirectory = ".storagebench"

// MaxBenchmarkNameLength is the greatest length of a StorageBenchmark's name.
const MaxBenchmarkNameLength = 40
