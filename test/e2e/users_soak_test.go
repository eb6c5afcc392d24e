package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/leader"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/soak"
)

// member is a user with one of Kubernetes' default roles, in one space only.
type member struct {
	*space
	name string
	api  client.WithWatch
	// kubeconfig impersonates the user, as `kubectl --as` does.
	kubeconfig string
}

// member gives a new user a role of the cluster, such as edit, in the space.
func (s *space) member(role string) *member {
	s.Helper()
	m := &member{space: s, name: s.namespace + "-" + role, kubeconfig: filepath.Join(s.TempDir(), role)}
	s.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: m.name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: m.name}},
	})
	config := rest.CopyConfig(s.Config)
	config.Impersonate.UserName = m.name
	var err error
	m.api, err = client.NewWithWatch(config, client.Options{Scheme: s.installation.api.Scheme()})
	must(s.T, err)
	file, err := clientcmd.LoadFromFile(s.Kubeconfig)
	must(s.T, err)
	for _, user := range file.AuthInfos {
		user.Impersonate = m.name
	}
	must(s.T, clientcmd.WriteToFile(*file, m.kubeconfig))
	s.until("the role holds, with what is added to it", 30*time.Second, func() bool {
		return m.api.List(s.Context(), &v1alpha1.BenchmarkRunList{}, client.InNamespace(s.namespace)) == nil
	})
	return m
}

// commandLine builds kubectl-storagebench once.
var commandLine = sync.OnceValues(func() (string, error) {
	program := filepath.Join(made.programs, "kubectl-storagebench")
	build := exec.Command("go", "build", "-o", program, "./cmd/kubectl-storagebench")
	build.Dir = made.root
	build.Stderr = os.Stderr
	return program, build.Run()
})

// says is the output of a call of the command line and its exit code.
type says struct {
	out, err string
	code     int
}

// call runs the command line as this member.
func (m *member) call(namespace string, arguments ...string) says {
	m.Helper()
	program, err := commandLine()
	must(m.T, err)
	ctx, cancel := context.WithTimeout(m.Context(), wholeRun)
	defer cancel()
	command := exec.CommandContext(ctx, program, append(arguments, "--kubeconfig="+m.kubeconfig, "--namespace="+namespace)...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	_ = command.Run() // the exit code has the outcome
	return says{out: stdout.String(), err: stderr.String(), code: command.ProcessState.ExitCode()}
}

// file writes a benchmark to a file, as a user would.
func (m *member) file(benchmark *v1alpha1.StorageBenchmark) string {
	m.Helper()
	benchmark.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.StorageBenchmarkKind}
	text, err := json.Marshal(map[string]any{"apiVersion": benchmark.APIVersion, "kind": benchmark.Kind,
		"metadata": map[string]string{"name": benchmark.Name}, "spec": benchmark.Spec})
	must(m.T, err)
	text, err = yaml.JSONToYAML(text)
	must(m.T, err)
	file := filepath.Join(m.TempDir(), benchmark.Name+".yaml")
	must(m.T, os.WriteFile(file, text, 0o600))
	return file
}

// attempt is a request to the API server that may be forbidden.
type attempt struct {
	what string
	do   func(ctx context.Context, api client.Client) error
}

func creating(what string, object client.Object) attempt {
	return attempt{"create " + what, func(ctx context.Context, api client.Client) error {
		return api.Create(ctx, object.DeepCopyObject().(client.Object))
	}}
}

func listing(what string, list client.ObjectList, namespace string) attempt {
	return attempt{"list " + what, func(ctx context.Context, api client.Client) error {
		return api.List(ctx, list, client.InNamespace(namespace))
	}}
}

func patching(what, patch string, object client.Object) attempt {
	return attempt{"patch " + what, func(ctx context.Context, api client.Client) error {
		return api.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
	}}
}

// refused checks that all of these requests are forbidden.
func (m *member) refused(attempts ...attempt) {
	m.Helper()
	for _, one := range attempts {
		if err := one.do(m.Context(), m.api); !apierrors.IsForbidden(err) {
			m.Errorf("%s may %s: %v", m.name, one.what, err)
		}
	}
}

