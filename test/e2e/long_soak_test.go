package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/invariants"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/stillness"
)

// soakLength is the measured time of the long run.
const soakLength = 7 * time.Minute

// TestLongRun checks that a long run loses no sample. It reports the operator's memory.
func TestLongRun(t *testing.T) {
	soak.Only(t)
	requireNode(t)
	s := newSpace(t)
	still := stillness.During(t)
	s.claim("data", "2Gi")
	benchmark := s.apply(builders.Benchmark("long").Target("data").Clients(4).Prepare("layout").
		Steady("write", v1alpha1.DurationOf(soakLength)).
		Workload(builders.Fio().Mutate(func(fio *v1alpha1.FioProfile) {
			// A fixed rate shows whether operations are missing.
			rate := int64(200)
			fio.RateLimit = &v1alpha1.FioRateLimit{IOPS: &rate}
		})).Obj())
	var before, peak int64
	var highest time.Time
	s.until("the run is over", soakLength+3*time.Minute, func() bool {
		if memory := s.operatorMemory(); memory > peak {
			peak, highest = memory, time.Now()
		}
		if before == 0 {
			before = peak
		}
		run := s.run()
		return run != nil && run.Status.EndTime != nil
	})
	run := s.run()
	s.log(run)
	invariants.CheckObject(t, run)
	result, operation := figures(s, run, "write")
	plausible(s, "write", result, operation, 64<<10, 8)
	want := int64(4 * 200 * soakLength.Seconds())
	if hasWarning(result, v1alpha1.WarningSamplesLost) || len(run.Status.LostClients) > 0 {
		t.Errorf("something was lost: warnings %v, clients %v", warningTypes(result.Warnings), run.Status.LostClients)
	}
	s.until("the benchmark is judged", time.Minute, func() bool {
		return meta.FindStatusCondition(s.benchmark(benchmark.Name).Status.Conditions, v1alpha1.ConditionReady).Status != "Unknown"
	})
	s.clean()
	soak.Report(t, "A long run", "4 clients at 200 IOPS each for %s: %d operations of %d, warnings %v\n"+
		"the operator's memory: %d MiB at the start, at most %d MiB (%s before the end), %d MiB afterwards", soakLength, operation.Operations, want,
		warningTypes(result.Warnings), before>>20, peak>>20, run.Status.EndTime.Sub(highest).Round(time.Second), s.operatorMemory()>>20)
	stood := still.Total()
	switch counted := operation.Operations; {
	case counted >= want*99/100 && counted <= want*101/100:
	case counted < want && stood > soakLength/100:
		soak.Inconclusive(t, "%d operations were counted, want %d, and the machine kept this process waiting for %s", counted, want, stood)
	default:
		t.Errorf("%d operations were counted, want %d", counted, want)
	}
}

// operatorMemory returns the resident memory of the operator in bytes, or 0 if it is unknown.
func (s *space) operatorMemory() int64 {
	s.Helper()
	var pods corev1.PodList
	must(s.T, s.api.List(s.Context(), &pods, client.InNamespace(operatorNamespace)))
	if len(pods.Items) != 1 {
		return 0
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	must(s.T, err)
	for _, process := range processes {
		command, _ := os.ReadFile(process + "/cmdline") // the process may have ended
		groups, _ := os.ReadFile(process + "/cgroup")
		if !strings.HasPrefix(string(command), "/storagebench-operator") || !strings.Contains(string(groups), string(pods.Items[0].UID)) {
			continue
		}
		statm, _ := os.ReadFile(process + "/statm")
		var size, resident int64
		if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
			return 0
		}
		return resident * int64(os.Getpagesize())
	}
	return 0
}
