package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/engines"
	"github.com/storagebench/storagebench/internal/measure"
)

// first describes the benchmark that init or run --storage-class creates.
type first struct {
	initOptions
	name string
	// workload replaces the default workload, which writes and reads 64 KiB blocks. It is nil for the default.
	workload *v1alpha1.Engine
	// inFile is true if the file contains a copy of the profile's workload instead of a reference to the profile,
	// because the reference would fail in a cluster without the profile. resized is true if the dataset is smaller than
	// the profile's.
	inFile, resized bool
	// deadline is the activeDeadline of a run, or empty for the default.
	deadline v1alpha1.Duration
}

// word returns a name as a YAML string. It adds quotes if YAML would read the name as a number or another value instead
// of a string, such as 2024, 1e3 or true.
func word(name string) string {
	var read any
	if err := yaml.Unmarshal([]byte(name), &read); err != nil || read != name {
		return strconv.Quote(name)
	}
	return name
}

func quantity(text string) int64 {
	value := resource.MustParse(text) // cannot panic: initOptions.check has verified --size
	return value.Value()
}

// shared reports whether several nodes can use a volume at the same time.
func (f *first) shared() bool { return f.accessMode == string(corev1.ReadWriteMany) }

// share returns the maximum size of one client's data, in bytes. It leaves half of the volume free.
func (f *first) share() int64 {
	share := quantity(f.size) / 2
	if f.claim != "" || f.shared() {
		share /= int64(f.clients) // all clients share one volume
	}
	return share
}

// fits returns an error if the data of the planned benchmark is larger than a volume.
func (f *first) fits(read *loaded) error {
	need := read.plan.VolumeBytes(&read.resolved.Targets[0])
	if size := uint64(quantity(f.size)); need > size { //nolint:gosec // It was checked to be positive.
		return fmt.Errorf("--size %s: each volume needs %s for the data of this workload; use a larger size",
			f.size, measure.FormatBinaryBytes(need))
	}
	return nil
}

// maxDefaultDataset is the maximum dataset size of the default workload. It is larger than most caches.
const maxDefaultDataset = 16 << 30

// powerOfTwo returns the largest power of two that does not exceed the given number of bytes, but at least 16 MiB.
func powerOfTwo(bytes int64) resource.Quantity {
	size := int64(16 << 20)
	for 2*size <= bytes {
		size *= 2
	}
	return *resource.NewQuantity(size, resource.BinarySI)
}

