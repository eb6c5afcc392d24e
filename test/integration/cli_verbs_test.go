package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
)

// succeeds ends a run with the results of a real one, with the rates changed by the given percentage.
func succeeds(t *testing.T, percent int64) func(*v1alpha1.BenchmarkRun) {
	t.Helper()
	file, err := os.Open("../../internal/cli/testdata/result-a.json")
	must(t, err)
	defer func() { _ = file.Close() }()
	document, err := report.Read(file)
	must(t, err)
	for _, phase := range document.Phases {
		for _, operation := range phase.Targets[0].Operations {
			*operation.BytesPerSecond += *operation.BytesPerSecond * percent / 100
		}
	}
	return func(run *v1alpha1.BenchmarkRun) { run.Status = document.BenchmarkRunStatus }
}

// inNamespace creates a namespace and returns its name and a function that calls the command line in it.
func inNamespace(t *testing.T, name string) (string, func(arguments ...string) answer) {
	t.Helper()
	needsCluster(t)
	must(t, cluster.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	kubeconfig := kubeconfigOf(t, administrator)
	return name, func(arguments ...string) answer {
		return command(kubeconfig, append(arguments, "-n", name)...)
	}
}

func (a answer) String() string {
	return fmt.Sprintf("exit code %d\n--- standard output\n%s--- standard error\n%s", a.code, a.stdout, a.stderr)
}

// says checks the exit code of an answer and that its output, standard or error, contains the texts.
func (a answer) says(t *testing.T, code int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.stdout+a.stderr, text) {
			t.Errorf("it does not say %q:\n%s", text, a)
		}
	}
	if a.code != code {
		t.Errorf("the exit code is not %d:\n%s", code, a)
	}
}

