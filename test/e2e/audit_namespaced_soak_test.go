package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/controllers/catalog"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/csisim"
	"github.com/storagebench/storagebench/test/csisim/embedded"
	"github.com/storagebench/storagebench/test/soak"
)

// simulatedDriver has the CSIDriver that the operator reads.
const simulatedDriver = "ebs.csi.aws.com"

// watchedUses are the scenarios that make the operator use each of its rights in watched namespaces. They run in
// parallel, each in its own namespace.
var watchedUses = map[string]func(*space){
	"claim, profile, history": func(s *space) {
		s.modified("data")
		must(s.T, s.api.Create(s.Context(), builders.Profile(s.namespace, "own", paced())))
		benchmark := small(1).Clients(1).WithProfile(v1alpha1.WorkloadProfileKind, "own").Obj()
		benchmark.Spec.HistoryLimit = new(int32(1))
		s.apply(benchmark)
		s.complete(s.ended(wholeRun))
		s.complete(s.again("bench", "again", wholeRun))
		s.until("the first run is gone", time.Minute, func() bool { return len(s.runs()) == 1 })
	},
	"templates": func(s *space) {
		s.apply(builders.Benchmark("made").Clients(2).Spread(v1alpha1.SpreadAny).
			Target("kept").Template(v1alpha1.ClaimShared, v1alpha1.ClaimForBenchmark, builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")).
			Target("own").Template(v1alpha1.ClaimPerClient, v1alpha1.ClaimForRun, builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")).
			Workload(builders.Fio().Dataset("8Mi")).Prepare("layout").Obj())
		s.complete(s.ended(wholeRun))
		s.until("the claims of the run are gone", time.Minute, func() bool { return len(s.ownClaims()) == 1 })
	},
	"a lost client": func(s *space) {
		s.claim("data", "1Gi")
		s.apply(small(5).Clients(1).OnLoss(v1alpha1.OnLossRestartStep, 2).Obj())
		run := s.busy("01-write")
		must(s.T, s.api.Delete(s.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: run.Name + "-data-0-1"}},
			client.GracePeriodSeconds(0)))
		s.complete(s.ended(wholeRun))
	},
	"a class that is missing": func(s *space) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")}
		claim.Spec.StorageClassName = new("gone")
		s.create(claim)
		s.apply(small(1).StartTimeout(v1alpha1.DurationOf(startTimeout)).Obj())
		if failed := told(s.ended(wholeRun).Status.Conditions, v1alpha1.ConditionFailed); !strings.Contains(failed, `"gone" not found`) {
			s.Errorf("Failed is %s", failed)
		}
	},
	"a simulated driver": func(s *space) {
		s.simulatedClaim("data", simulatedDriver, "100Gi", corev1.ReadWriteOnce, map[string]string{
			"type": "gp2", "csi.storage.k8s.io/fstype": "ext4", csisim.ScenarioParameter: "ebs-gp2"})
		s.apply(builders.Benchmark("found").Target("data").Workload(builders.Fio().Dataset("8Mi")).Prepare("layout").Obj())
		s.complete(s.ended(wholeRun))
	},
	"alike events": func(s *space) { s.alikeEvents() },
}

// TestNamespacedOperator checks that an operator that watches some namespaces works there like one for the whole
// cluster. It must use every right that it has, must not be refused anything, and must not ask for anything in other
// namespaces.
func TestNamespacedOperator(t *testing.T) {
	soak.Only(t)
	in := requireNode(t)
	in.withoutOperator(t)
	embedded.Run(t, in.State, simulatedDriver)
	home, outside := newSpace(t), newSpace(t)
	spaces := map[string]*space{}
	var watched []string
	for name := range watchedUses {
		spaces[name] = newSpace(t)
		watched = append(watched, spaces[name].namespace)
	}
	// The operator reports the invalid limits by an event on the ConfigMap.
	home.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: catalog.DefaultName}, Data: map[string]string{"mine.yaml": "no limits"}})
	home.installNamespaced(watched)
	outside.claim("data", "1Gi")
	outside.apply(small(1).Obj())
	t.Run("uses", func(t *testing.T) {
		for name, use := range watchedUses {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				own := *spaces[name]
				own.T = t
				use(&own)
			})
		}
	})
	if runs := outside.runs(); len(runs) > 0 {
		t.Errorf("a namespace that is not watched has the run %s", runs[0].Name)
	}
	found, err := in.audit(t.Context(), home.namespace, operatorDeployment, time.Time{})
	must(t, err)
	soak.Report(t, "Rights of an operator that watches namespaces", "%d requests have used %d of %d rights; %d are looked for by the API server itself, in each of %d namespaces",
		found.requests, len(found.used), len(found.granted), len(invisible), len(watched))
	// All watched namespaces have the same Role, and each scenario uses only a part of it.
	for _, problem := range acrossNamespaces(found, watched).problems() {
		t.Error(problem)
	}
	must(t, in.State.Audit("system:serviceaccount:"+home.namespace+":"+operatorDeployment, func(event auditv1.Event) {
		if event.ObjectRef != nil && event.ObjectRef.Namespace == outside.namespace {
			t.Errorf("asked for in a namespace that is not watched: %s %s", event.Verb, event.RequestURI)
		}
	}))
}