// yaml returns the benchmark as YAML with comments.
func (f *first) yaml() string {
	oneNode := f.claim != "" && !f.shared() && f.clients > 1
	var b strings.Builder
	line := func(format string, arguments ...any) { fmt.Fprintf(&b, format+"\n", arguments...) }
	line("# A first benchmark, written by `kubectl storagebench init`.")
	line("#")
	line("#   kubectl storagebench plan -f FILE    show its steps and how long they take")
	line("#   kubectl storagebench run -f FILE     run it, watch it, and show the result")
	line("apiVersion: storagebench.dev/v1alpha1")
	line("kind: StorageBenchmark")
	line("metadata:")
	line("  name: %s", word(f.name))
	line("spec:")
	line("  run:")
	if f.deadline != "" {
		line("    activeDeadline: %s", f.deadline)
	}
	line("    targets:")
	line("    - name: data")
	f.volume(line)
	line("      # Documented limits are looked up from the volume if its driver is known. Otherwise set them:")
	line("      # documented: {throughput: {baseline: 125M, burst: 1000M, bucket: 300G}}   # MB is 10^6 bytes")
	line("    clients:")
	line("      count: %-16d# client pods; all of them start each phase together", f.clients)
	line("      spread: Any            # clients may share a node, including its NIC and CPUs")
	if f.claim == "" {
		line("      template:")
		line("        # The pods run as user 65532. This lets them write to a new volume, whose root directory belongs to root.")
		line("        securityContext: {fsGroup: 65532}")
	} else {
		line("      # The pods run as user 65532. If that user cannot write to the volume, specify one that can, such as")
		line("      # template: {securityContext: {runAsUser: 1000}}. An fsGroup would change the group of all files on the volume.")
	}
	if oneNode {
		line("      template:")
		line("        # The volume can be attached to only one node at a time, so all clients run on one node.")
		line("        affinity:")
		line("          podAffinity:")
		line("            requiredDuringSchedulingIgnoredDuringExecution:")
		line("            - labelSelector: {matchLabels: {storagebench.dev/benchmark: %s}}", word(f.name))
		line("              topologyKey: kubernetes.io/hostname")
	}
	if f.workload != nil {
		f.profiled(line)
		return b.String()
	}
	size := powerOfTwo(min(f.share(), maxDefaultDataset))
	line("    workload:")
	line("      fio:")
	line("        pattern: Random")
	line("        readPercent: 0")
	line("        blockSize: 64Ki")
	line("        queueDepth: 16         # outstanding operations per client")
	line("        datasetSize: %-10s# per client; use twice the server's memory, because small datasets fit into caches", size.String())
	line("    phases:")
	line("    - name: layout           # writes every block: reads of unwritten blocks do not reach the storage")
	line("      prepare: {}")
	line("    - name: write")
	line("      steady: {duration: %s, warmUp: 5s}", f.duration)
	line("    - name: read")
	line("      override: {fio: {readPercent: 100}}")
	line("      steady: {duration: %s, warmUp: 5s}", f.duration)
	line("    # Next: storage with burst credits is fast until they are spent. Measure its burst and its baseline:")
	line("    # - name: burst")
	line("    #   burstDrain: {minDuration: 2m, maxDuration: 2h}")
	line("    # - name: baseline")
	line("    #   steady: {duration: 15m, warmUp: 30s}")
	line("  # Objectives for the figures; if a run misses one, the exit code is 2, which can stop a pipeline:")
	line("  # objectives:")
	line("  # - {name: writes, phase: write, operation: Write, throughput: {min: 100M}}")
	return b.String()
}

// profiled writes the workload of a profile and the phases that measure it. It also adds a layout phase, because the
// workload may read, except for workloads that do a fixed amount of work.
func (f *first) profiled(line func(string, ...any)) {
	switch {
	case f.inFile:
		workload, err := json.Marshal(f.workload) // JSON is also valid YAML
		if err != nil {
			panic(err) // cannot happen: the workload was decoded from YAML or JSON
		}
		line("    workload: %s", workload)
	case f.resized:
		line("    workload:")
		size := powerOfTwo(f.share())
		line("      profileRef: {name: %s, datasetSize: %s}   # smaller than in the profile, so it may fit into caches", f.profile, size.String())
	default:
		line("    workload:")
		line("      profileRef: {name: %s}", f.profile)
	}
	line("    phases:")
	load := engines.Of(f.workload)
	warmUp := ", warmUp: 5s"
	switch {
	case load.WorkBound: // the phase ends when the work is done, or after its duration if that is earlier
		line("    - {name: measure, steady: {duration: 10m}}")
		return
	case load.SpansClients:
		warmUp = ""
	}
	line("    - {name: layout, prepare: {}}")
	line("    - {name: measure, steady: {duration: %s%s}}", f.duration, warmUp)
}

func (f *first) volume(line func(string, ...any)) {
	if f.claim != "" {
		line("      claimName: %s", word(f.claim))
		line("      # Only files below .storagebench are written, and they are removed at the end of a run.")
		return
	}
	scope := "PerClient"
	why := "a volume for each client"
	if f.shared() {
		scope, why = "Shared", "one volume for all clients"
	}
	line("      volumes:")
	line("      - name: data")
	line("        claimTemplate:")
	line("          scope: %-15s # %s", scope, why)
	line("          lifetime: Run           # created for each run and deleted after it")
	line("          spec:")
	line("            storageClassName: %s", word(f.class))
	line("            accessModes: [%s]", f.accessMode)
	line("            resources: {requests: {storage: %s}}   # on many systems larger volumes are faster", f.size)
}
