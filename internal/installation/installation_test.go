package installation

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	coretesting "k8s.io/client-go/testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/identity"
)

const namespace = "storagebench-system"

func secret(data map[string]string) *corev1.Secret {
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: MasterSecret, Namespace: namespace}, Data: map[string][]byte{}}
	for key, text := range data {
		made.Data[key] = []byte(text)
	}
	return made
}

func newMaster(t *testing.T) identity.Master {
	t.Helper()
	master, err := identity.NewMaster()
	if err != nil {
		t.Fatal(err)
	}
	return master
}

func TestMasterIsMadeOnceAndReadAgain(t *testing.T) {
	client := fake.NewClientset()
	first, err := Master(t.Context(), client.CoreV1(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := client.CoreV1().Secrets(namespace).Get(t.Context(), MasterSecret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if stored.Immutable == nil || !*stored.Immutable {
		t.Error("the Secret can be changed in passing")
	}
	if string(stored.Data[MasterKey]) != first.Text() {
		t.Error("the Secret holds another key than the one that is used")
	}
	second, err := Master(t.Context(), client.CoreV1(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	if first.Text() != second.Text() {
		t.Error("the second start has another key")
	}
	for _, action := range client.Actions() {
		if verb := action.GetVerb(); verb != "get" && verb != "create" {
			t.Errorf("the operator wants to %s Secrets", verb)
		}
	}
}

// TestMasterOfTheFasterOne starts two operators at the same time: this one must use the master key of the faster one.
func TestMasterOfTheFasterOne(t *testing.T) {
	client := fake.NewClientset()
	others := newMaster(t)
	client.PrependReactor("create", "secrets", func(coretesting.Action) (bool, runtime.Object, error) {
		if err := client.Tracker().Add(secret(map[string]string{MasterKey: others.Text()})); err != nil {
			t.Error(err)
		}
		return false, nil, nil
	})
	master, err := Master(t.Context(), client.CoreV1(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	if master.Text() != others.Text() {
		t.Error("it has a key of its own")
	}
}

func TestMasterIsNeverGuessed(t *testing.T) {
	const planted = "c2VjcmV0IG9mIHNvbWVib2R5"
	for name, data := range map[string]map[string]string{
		"no data":    {},
		"other key":  {"key": newMaster(t).Text()},
		"empty":      {MasterKey: ""},
		"not base64": {MasterKey: "!" + planted},
		"too short":  {MasterKey: planted},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(secret(data))
			_, err := Master(t.Context(), client.CoreV1(), namespace)
			if err == nil {
				t.Fatal("a key was found")
			}
			for _, wanted := range []string{namespace + "/" + MasterSecret, `"master"`, "kubectl delete secret -n " + namespace + " " + MasterSecret} {
				if !strings.Contains(err.Error(), wanted) {
					t.Errorf("the message does not say %q: %v", wanted, err)
				}
			}
			if strings.Contains(err.Error(), planted) {
				t.Errorf("the message contains the key: %v", err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the message is more than a line: %v", err)
			}
			left, err := client.CoreV1().Secrets(namespace).Get(t.Context(), MasterSecret, metav1.GetOptions{})
			if err != nil || len(left.Data) != len(data) || string(left.Data[MasterKey]) != data[MasterKey] {
				t.Errorf("the Secret was changed: %v, %v", left, err)
			}
		})
	}
}

func TestMasterWithoutTheRight(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("get", "secrets", func(coretesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, MasterSecret, errors.New("no"))
	})
	_, err := Master(t.Context(), client.CoreV1(), namespace)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), MasterSecret) {
		t.Errorf("got %v", err)
	}
}

// served returns an API server that knows the given kinds.
func served(names ...string) *fakediscovery.FakeDiscovery {
	list := &metav1.APIResourceList{GroupVersion: v1alpha1.GroupVersion.String()}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Kind: name})
	}
	faked := &fakediscovery.FakeDiscovery{Fake: &coretesting.Fake{}}
	if len(names) > 0 {
		faked.Resources = []*metav1.APIResourceList{list}
	}
	return faked
}

func TestKinds(t *testing.T) {
	all := []string{"StorageBenchmark", "BenchmarkRun", "WorkloadProfile", "ClusterWorkloadProfile"}
	if err := kinds(t.Context(), served(all...), 0); err != nil {
		t.Errorf("all kinds are there: %v", err)
	}
	for name, there := range map[string][]string{"none": nil, "two": all[:2]} {
		err := kinds(t.Context(), served(there...), 0)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, kind := range all[len(there):] {
			if !strings.Contains(err.Error(), kind) {
				t.Errorf("%s: %s is not named: %v", name, kind, err)
			}
		}
		if !strings.Contains(err.Error(), "kubectl apply -k config/default") {
			t.Errorf("%s: no remedy: %v", name, err)
		}
	}
}

// TestKindsAreWaitedFor checks that the operator waits for kinds that are applied together with it.
func TestKindsAreWaitedFor(t *testing.T) {
	faked := served()
	looks := 0
	faked.PrependReactor("get", "resource", func(coretesting.Action) (bool, runtime.Object, error) {
		if looks++; looks == 2 {
			faked.Resources = served("StorageBenchmark", "BenchmarkRun", "WorkloadProfile", "ClusterWorkloadProfile").Resources
		}
		return false, nil, nil
	})
	if err := kinds(t.Context(), faked, time.Minute); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := kinds(ctx, served(), time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("an operator that is stopped still waits for kinds: %v", err)
	}
}
