package cli

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// mostClients that a first benchmark takes by itself.
const mostClients = 4

func decodeList(content map[string]any, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, into); err != nil {
		return fmt.Errorf("read what the cluster has: %w", err)
	}
	return nil
}

func quantity(text string) int64 {
	value := resource.MustParse(text) // check has parsed it
	return value.Value()
}

// clients that load at once, and whether they have to be on one node.
func (f *first) clients() (count int32, oneNode bool) {
	shared := f.mode == corev1.ReadWriteMany
	count = f.options.clients
	if count == 0 {
		count = 1
		if shared || f.options.class != "" {
			count = int32(max(1, min(mostClients, f.nodes)))
		}
		if f.mode == corev1.ReadWriteOncePod && f.options.claim != "" {
			count = 1
		}
	}
	return count, f.options.claim != "" && !shared && count > 1
}

// datasetSize of each client: what outweighs caches, and leaves half of the volume free.
func (f *first) datasetSize(count int32) string {
	share := f.capacity / 2
	if f.options.claim != "" || f.mode == corev1.ReadWriteMany {
		share /= int64(count) // all on one volume
	}
	for _, size := range []string{"16Gi", "8Gi", "4Gi", "2Gi", "1Gi", "512Mi", "256Mi", "128Mi", "64Mi"} {
		if quantity(size) <= share {
			return size
		}
	}
	return "16Mi"
}

// yaml is the benchmark with its comments.
func (f *first) yaml() string {
	count, oneNode := f.clients()
	size := f.datasetSize(count)
	var b strings.Builder
	line := func(format string, arguments ...any) { fmt.Fprintf(&b, format+"\n", arguments...) }
	line("# A first benchmark, written by `kubectl storagebench init`.")
	for _, found := range f.found {
		line("# Found: %s", found)
	}
	line("#")
	line("#   kubectl storagebench plan -f FILE    what it would do and how long that takes")
	line("#   kubectl storagebench run -f FILE     run it, look on, and see what comes out")
	line("apiVersion: storagebench.dev/v1alpha1")
	line("kind: StorageBenchmark")
	line("metadata:")
	line("  name: %s", f.name)
	line("spec:")
	line("  run:")
	line("    targets:")
	line("    - name: data")
	line("      volumes:")
	line("      - name: data")
	f.volume(line)
	line("      # What the storage is documented to do is found out from the volume where it can be. Where it cannot, say it:")
	line("      # limits: {throughput: {baseline: 125M, burst: 1000M, bucket: 300G}}   # MB are 10^6 bytes")
	line("    clients:")
	line("      count: %-16d# pods that load at once; all start each phase together", count)
	if f.nodes > 0 && int(count) <= f.nodes && !oneNode {
		line("      spread: OnePerNode     # each on a node of its own, so that none shares a network card")
	} else {
		line("      spread: Any            # several may be on a node, and share its network card and processors")
	}
	switch {
	case f.options.claim == "":
		line("      template:")
		line("        # The pods run as user 65532. This lets them write to a new volume, whose root is root's.")
		line("        securityContext: {fsGroup: 65532}")
	default:
		line("      # The pods run as user 65532. Where that user may not write to the volume, say who may, such as")
		line("      # template: {securityContext: {runAsUser: 1000}}. An fsGroup would change the group of all that is on the volume.")
	}
	if oneNode {
		line("      template:")
		line("        # The volume is at one node at a time, so all clients go there.")
		line("        affinity:")
		line("          podAffinity:")
		line("            requiredDuringSchedulingIgnoredDuringExecution:")
		line("            - labelSelector: {matchLabels: {storagebench.dev/benchmark: %s}}", f.name)
		line("              topologyKey: kubernetes.io/hostname")
	}
	line("    workload:")
	f.workload(line, "      ", 0, size)
	line("    phases:")
	line("    - name: layout           # really writes the data: reads of unwritten blocks measure nothing")
	line("      prepare: {}")
	line("    - name: write")
	line("      steady: {duration: 60s, warmUp: 5s}")
	line("    - name: read")
	line("      workload:")
	f.workload(line, "        ", 100, size)
	line("      steady: {duration: 60s, warmUp: 5s}")
	line("    # Next: storage with burst credits shows its burst in a minute and something else after it. Measure both:")
	line("    # - name: burst")
	line("    #   burstDrain: {minDuration: 2m, maxDuration: 2h}")
	line("    # - name: baseline")
	line("    #   steady: {duration: 15m, warmUp: 30s}")
	line("  # What has to hold, so that a pipeline can stop when it does not (exit code 2):")
	line("  # objectives:")
	line("  # - {name: writes, phase: write, operation: Write, throughput: {min: 100M}}")
	return b.String()
}

func (f *first) volume(line func(string, ...any)) {
	if f.options.claim != "" {
		line("        claimName: %s", f.options.claim)
		line("      # Only files below .storagebench on it are written, and they are removed at the end of a run.")
		return
	}
	scope := "PerClient"
	why := "a volume for each client"
	if f.mode == corev1.ReadWriteMany {
		scope, why = "Shared", "one volume for all clients"
	}
	line("        claimTemplate:")
	line("          scope: %-15s # %s", scope, why)
	line("          lifetime: Run           # made for each run and removed after it")
	line("          spec:")
	line("            storageClassName: %s", f.options.class)
	line("            accessModes: [%s]", f.mode)
	line("            resources: {requests: {storage: %s}}   # many systems are faster the larger the volume is", firstOf(f.options.size, "10Gi"))
}

func (f *first) workload(line func(string, ...any), indent string, readPercent int, size string) {
	line(indent + "fio:")
	line(indent + "  pattern: Random")
	line(indent+"  readPercent: %d", readPercent)
	line(indent + "  blockSize: 64Ki")
	line(indent + "  queueDepth: 16         # outstanding at once from each client")
	line(indent+"  datasetSize: %-10s# of each client; caches hold small ones, twice the server's memory outweighs them", size)
}
