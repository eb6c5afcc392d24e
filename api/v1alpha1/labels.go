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
	// LabelOver is "true" on a BenchmarkRun that has ended and has nothing in
	// the cluster any more, so that the others can be listed alone.
	LabelOver = Group + "/over"
)

// LabelLibrary is "true" on a ClusterWorkloadProfile that came with the
// operator.
const LabelLibrary = Group + "/library"

// Labels of Kueue that are honoured on a StorageBenchmark: they are copied to
// its runs and from there to the pods.
const (
	// LabelKueueQueue is the name of a LocalQueue.
	LabelKueueQueue = "kueue.x-k8s.io/queue-name"
	// LabelKueuePriority is the name of a WorkloadPriorityClass.
	LabelKueuePriority = "kueue.x-k8s.io/priority-class"
)

// Annotations.
const (
	// AnnotationRequestedAt on a StorageBenchmark asks for one more run when
	// its value changes; status.lastHandledRequest echoes it.
	AnnotationRequestedAt = Group + "/requested-at"
	// AnnotationReplaced on a BenchmarkRun ends it: another run is to take its
	// place. The value says why.
	AnnotationReplaced = Group + "/replaced"
	// AnnotationAbout on a profile of the library says what it is for.
	AnnotationAbout = Group + "/about"
	// AnnotationSource on a profile of the library says where its numbers
	// come from.
	AnnotationSource = Group + "/source"
	// AnnotationLibraryVersion on a profile of the library is the version of
	// the operator that made it what it is.
	AnnotationLibraryVersion = Group + "/library-version"
	// AnnotationLibraryApplied on a profile of the library is the spec that the
	// operator gave it, as JSON: what differs from it somebody has changed.
	AnnotationLibraryApplied = Group + "/library-applied"
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
