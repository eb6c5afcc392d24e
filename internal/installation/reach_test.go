package installation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	coretesting "k8s.io/client-go/testing"
)

// judge returns an API server that grants the rights for which may returns true.
func judge(may func(authorizationv1.ResourceAttributes) (bool, error)) *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action coretesting.Action) (bool, runtime.Object, error) {
		review := action.(coretesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		allowed, err := may(*review.Spec.ResourceAttributes)
		review.Status.Allowed = allowed
		return true, review, err
	})
	return client
}

func TestReach(t *testing.T) {
	client := judge(func(asked authorizationv1.ResourceAttributes) (bool, error) {
		switch asked.Resource {
		case "benchmarkruns":
			return asked.Namespace == "a", nil
		case "clusterworkloadprofiles":
			return asked.Verb == "list", nil // an informer needs watch, too
		}
		return asked.Namespace == "" && asked.Resource != "nodes", nil
	})
	found, err := FindReach(t.Context(), client.AuthorizationV1(), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found.Namespaces, []string{"a"}) || !slices.Equal(found.Left, []string{"b"}) {
		t.Errorf("watched are %v, left out %v", found.Namespaces, found.Left)
	}
	if want := []string{"clusterworkloadprofiles.storagebench.dev", "nodes"}; !slices.Equal(found.Denied, want) {
		t.Errorf("denied are %v, want %v", found.Denied, want)
	}
	if found.ClusterProfiles() || !(Reach{}).ClusterProfiles() {
		t.Error("profiles of the cluster are watched without the right, or not with it")
	}
	if found.Equal(Reach{Namespaces: []string{"a"}}) || !found.Equal(found) {
		t.Error("Equal does not distinguish different reaches")
	}
}

func TestReachOfNothing(t *testing.T) {
	none := judge(func(authorizationv1.ResourceAttributes) (bool, error) { return false, nil })
	_, err := FindReach(t.Context(), none.AuthorizationV1(), []string{"a", "b"})
	for _, want := range []string{"--namespaces is a,b", "config/namespaced/watched", "watch.namespaces"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	broken := judge(func(authorizationv1.ResourceAttributes) (bool, error) { return false, context.DeadlineExceeded })
	if _, err := FindReach(t.Context(), broken.AuthorizationV1(), []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an answer that does not come is taken for a no: %v", err)
	}
}
