package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// StorageClassName is the default storage class. Its volumes are folders of
	// the node on which the first pod of a claim runs.
	StorageClassName = "local"
	provisionerName  = "storagebench.dev/local"
	// SharedClassName is the storage class whose volumes all nodes can mount: they are folders of this machine.
	SharedClassName       = "shared"
	sharedProvisionerName = "storagebench.dev/shared"
)

func (s State) restConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the cluster: %w", err)
	}
	// The node is on this machine, so the proxy that this machine uses for the web must not be used.
	config.Proxy = noProxy
	return config, nil
}

func (s State) client() (kubernetes.Interface, error) {
	config, err := s.restConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 100, 100
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	return client, nil
}

// roles maps the cluster's own users to their rules.
var roles = map[string][]rbacv1.PolicyRule{
	dnsUser: {
		{APIGroups: []string{""}, Resources: []string{"services", "pods", "namespaces"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
	},
	provisionerUser: {
		{APIGroups: []string{""}, Resources: []string{"persistentvolumes"}, Verbs: []string{"get", "list", "watch", "create", "patch", "update", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: []string{"get", "list", "watch", "patch", "update"}},
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"}},
		{APIGroups: []string{"storage.k8s.io"}, Resources: []string{"storageclasses"}, Verbs: []string{"get", "list", "watch"}},
	},
}

// applyBase creates the objects that the cluster needs but that no component creates.
func applyBase(ctx context.Context, client kubernetes.Interface) error {
	for user, rules := range roles {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}
		_, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making the role of %s: %w", user, err)
		}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("giving %s its role: %w", user, err)
		}
	}
	for _, class := range []*storagev1.StorageClass{{
		ObjectMeta: metav1.ObjectMeta{
			Name:        StorageClassName,
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner:       provisionerName,
		ReclaimPolicy:     new(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}, {
		ObjectMeta:        metav1.ObjectMeta{Name: SharedClassName},
		Provisioner:       sharedProvisionerName,
		ReclaimPolicy:     new(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: new(storagev1.VolumeBindingImmediate),
	}} {
		_, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making the storage class %s: %w", class.Name, err)
		}
	}
	return nil
}

// waitForNode waits until pods can run: the node is ready and has no taints, and the namespace `default` has its
// service account.
func waitForNode(ctx context.Context, client kubernetes.Interface, name string) error {
	for {
		missing := whatIsMissing(ctx, client, name)
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the node: %w: %s", ctx.Err(), missing)
		case <-time.After(pollInterval):
		}
	}
}

func whatIsMissing(ctx context.Context, client kubernetes.Interface, name string) string {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	if !ready {
		return fmt.Sprintf("node %s is not ready", name)
	}
	if len(node.Spec.Taints) > 0 {
		return fmt.Sprintf("node %s is tainted with %s", name, node.Spec.Taints[0].ToString())
	}
	if _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err.Error()
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
		return err.Error()
	}
	return ""
}
