package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Reach lists what an operator that watches selected namespaces may read. An informer never completes its first list of
// a kind that the operator is not allowed to read, and every controller would wait for that list before starting. The
// operator therefore leaves out such kinds and namespaces, and reports them.
type Reach struct {
	// Namespaces lists the namespaces to watch. Left lists the requested namespaces that are left out because the operator
	// is not allowed to read them.
	Namespaces, Left []string
	// Denied lists the cluster-scoped kinds that the operator is not allowed to read, such as "nodes" or
	// "storageclasses.storage.k8s.io".
	Denied []string
}

// ClusterProfiles reports whether ClusterWorkloadProfiles can be watched.
func (r Reach) ClusterProfiles() bool { return !slices.Contains(r.Denied, clusterProfiles.name()) }

// Equal reports whether r and other have the same content.
func (r Reach) Equal(other Reach) bool {
	return slices.Equal(r.Namespaces, other.Namespaces) && slices.Equal(r.Left, other.Left) && slices.Equal(r.Denied, other.Denied)
}

// kind is an API resource, with the verbs that the operator needs to read it.
type kind struct {
	group, resource string
	verbs           []string
}

func (k kind) name() string { return strings.TrimSuffix(k.resource+"."+k.group, ".") }

var (
	// watched is the kind that FindReach checks in each namespace. One kind is enough, because a single Role grants the
	// permissions for all watched kinds.
	watched         = kind{v1alpha1.Group, "benchmarkruns", []string{"list", "watch"}}
	clusterProfiles = kind{v1alpha1.Group, "clusterworkloadprofiles", []string{"list", "watch"}}
	ofCluster       = []kind{
		clusterProfiles,
		{"", "nodes", []string{"get"}},
		{"", "persistentvolumes", []string{"get", "list"}},
		{"storage.k8s.io", "storageclasses", []string{"get"}},
		{"storage.k8s.io", "volumeattributesclasses", []string{"get"}},
	}
)

// FindReach asks the API server which of the given namespaces, and which cluster-scoped kinds, the operator may read.
// It returns an error if the operator may not read any of the namespaces.
func FindReach(ctx context.Context, client authorizationclient.SelfSubjectAccessReviewsGetter, namespaces []string) (Reach, error) {
	var found Reach
	for _, namespace := range namespaces {
		may, err := mayRead(ctx, client, namespace, watched)
		switch {
		case err != nil:
			return Reach{}, err
		case may:
			found.Namespaces = append(found.Namespaces, namespace)
		default:
			found.Left = append(found.Left, namespace)
		}
	}
	if len(found.Namespaces) == 0 {
		return Reach{}, fmt.Errorf("--namespaces is %s, but the operator may not read %s in any of them: grant it the Role in "+
			"config/namespaced/watched in these namespaces, or set watch.namespaces of the chart; the namespaces must exist",
			strings.Join(namespaces, ","), watched.name())
	}
	for _, one := range ofCluster {
		may, err := mayRead(ctx, client, "", one)
		if err != nil {
			return Reach{}, err
		}
		if !may {
			found.Denied = append(found.Denied, one.name())
		}
	}
	return found, nil
}

func mayRead(ctx context.Context, client authorizationclient.SelfSubjectAccessReviewsGetter, namespace string, what kind) (bool, error) {
	for _, verb := range what.verbs {
		answer, err := client.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Group: what.group, Resource: what.resource, Verb: verb}},
		}, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("check permission to %s %s: %w", verb, what.name(), err)
		}
		if !answer.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}