// TestVerbs applies a benchmark, runs it again, and lists and cancels its runs.
func TestVerbs(t *testing.T) {
	namespace, run := inNamespace(t, "cli-verbs")
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "bench.yaml")
	must(t, os.WriteFile(file, []byte(followed), 0o600))
	run("list").says(t, 0, "namespace cli-verbs has no StorageBenchmarks")
	run("list", "followed").says(t, 1, `namespace cli-verbs has no StorageBenchmark "followed"`)
	run("rerun", "followed").says(t, 1, `namespace cli-verbs has neither a BenchmarkRun nor a StorageBenchmark "followed"`)
	run("cancel", "followed").says(t, 1, `namespace cli-verbs has neither a BenchmarkRun nor a StorageBenchmark "followed"`)

	operated := make(chan error, 1)
	one := func(name string, end func(*v1alpha1.BenchmarkRun)) {
		go func() { operated <- operate(ctx, namespace, "followed", name, end) }()
	}
	// The estimate precedes the run, with what the file says about its length.
	one("followed-1", fails)
	run("run", "-f", file, "--price-per-hour", "3600").says(t, 1,
		"followed: 2 clients per target, 2 steps", "writes 134.2 MB to lay out data", "writes an unknown amount in write", "costs at least 10.00 at 3600 per hour")
	must(t, <-operated)

	// rerun waits for the new run, although the verdict on the last one is a failure.
	one("followed-2", succeeds(t, 0))
	run("rerun", "followed").says(t, 0, "followed-2", "complete, valid")
	must(t, <-operated)

	// rerun accepts a run's name for its benchmark. Repetitions run one after another.
	go func() {
		operated <- errors.Join(operate(ctx, namespace, "followed", "followed-3", succeeds(t, 0)),
			operate(ctx, namespace, "followed", "followed-4", succeeds(t, 10)))
	}()
	saved := filepath.Join(t.TempDir(), "result.json")
	got := run("rerun", "followed-2", "--repeat", "2", "-o", "json", "--save", saved)
	must(t, <-operated)
	got.says(t, 0, "run 1 of 2: followed-3", "run 2 of 2: followed-4")
	var variance report.Repeats
	if err := json.Unmarshal([]byte(got.stdout), &variance); err != nil || len(variance.Runs) != 2 || len(variance.Figures) == 0 {
		t.Fatalf("no variance of two runs: %v\n%s", err, got)
	}
	if first := variance.Figures[0]; first.Figure != v1alpha1.FigureThroughput || first.CoefficientOfVariation == nil || *first.CoefficientOfVariation < 0.06 || *first.CoefficientOfVariation > 0.07 {
		t.Errorf("100 and 110 vary by %+v", first)
	}
	for _, name := range []string{"-1.json", "-2.json"} {
		if _, err := os.Stat(strings.TrimSuffix(saved, ".json") + name); err != nil {
			t.Error(err)
		}
	}

	run("list").says(t, 0, "BENCHMARK", "followed", "followed-4")
	run("list", "--all-namespaces").says(t, 0, "NAMESPACE", "cli-verbs")
	got = run("list", "followed")
	got.says(t, 0, "RUN", "followed-1", "FAILED", "followed-4", "complete, valid", "677.7 MB/s")
	run("cancel", "followed").says(t, 1, "StorageBenchmark followed has no live run")
	run("cancel", "followed-1").says(t, 1, "run followed-1 has already ended")

	// Objectives that were added after the run count in the report of the benchmark, but not in that of the run.
	benchmark := &v1alpha1.StorageBenchmark{}
	judgedBy := func(least string) {
		t.Helper()
		must(t, cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "followed"}, benchmark))
		quantity := resource.MustParse(least)
		benchmark.Spec.Objectives = []v1alpha1.Objective{{Name: "floor", Phase: "write", Throughput: &v1alpha1.QuantityBounds{Min: &quantity}}}
		must(t, cluster.Update(ctx, benchmark))
	}
	judgedBy("1P")
	run("report", "followed").says(t, 2, "OBJECTIVES MISSED", "objectives have changed since this run", "floor")
	run("report", "followed-4").says(t, 0, "complete, valid")
	judgedBy("1M")
	run("report", "followed").says(t, 0, "complete, valid", "objectives have changed since this run", "floor")
	run("watch", "followed").says(t, 0, "objectives have changed since this run")
	benchmark.Status.LastRun.Reason, benchmark.Status.LastRun.Message = v1alpha1.ReasonRegressed, "run followed-4: slower than before"
	benchmark.Status.Display = &v1alpha1.HeadlineDisplay{Result: "3.5 MB/s", Figure: "write of followed-4"}
	must(t, cluster.Status().Update(ctx, benchmark))
	run("list").says(t, 0, "followed-4", "3.5 MB/s")
	run("report", "followed").says(t, 2, "Regressed: run followed-4: slower than before")

	// cancel stops a live run and shows what it has measured.
	go func() { operated <- operate(ctx, namespace, "followed", "followed-5", nil) }()
	run("rerun", "followed", "--watch=false").says(t, 0, "followed-5")
	must(t, <-operated)
	// The line of a live run shows its current phase, and no figure of another run.
	got = run("list")
	got.says(t, 0, "followed-5", ": write")
	if strings.Contains(got.stdout, "3.5 MB/s") {
		t.Errorf("a live run has the figure of the last one:\n%s", got)
	}
	run("list", "-o", "json").says(t, 0, `"lastRun": "followed-4"`, "3.5 MB/s", `"phase": "write"`)
	run("list", "followed").says(t, 0, "not finished: ", ": write")
	run("cancel", "followed").says(t, 0, "stopping run followed-5", "run followed-5 is stopped and deleted")
	if err := cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "followed-5"}, &v1alpha1.BenchmarkRun{}); !apierrors.IsNotFound(err) {
		t.Errorf("the run is still there: %v", err)
	}

	// If the last run was deleted, the message points to earlier ones.
	must(t, cluster.Delete(ctx, &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "followed-4"}}))
	run("report", "followed").says(t, 1, "the last run of StorageBenchmark followed was deleted", "kubectl storagebench list followed -n cli-verbs")

	// A run of an earlier specification cannot be repeated.
	must(t, cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "followed"}, benchmark))
	benchmark.Spec.Run.Clients.Count = 3
	benchmark.Spec.Suspend = new(true)
	must(t, cluster.Update(ctx, benchmark))
	run("rerun", "followed-2").says(t, 1, "spec.run of StorageBenchmark followed has changed since")
	run("rerun", "followed").says(t, 1, "StorageBenchmark followed is suspended: set spec.suspend to false")
}

