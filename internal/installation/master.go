package installation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/storagebench/storagebench/internal/identity"
)

// MasterSecret is the name of the Secret in the operator's namespace that contains the master key. MasterKey is the
// name of the entry in the Secret's data.
const (
	MasterSecret = "storagebench-master"
	MasterKey    = "master"
)

// Master reads the master key from its Secret. If there is no Secret, it creates one with a new key. It never changes
// an existing Secret. If the Secret does not contain a valid key, the error explains what to do.
func Master(ctx context.Context, client coreclient.SecretsGetter, namespace string) (identity.Master, error) {
	secrets := client.Secrets(namespace)
	secret, err := secrets.Get(ctx, MasterSecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if secret, err = createMaster(ctx, secrets, namespace); apierrors.IsAlreadyExists(err) {
			// Another operator has created the Secret first: use its key.
			secret, err = secrets.Get(ctx, MasterSecret, metav1.GetOptions{})
		}
	}
	if err != nil {
		return identity.Master{}, fmt.Errorf("get the master key from Secret %s/%s: %w", namespace, MasterSecret, err)
	}
	text, found := secret.Data[MasterKey]
	if !found {
		return identity.Master{}, malformed(namespace, fmt.Errorf("the key is missing"))
	}
	master, err := identity.ParseMaster(string(text))
	if err != nil {
		return identity.Master{}, malformed(namespace, err)
	}
	return master, nil
}

// ID returns the UID of the Secret with the master key, which identifies the installation. It differs between clusters
// even if the key itself was copied.
func ID(ctx context.Context, client coreclient.SecretsGetter, namespace string) (string, error) {
	secret, err := client.Secrets(namespace).Get(ctx, MasterSecret, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("get the UID of Secret %s/%s: %w", namespace, MasterSecret, err)
	}
	return string(secret.UID), nil
}

func createMaster(ctx context.Context, secrets coreclient.SecretInterface, namespace string) (*corev1.Secret, error) {
	master, err := identity.NewMaster()
	if err != nil {
		return nil, err
	}
	immutable := true
	return secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:      MasterSecret,
			Namespace: namespace,
			Labels:    map[string]string{"app.kubernetes.io/name": "storagebench", "app.kubernetes.io/component": "operator"},
		},
		Immutable: &immutable,
		Data:      map[string][]byte{MasterKey: []byte(master.Text())},
	}, metav1.CreateOptions{})
}

func malformed(namespace string, err error) error {
	return fmt.Errorf("Secret %s/%s, key %q: %w; restore it from a backup, or delete it with "+ //nolint:staticcheck // Secret is a kind
		"`kubectl delete secret -n %s %s` and restart the operator, which creates a new one: live runs are lost",
		namespace, MasterSecret, MasterKey, err, namespace, MasterSecret)
}
