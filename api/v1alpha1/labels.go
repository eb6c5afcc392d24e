package v1alpha1

// Labels of the objects that belong to a run.
const (
	// LabelBenchmark is the name of the StorageBenchmark.
	LabelBenchmark = Group + "/benchmark"
	// LabelRun is the name of the BenchmarkRun.
	LabelRun = Group + "/run"
	// LabelTarget is the name of the target that a client loads.
	LabelTarget = Group + "/target"
	// LabelClient is the index of a client within its target.
	LabelClient = Group + "/client"
	// LabelAttempt is the number of the client's attempt, counted from 1.
	LabelAttempt = Group + "/attempt"
	// LabelQueue is the queue of a run.
	LabelQueue = Group + "/queue"
	// LabelOver is "true" on a BenchmarkRun that has ended and has no objects left in the cluster, except those that
	// the API server refuses to delete. The label lets selectors exclude such runs.
	LabelOver = Group + "/over"
)

// LabelLibrary is "true" on a ClusterWorkloadProfile that the operator installed.
const LabelLibrary = Group + "/library"

// Kueue labels that a StorageBenchmark may carry. They are copied to its runs and from there to the
// pods.
const (
	// LabelKueueQueue is the name of a LocalQueue.
	LabelKueueQueue = "kueue.x-k8s.io/queue-name"
	// LabelKueuePriority is the name of a WorkloadPriorityClass.
	LabelKueuePriority = "kueue.x-k8s.io/priority-class"
)

const (
	// AnnotationRequestedAt on a StorageBenchmark requests one more run when its value changes;
	// status.lastHandledRequest echoes it.
	AnnotationRequestedAt = Group + "/requested-at"
	// AnnotationReplaced on a BenchmarkRun ends the run so that another run can replace it. The value is the reason.
	AnnotationReplaced = Group + "/replaced"
	// AnnotationBegun on a BenchmarkRun is the UID of the run, added before its first pod is created. If it is the UID
	// of another run, the run was restored from a backup, or copied.
	AnnotationBegun = Group + "/begun"
	// AnnotationProof on an object of a run proves that the operator created it. The value derives from
	// the operator's master key.
	AnnotationProof = Group + "/proof"
	// AnnotationAbout on a library profile describes its purpose.
	AnnotationAbout = Group + "/about"
	// AnnotationSource on a library profile names the source of its numbers.
	AnnotationSource = Group + "/source"
	// AnnotationLibraryVersion on a library profile is the version of the operator that last
	// applied it.
	AnnotationLibraryVersion = Group + "/library-version"
	// AnnotationLibraryApplied on a library profile is the spec that the operator applied, as JSON. If the profile's
	// spec differs, it was changed outside the operator.
	AnnotationLibraryApplied = Group + "/library-applied"
)

const (
	// FinalizerRun prevents the deletion of a BenchmarkRun until its data is removed. It is added before the pods are
	// created.
	FinalizerRun = Group + "/run"
)

// DataDirectory is the directory, below a target's path, that runs write to.
const DataDirectory = ".storagebench"

// MaxBenchmarkNameLength is the maximum length of a StorageBenchmark's name.
const MaxBenchmarkNameLength = 40