// records are requests that change a run, which only the operator may do.
func records(run *v1alpha1.BenchmarkRun) []attempt {
	own := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Name}}
	status := attempt{"write the figures of a run", func(ctx context.Context, api client.Client) error {
		return api.Status().Patch(ctx, own.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"message":"the best ever"}}`)))
	}}
	made := run.DeepCopy()
	made.ObjectMeta = metav1.ObjectMeta{Namespace: run.Namespace, Name: "made-up"}
	return []attempt{status, creating("a run", made), patching("a run", `{"metadata":{"labels":{"a":"b"}}}`, own.DeepCopy())}
}

// beyond are requests for objects outside of a member's namespace.
func beyond(other string) []attempt {
	benchmark := small(1).Obj()
	benchmark.Namespace = other
	return []attempt{
		creating("a benchmark in another namespace", benchmark),
		creating("a profile of the cluster", builders.ClusterProfile("everybodys", builders.Fio())),
		listing("benchmarks of another namespace", &v1alpha1.StorageBenchmarkList{}, other),
		listing("runs of another namespace", &v1alpha1.BenchmarkRunList{}, other),
		listing("runs of all namespaces", &v1alpha1.BenchmarkRunList{}, ""),
		listing("profiles of another namespace", &v1alpha1.WorkloadProfileList{}, other),
		listing("pods of another namespace", &corev1.PodList{}, other),
		listing("nodes", &corev1.NodeList{}, ""),
		listing("volumes", &corev1.PersistentVolumeList{}, ""),
		listing("the operator's Secrets", &corev1.SecretList{}, operatorNamespace),
		{"take the Lease", func(ctx context.Context, api client.Client) error {
			return api.Delete(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: leader.LeaseName}})
		}},
	}
}

// TestEditor checks that the role edit in a namespace is enough for everything that benchmarks need there, by the
// command line and by the API: create, watch, abort, read results and delete. Its holder can do nothing elsewhere and
// cannot change a run's record.
func TestEditor(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s, other := newSpace(t), newSpace(t)
	editor := s.member("edit")
	must(t, editor.api.Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "data"},
		Spec:       builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi"),
	}))
	must(t, editor.api.Create(t.Context(), builders.Profile(s.namespace, "own", paced())))
	// Use one client: on a busy machine, two may start so far apart that a run of two seconds is not valid and the exit
	// code not 0.
	short := editor.file(small(2).Clients(1).WithProfile(v1alpha1.WorkloadProfileKind, "own").Obj())

	if got := editor.call(other.namespace, "run", "-f", short); got.code == 0 || !strings.Contains(got.err, "forbidden") || len(other.runs()) > 0 {
		t.Errorf("run in another namespace: exit code %d, %s%s", got.code, got.out, got.err)
	}
	ran := editor.call(s.namespace, "run", "-f", short, "-o", "json")
	if ran.code != 0 {
		t.Fatalf("run: exit code %d\n%s%s", ran.code, ran.out, ran.err)
	}
	run := s.run()
	s.complete(run)
	for what, got := range map[string]says{"report": editor.call(s.namespace, "report", "bench"), "watch": editor.call(s.namespace, "watch", run.Name)} {
		if got.code != 0 || !strings.Contains(got.out, "write") {
			t.Errorf("%s: exit code %d\n%s%s", what, got.code, got.out, got.err)
		}
	}
	var document struct{ Series []byte }
	must(t, json.Unmarshal([]byte(ran.out), &document))
	if len(document.Series) == 0 {
		t.Error("the editor's report is without the series of the run")
	}

	// Watch a live run and abort it.
	long := small(120).Obj()
	long.Name = "long"
	if got := editor.call(s.namespace, "run", "-f", editor.file(long), "--watch=false"); got.code != 0 {
		t.Fatalf("run without watching: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	watching, err := editor.api.Watch(t.Context(), &v1alpha1.BenchmarkRunList{}, client.InNamespace(s.namespace))
	must(t, err)
	watching.Stop()
	s.until("the second run is live", wholeRun, func() bool { live := s.runOf("long"); return live != nil && len(live.Status.Steps) > 0 })
	live := s.runOf("long")
	must(t, editor.api.Delete(t.Context(), live))
	s.until("the aborted run is gone", wholeRun, func() bool { return s.runOf("long") == nil })

	// Kubernetes' role edit may read the Secrets of its namespace, and with them the clients' identities:
	// docs/security.md.
	must(t, editor.api.List(t.Context(), &corev1.SecretList{}, client.InNamespace(s.namespace)))
	editor.refused(records(run)...)
	editor.refused(beyond(other.namespace)...)
	for _, name := range []string{"bench", "long"} {
		must(t, editor.api.Delete(t.Context(), s.benchmark(name)))
	}
	s.until("all runs are gone", wholeRun, func() bool { return len(s.runs()) == 0 })
	s.clean()
}

// TestViewer checks that the role view can see benchmarks, runs and their series, and can change nothing.
func TestViewer(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s, other := newSpace(t), newSpace(t)
	viewer := s.member("view")
	s.claim("data", "1Gi")
	benchmark := s.apply(small(2).Clients(1).Obj())
	run := s.ended(wholeRun)
	s.complete(run)
	s.until("the benchmark is judged", time.Minute, func() bool { return s.benchmark("bench").Status.LastRun != nil })

	got := viewer.call(s.namespace, "report", "bench", "-o", "json")
	var document struct{ Series []byte }
	if got.code != 0 || json.Unmarshal([]byte(got.out), &document) != nil || len(document.Series) == 0 {
		t.Errorf("report: exit code %d, series of %d bytes\n%s", got.code, len(document.Series), got.err)
	}
	if got := viewer.call(s.namespace, "run", "-f", viewer.file(small(2).Obj())); got.code == 0 || !strings.Contains(got.err, "forbidden") {
		t.Errorf("run: exit code %d\n%s%s", got.code, got.out, got.err)
	}
	must(t, viewer.api.List(t.Context(), &v1alpha1.StorageBenchmarkList{}, client.InNamespace(s.namespace)))
	viewer.refused(records(run)...)
	viewer.refused(beyond(other.namespace)...)
	viewer.refused(
		creating("a profile", builders.Profile(s.namespace, "own", builders.Fio())),
		patching("a benchmark", `{"spec":{"suspend":true}}`, benchmark.DeepCopy()),
		listing("Secrets", &corev1.SecretList{}, s.namespace),
		attempt{"delete a run", func(ctx context.Context, api client.Client) error { return api.Delete(ctx, run.DeepCopy()) }},
		attempt{"delete a benchmark", func(ctx context.Context, api client.Client) error { return api.Delete(ctx, benchmark.DeepCopy()) }},
	)
}
