package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

// Helpers of the tests that disturb a run: a workload whose number of operations does not depend on the machine, the
// facts of a run, and ways to inspect it from outside.

// wholeRun is the timeout for a run of some seconds, or a part of it, on a busy machine.
const wholeRun = 4 * time.Minute

// pace is the operations per second of each client. With it, a step does a fixed number of operations however busy the
// machine is, so that tests can compare results.
const pace = 100

// paced returns an fio profile limited to pace.
func paced() *builders.FioBuilder {
	return builders.Fio().Dataset("8Mi").BlockSize("16Ki").Mutate(func(fio *v1alpha1.FioProfile) {
		fio.RateLimit = &v1alpha1.FioRateLimit{IOPS: new(int64(pace))}
		fio.QueueDepth = new(int32(1))
	})
}

// small returns a benchmark of two clients with a layout and a step of writes on the claim "data".
func small(seconds int) *builders.BenchmarkBuilder {
	return builders.Benchmark("bench").Target("data").Clients(2).Workload(paced()).
		Prepare("layout").Steady("write", lasting(seconds))
}

func lasting(seconds int) v1alpha1.Duration {
	return v1alpha1.DurationOf(time.Duration(seconds) * time.Second)
}

// beginOf returns when the newest attempt of a step started, or zero if it has ended or not started.
func beginOf(run *v1alpha1.BenchmarkRun, step string) time.Time {
	newest := v1alpha1.StepStatus{}
	for _, fact := range run.Status.Steps {
		if fact.ID == step && fact.Attempt > newest.Attempt {
			newest = fact
		}
	}
	if newest.StartTime == nil || newest.EndTime != nil {
		return time.Time{}
	}
	return newest.StartTime.Time
}

// isComplete checks that a run is complete and valid and has removed its data.
func isComplete(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	for _, kind := range []string{v1alpha1.ConditionComplete, v1alpha1.ConditionValid, v1alpha1.ConditionDataRemoved} {
		if !meta.IsStatusConditionTrue(run.Status.Conditions, kind) {
			t.Errorf("%s is %s", kind, told(run.Status.Conditions, kind))
		}
	}
}

// didAll checks that a phase did at least percent of the operations that the clients do at their pace. Fewer would mean
// that time, or reports of a client, are missing. A lower percentage allows for runs that share the machine.
func didAll(t *testing.T, run *v1alpha1.BenchmarkRun, phase string, clients int32, seconds int, percent int64) {
	t.Helper()
	want := int64(pace) * int64(clients) * int64(seconds)
	for _, result := range run.Status.Phases {
		if result.Name != phase {
			continue
		}
		target := result.Targets[0]
		if target.Clients != clients || len(target.Operations) != 1 {
			t.Errorf("phase %s has figures of %d clients, want %d: %+v", phase, target.Clients, clients, target.Operations)
			return
		}
		operation := target.Operations[0]
		t.Logf("phase %s: %d operations of %d clients in %d s, all at work for %s", phase, operation.Operations, clients, seconds,
			time.Duration(target.WindowNanoseconds))
		if got := operation.Operations; got < want*percent/100 || got > want*105/100 {
			t.Errorf("phase %s did %d operations, want %d, or at least %d %% of them", phase, got, want, percent)
		}
		if operation.Latency == nil || operation.Latency.Samples != operation.Operations {
			t.Errorf("phase %s did %d operations and has the latency of %+v", phase, operation.Operations, operation.Latency)
		}
		if window := time.Duration(target.WindowNanoseconds); window < time.Duration(seconds)*time.Second*8/10 {
			t.Errorf("phase %s: all clients were at work for %s only, of %d s", phase, window, seconds)
		}
		return
	}
	t.Errorf("there is no phase %s", phase)
}

// told formats a condition as a line: "False ClientLost: client data/1 ...".
func told(conditions []metav1.Condition, kind string) string {
	if found := meta.FindStatusCondition(conditions, kind); found != nil {
		return fmt.Sprintf("%s %s: %s", found.Status, found.Reason, found.Message)
	}
	return "absent"
}