// acrossNamespaces merges the rights of the Roles in some namespaces: a right that is used in one of them counts as
// used.
func acrossNamespaces(of *ledger, namespaces []string) *ledger {
	one := func(r right) right {
		if slices.Contains(namespaces, r.namespace) {
			r.namespace, r.role = "", "Role in each watched namespace"
		}
		return r
	}
	made := newLedger(nil)
	made.refused = of.refused
	for _, granted := range of.granted {
		made.granted = append(made.granted, one(granted))
		if at, used := of.used[granted]; used {
			made.used[one(granted)] = at
		}
	}
	return made
}

// installNamespaced installs config/namespaced with the space as the operator's namespace. The kinds and the users'
// roles exist already. Watches begin with lists, as with an API server before Kubernetes 1.34.
func (s *space) installNamespaced(watched []string) {
	s.Helper()
	manifests, err := render.Folder(os.DirFS(filepath.Join(s.root, "config")), render.Namespaced, s.version)
	must(s.T, err)
	// Cluster-wide names must be unique to the space.
	text := strings.NewReplacer("storagebench-operator-cluster-reads", s.namespace, "storagebench-system", s.namespace).Replace(string(manifests))
	var deployment []byte
	for document := range bytes.SplitSeq([]byte(text), []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		must(s.T, yaml.Unmarshal(document, object))
		switch kind := object.GetKind(); {
		case kind == "ServiceAccount", kind == "NetworkPolicy", object.GetNamespace() == s.namespace && (kind == "Role" || kind == "RoleBinding"):
			s.install(object)
		case object.GetName() == s.namespace && (kind == "ClusterRole" || kind == "ClusterRoleBinding"):
			s.install(object)
			s.Cleanup(func() { _ = s.api.Delete(context.Background(), object) })
		case kind == "Role", kind == "RoleBinding":
			for _, namespace := range watched {
				there := object.DeepCopy()
				there.SetNamespace(namespace)
				s.install(there)
			}
		case kind == "Deployment":
			deployment = document
		}
	}
	// Deploy last: an operator that cannot read any of its namespaces exits.
	s.deployNamespaced(deployment, watched)
}

func (s *space) install(object *unstructured.Unstructured) {
	s.Helper()
	must(s.T, s.api.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("e2e"), client.ForceOwnership))
}

func (s *space) deployNamespaced(document []byte, watched []string) {
	s.Helper()
	deployment := &appsv1.Deployment{}
	must(s.T, yaml.UnmarshalStrict(document, deployment))
	container := &deployment.Spec.Template.Spec.Containers[0]
	index := slices.Index(container.Args, "--namespaces=benchmarks")
	if index < 0 {
		s.Fatalf("config/namespaced has the arguments %q", container.Args)
	}
	container.Args[index] = "--namespaces=" + strings.Join(watched, ",")
	container.Env = append(container.Env, corev1.EnvVar{Name: "KUBE_FEATURE_WatchListClient", Value: "false"})
	s.create(deployment)
	s.Cleanup(func() {
		if s.Failed() {
			s.Log(s.logsOfOperator())
		}
	})
	s.until("the operator is ready", 2*time.Minute, func() bool {
		return s.get(deployment.Name, deployment) && deployment.Status.ReadyReplicas == 1
	})
}

// logsOfOperator returns the last log lines of the space's operator, and of its previous container if that ended.
func (s *space) logsOfOperator() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var pods corev1.PodList
	if err := s.api.List(ctx, &pods, client.InNamespace(s.namespace)); err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, pod := range pods.Items {
		for _, previous := range []bool{true, false} {
			log, err := s.clients.CoreV1().Pods(s.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: new(int64(20)), Previous: previous}).DoRaw(ctx)
			if err == nil {
				text.Write(log)
			}
		}
	}
	return text.String()
}
