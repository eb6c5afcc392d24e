package integration

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/cli"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
)

// kubeconfigOf writes a kubeconfig for kubectl.
func kubeconfigOf(t *testing.T, config *rest.Config) string {
	t.Helper()
	written := clientcmdapi.NewConfig()
	written.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}
	written.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
		ClientCertificate: config.CertFile, ClientKey: config.KeyFile, Token: config.BearerToken}
	written.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test", Namespace: "default"}
	written.CurrentContext = "test"
	name := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*written, name))
	return name
}

type answer struct {
	code           int
	stdout, stderr string
}

func command(kubeconfig string, arguments ...string) answer {
	var stdout, stderr bytes.Buffer
	code := cli.Main(append(arguments, "--kubeconfig", kubeconfig), cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return answer{code, stdout.String(), stderr.String()}
}

// operate does to the API objects what the operator does for one run of a benchmark, once something requests the run.
// It creates no pods and measures nothing. end sets how the run ends; if it is nil, the run stays live.
func operate(ctx context.Context, namespace, name, runName string, end func(*v1alpha1.BenchmarkRun)) error {
	benchmark := &v1alpha1.StorageBenchmark{}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	for {
		if err := cluster.Get(ctx, key, benchmark); err == nil {
			status := &benchmark.Status
			if status.LastRun == nil || status.LastHandledRequest != benchmark.Annotations[v1alpha1.AnnotationRequestedAt] {
				break
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	hash := plan.RunHash(&benchmark.Spec.Run)
	resolved, problems := plan.Resolve(&benchmark.Spec.Run, nil) // there are no profiles
	if len(problems) > 0 {
		return problems.ToAggregate()
	}
	planned, problems := plan.Make(resolved, 1)
	if len(problems) > 0 {
		return problems.ToAggregate()
	}
	run := record.New(record.Identity{Name: runName, Namespace: namespace, Hash: hash, Seed: 1,
		Benchmark: v1alpha1.BenchmarkReference{Name: name, UID: string(benchmark.UID)}}, resolved, planned)
	run.Labels = map[string]string{v1alpha1.LabelBenchmark: name}
	if err := cluster.Create(ctx, run); err != nil {
		return err
	}
	benchmark.Status.ObservedGeneration = benchmark.Generation
	benchmark.Status.LastHandledRequest = benchmark.Annotations[v1alpha1.AnnotationRequestedAt]
	benchmark.Status.ActiveRun = &v1alpha1.RunReference{Name: runName, UID: string(run.UID), Hash: hash}
	if err := cluster.Status().Update(ctx, benchmark); err != nil {
		return err
	}
	run.Status = v1alpha1.BenchmarkRunStatus{}
	record.Begin(run, time.Now())
	for _, step := range planned.Steps {
		now := time.Now()
		record.Intent(run, step, decide.Action{Attempt: decide.Attempt{Step: step.ID, Number: 1}, Start: now, Deadline: now.Add(time.Minute)})
		if err := cluster.Status().Update(ctx, run); err != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
	if end == nil {
		return nil
	}
	end(run)
	if err := cluster.Status().Update(ctx, run); err != nil {
		return err
	}
	benchmark.Status.ActiveRun = nil
	benchmark.Status.LastRun = &v1alpha1.JudgedRun{RunReference: v1alpha1.RunReference{Name: runName, UID: string(run.UID), Hash: hash},
		Reason: v1alpha1.ReasonPassed, Message: "run " + runName + " is complete and valid"}
	meta.RemoveStatusCondition(&benchmark.Status.Conditions, v1alpha1.ConditionStalled)
	if !meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete) {
		benchmark.Status.LastRun.Reason, benchmark.Status.LastRun.Message = v1alpha1.ReasonInternalError, "run "+runName+" failed"
		meta.SetStatusCondition(&benchmark.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue,
			Reason: benchmark.Status.LastRun.Reason, Message: benchmark.Status.LastRun.Message, ObservedGeneration: benchmark.Generation})
	}
	return cluster.Status().Update(ctx, benchmark)
}

// fails ends a run as failed, without results.
func fails(run *v1alpha1.BenchmarkRun) {
	record.Fail(run, decide.Failure{Reason: v1alpha1.ReasonInternalError, Message: "this operator measures nothing"}, time.Now())
	record.Finished(run, nil, time.Now())
}

const followed = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: followed}
spec:
  run:
    targets: [{name: data, volumes: [{name: data, claimName: data}]}]
    clients: {count: 2, spread: Any}
    workload: {fio: {pattern: Random, readPercent: 0, blockSize: 64Ki, datasetSize: 64Mi}}
    phases:
    - {name: layout, prepare: {}}
    - {name: write, steady: {duration: 10s}}
`

// TestRunInCluster checks that `run` applies a file and follows the resulting run. It does so twice: the second time,
// nothing has changed and `run` requests another run.
func TestRunInCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs an API server")
	}
	ctx := t.Context()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cli-run"}}
	must(t, cluster.Create(ctx, namespace))
	kubeconfig := kubeconfigOf(t, administrator)
	file := filepath.Join(t.TempDir(), "bench.yaml")
	must(t, os.WriteFile(file, []byte(followed), 0o600))
	for _, name := range []string{"followed-1", "followed-2"} {
		failed := make(chan error, 1)
		go func() { failed <- operate(ctx, namespace.Name, "followed", name, fails) }()
		got := command(kubeconfig, "run", "-f", file, "-n", namespace.Name)
		if err := <-failed; err != nil {
			t.Fatalf("the operator of the test: %v\n%s%s", err, got.stdout, got.stderr)
		}
		if got.code != 1 || !strings.Contains(got.stdout, "this operator measures nothing") || !strings.Contains(got.stdout, name) {
			t.Errorf("%s: exit code %d\n%s%s", name, got.code, got.stdout, got.stderr)
		}
		if asked := strings.Contains(got.stderr, "requesting another run"); asked != (name == "followed-2") {
			t.Errorf("%s: %s", name, got.stderr)
		}
	}
	var benchmark v1alpha1.StorageBenchmark
	must(t, cluster.Get(ctx, client.ObjectKey{Namespace: namespace.Name, Name: "followed"}, &benchmark))
	if len(benchmark.ManagedFields) == 0 || benchmark.ManagedFields[0].Manager == "" || benchmark.Annotations[v1alpha1.AnnotationRequestedAt] == "" {
		t.Errorf("the benchmark was not applied correctly: %+v", benchmark.ObjectMeta)
	}
	for _, arguments := range [][]string{{"watch", "followed"}, {"watch", "followed-1"}, {"report", "followed"}} {
		if got := command(kubeconfig, append(arguments, "-n", namespace.Name)...); got.code != 1 || !strings.Contains(got.stdout, "FAILED") {
			t.Errorf("%s: exit code %d\n%s%s", arguments, got.code, got.stdout, got.stderr)
		}
	}
	// Another manager owns a field that the file would change.
	theirs := benchmark.DeepCopy()
	theirs.Spec.Run.Clients.Count = 3
	must(t, cluster.Update(ctx, theirs, client.FieldOwner("somebody")))
	if got := command(kubeconfig, "run", "-f", file, "-n", namespace.Name, "--watch=false"); got.code != 1 || !strings.Contains(got.stderr, "--force-conflicts") || !strings.Contains(got.stderr, "somebody") {
		t.Errorf("a conflict: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := command(kubeconfig, "watch", "nobody", "-n", namespace.Name); got.code != 1 || !strings.Contains(got.stderr, "has neither a BenchmarkRun nor a StorageBenchmark") {
		t.Errorf("nobody: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

// TestRunAsksWhereAChangeStartsNothing checks that `run` requests a run if the benchmark's trigger does not start one.
func TestRunAsksWhereAChangeStartsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs an API server")
	}
	ctx := t.Context()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cli-asks"}}
	must(t, cluster.Create(ctx, namespace))
	file := filepath.Join(t.TempDir(), "bench.yaml")
	must(t, os.WriteFile(file, []byte(strings.Replace(followed, "spec:\n", "spec:\n  trigger: {onChange: false}\n", 1)), 0o600))
	failed := make(chan error, 1)
	go func() {
		benchmark := &v1alpha1.StorageBenchmark{}
		for benchmark.Annotations[v1alpha1.AnnotationRequestedAt] == "" && ctx.Err() == nil {
			_ = cluster.Get(ctx, client.ObjectKey{Namespace: namespace.Name, Name: "followed"}, benchmark)
			time.Sleep(100 * time.Millisecond)
		}
		failed <- operate(ctx, namespace.Name, "followed", "followed-1", fails)
	}()
	got := command(kubeconfigOf(t, administrator), "run", "-f", file, "-n", namespace.Name)
	if err := <-failed; err != nil {
		t.Fatalf("the operator of the test: %v\n%s%s", err, got.stdout, got.stderr)
	}
	if !strings.Contains(got.stdout, "followed-1") || !strings.Contains(got.stderr, "spec.trigger does not start a run when spec.run changes: requesting a run") {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