// attempts returns the attempts of a run's steps in order, one per line. It omits attempts that were repeated because
// some clients received the start command too late, which may happen at any time on a busy machine.
func attempts(run *v1alpha1.BenchmarkRun) []string {
	facts := slices.Clone(run.Status.Steps)
	slices.SortStableFunc(facts, func(a, b v1alpha1.StepStatus) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), cmp.Compare(a.Attempt, b.Attempt))
	})
	var lines []string
	for _, fact := range facts {
		if strings.Contains(fact.Message, "not all clients received the start command in time") {
			continue
		}
		why, _, _ := strings.Cut(fact.Message, ";")
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", fact.ID, fact.State, why)))
	}
	return lines
}

// warned returns the types of a phase's warnings.
func warned(run *v1alpha1.BenchmarkRun, phase string) []v1alpha1.WarningType {
	var types []v1alpha1.WarningType
	for _, result := range run.Status.Phases {
		for _, target := range result.Targets {
			for _, warning := range target.Warnings {
				if result.Name == phase && !slices.Contains(types, warning.Type) {
					types = append(types, warning.Type)
				}
			}
		}
	}
	return types
}

// census records every pod that a namespace ever had.
type census struct {
	mu   sync.Mutex
	pods map[types.UID]string
	stop func()
}

func (s *space) census() *census {
	s.Helper()
	c := &census{pods: map[types.UID]string{}}
	watch, err := s.api.Watch(context.Background(), &corev1.PodList{}, client.InNamespace(s.namespace))
	must(s.T, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				c.mu.Lock()
				c.pods[pod.UID] = pod.Name
				c.mu.Unlock()
			}
		}
	}()
	c.stop = sync.OnceFunc(func() { watch.Stop(); <-done })
	s.Cleanup(c.stop)
	return c
}

// names returns the names of all pods that ever existed. The name of a recreated pod appears again.
func (c *census) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, name := range c.pods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// agentProcess returns the PID on this machine of process 1 in a client's pod.
func agentProcess(t *testing.T, pod *corev1.Pod) int {
	t.Helper()
	return programOf(t, pod, "/storagebench/bin/agent")
}

// programOf returns the PID on this machine of a pod's process that runs a program.
func programOf(t *testing.T, pod *corev1.Pod, program string) int {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	for _, process := range processes {
		command, err := os.ReadFile(process + "/cmdline")
		if err != nil || !bytes.HasPrefix(command, []byte(program+"\x00")) {
			continue
		}
		if !isOfPod(process, string(pod.UID)) {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(process))
		must(t, err)
		return id
	}
	t.Fatalf("no process of this machine is %s of pod %s: the node is elsewhere", program, pod.Name)
	return 0
}

// isOfPod reports whether a process, given by its directory in /proc, belongs to the pod with a UID.
func isOfPod(process, uid string) bool {
	groups, err := os.ReadFile(filepath.Join(process, "cgroup"))
	return err == nil && (bytes.Contains(groups, []byte(uid)) || bytes.Contains(groups, []byte(strings.ReplaceAll(uid, "-", "_"))))
}

// retained creates the claim "data" on a directory of the node that survives the claim, and returns the directory.
// Tests can thus inspect what a run left even after its namespace is gone.
func (s *space) retained() string {
	s.Helper()
	folder := "/var/storagebench-e2e/" + s.namespace
	path, err := s.nodeFile(folder)
	must(s.T, err)
	must(s.T, os.MkdirAll(path, 0o755))
	s.Cleanup(func() { _ = os.RemoveAll(path) })
	// The clients do not run as root.
	must(s.T, os.Chmod(path, 0o777))
	s.staticClaim("data", folder)
	return folder
}

func deleteBenchmark(s *space, propagation metav1.DeletionPropagation) {
	s.Helper()
	must(s.T, s.api.Delete(s.Context(), s.benchmark("bench"), client.PropagationPolicy(propagation)))
}

// stepOf returns the newest attempt of a step, or nil if the step has not begun.
func stepOf(run *v1alpha1.BenchmarkRun, id string) *v1alpha1.StepStatus {
	if run == nil {
		return nil
	}
	var found *v1alpha1.StepStatus
	for i := range run.Status.Steps {
		if step := &run.Status.Steps[i]; step.ID == id && step.StartTime != nil {
			found = step
		}
	}
	return found
}