// TestVersionFindsTheOperator checks that `version` reads the operator's version from its Deployment.
func TestVersionFindsTheOperator(t *testing.T) {
	namespace, run := inNamespace(t, "cli-version")
	run("version").says(t, 1, "Client:", "the cluster has no storagebench operator")
	labels := map[string]string{"app.kubernetes.io/name": "storagebench", "app.kubernetes.io/component": "operator"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator", Labels: labels}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "operator", Image: "registry.example:5000/operator:v9.8.7@sha256:" + strings.Repeat("0", 64)}}}}}}
	must(t, cluster.Create(t.Context(), deployment))
	run("version").says(t, 0, "Operator:  v9.8.7 in namespace cli-version, not ready", "The versions differ")
	run("version", "-o", "yaml").says(t, 0, "version: v9.8.7", "apiVersion: storagebench.dev/v1alpha1")
	must(t, cluster.Delete(t.Context(), deployment))
}

// trialOf waits for the benchmark of a trial and returns it.
func trialOf(ctx context.Context, namespace string) (*v1alpha1.StorageBenchmark, error) {
	for {
		var all v1alpha1.StorageBenchmarkList
		if err := cluster.List(ctx, &all, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		if len(all.Items) > 0 {
			return &all.Items[0], nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// timed checks that Kubernetes will delete the benchmark automatically: its owner is a Job without pods that has a TTL.
func timed(ctx context.Context, benchmark *v1alpha1.StorageBenchmark) error {
	job := &batchv1.Job{}
	if err := cluster.Get(ctx, client.ObjectKeyFromObject(benchmark), job); err != nil {
		return err
	}
	owners := benchmark.OwnerReferences
	if len(owners) != 1 || owners[0].UID != job.UID || owners[0].Kind != "Job" || *job.Spec.Completions != 0 || *job.Spec.TTLSecondsAfterFinished < 3600 {
		return fmt.Errorf("the benchmark is owned by %+v, and the Job is %+v", owners, job.Spec)
	}
	return nil
}

func nothingLeft(t *testing.T, namespace string) {
	t.Helper()
	for _, kind := range []client.ObjectList{&v1alpha1.StorageBenchmarkList{}, &v1alpha1.BenchmarkRunList{}, &batchv1.JobList{}} {
		must(t, cluster.List(t.Context(), kind, client.InNamespace(namespace)))
		if text, err := json.Marshal(kind); err != nil || !strings.Contains(string(text), `"items":[]`) && !strings.Contains(string(text), `"items":null`) {
			t.Errorf("something is left: %s %v", text, err)
		}
	}
}

func storageClass(t *testing.T, name string, policy corev1.PersistentVolumeReclaimPolicy) {
	t.Helper()
	must(t, cluster.Create(t.Context(), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "example.com/none", ReclaimPolicy: &policy}))
}

// TestRunOnClass checks that one command measures a storage class and leaves nothing behind.
func TestRunOnClass(t *testing.T) {
	namespace, run := inNamespace(t, "cli-class")
	ctx := t.Context()
	storageClass(t, "fast", corev1.PersistentVolumeReclaimRetain)
	run("run", "--storage-class", "fats").says(t, 1, `--storage-class "fats": the cluster has no such StorageClass; did you mean fast? Existing: `)
	run("run", "--storage-class", "fast", "--profile", "oltp-9k").says(t, 1, `--profile "oltp-9k"`, "did you mean oltp-8k?")
	run("run", "--storage-class", "fast", "--profile", "randread").says(t, 1, "did you mean rand-read-4k?")
	run("run", "--storage-class", "fast", "--profile", "io500-ior-easy").says(t, 1, "--size 10Gi: each volume needs")
	nothingLeft(t, namespace)
	command(kubeconfigOf(t, administrator), "run", "--storage-class", "fast", "-n", "nowhere").says(t, 1, `namespace "nowhere" does not exist: create it`)

	operated := make(chan error, 1)
	go func() {
		benchmark, err := trialOf(ctx, namespace)
		if err == nil {
			template := benchmark.Spec.Run.Targets[0].Volumes[0].ClaimTemplate
			if class := template.Spec.StorageClassName; class == nil || *class != "fast" || template.Lifetime != v1alpha1.ClaimForRun {
				err = fmt.Errorf("the claims are %+v", template)
			}
			err = errors.Join(err, timed(ctx, benchmark), operate(ctx, namespace, benchmark.Name, benchmark.Name+"-1", succeeds(t, 0)))
		}
		operated <- err
	}()
	got := run("run", "--storage-class", "fast")
	must(t, <-operated)
	got.says(t, 0, "try-fast-", "--save result.json to keep it", "to lay out data", "complete, valid", "removed StorageBenchmark try-fast-", "reclaimPolicy Retain")
	nothingLeft(t, namespace)
}

// TestInterruptedRunOnClass checks that Ctrl-C stops such a run and leaves nothing behind, either.
func TestInterruptedRunOnClass(t *testing.T) {
	namespace, run := inNamespace(t, "cli-interrupted")
	ctx := t.Context()
	storageClass(t, "slow", corev1.PersistentVolumeReclaimDelete)
	operated := make(chan error, 1)
	go func() {
		benchmark, err := trialOf(ctx, namespace)
		if err == nil {
			err = operate(ctx, namespace, benchmark.Name, benchmark.Name+"-1", nil)
		}
		// The program has been waiting for the run since before the benchmark existed, so it handles the signal.
		operated <- errors.Join(err, syscall.Kill(os.Getpid(), syscall.SIGINT))
	}()
	got := run("run", "--storage-class", "slow", "--profile", "rand-write-4k-qd1")
	must(t, <-operated)
	got.says(t, 130, "Stopping the run and removing the benchmark, its runs and its claims", "removed StorageBenchmark try-slow-")
	nothingLeft(t, namespace)
}
