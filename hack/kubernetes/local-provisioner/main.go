// Command local-provisioner creates a folder for every claim on the only node of a test cluster, and removes it with
// the volume. It needs no helper pods and therefore no image.
//
// The volumes are of type `local`, so that Kubernetes treats them as storage of a node: it applies file system
// groups, and pods follow the volume. Their size is not enforced.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	name := flag.String("name", "", "the provisioner's name in storage classes")
	root := flag.String("root", "", "directory in which volumes are created")
	flag.Parse()
	if err := run(*kubeconfig, *name, *root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, name, root string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("create the folder of volumes: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	controller.NewProvisionController(ctx, client, name, provisioner{root: root},
		controller.LeaderElection(false), controller.Threadiness(8)).Run(ctx)
	return nil
}

type provisioner struct{ root string }

var _ controller.Provisioner = provisioner{}

// Provision creates the folder. All users may write to it, because pods of any user use the claims.
func (p provisioner) Provision(_ context.Context, options controller.ProvisionOptions) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	claim := options.PVC
	if mode := claim.Spec.VolumeMode; mode != nil && *mode != v1.PersistentVolumeFilesystem {
		return nil, controller.ProvisioningFinished, fmt.Errorf("volume mode %s is not provided, only %s", *mode, v1.PersistentVolumeFilesystem)
	}
	if claim.Spec.Selector != nil {
		return nil, controller.ProvisioningFinished, errors.New("a claim with a selector cannot be provided for")
	}
	if options.SelectedNodeName == "" {
		return nil, controller.ProvisioningFinished, errors.New("the storage class needs volumeBindingMode WaitForFirstConsumer")
	}
	path := filepath.Join(p.root, options.PVName)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, controller.ProvisioningNoChange, fmt.Errorf("create the folder of %s: %w", options.PVName, err)
	}
	if err := os.Chmod(path, 0o777); err != nil { // regardless of the umask
		return nil, controller.ProvisioningNoChange, fmt.Errorf("open the folder of %s to all users: %w", options.PVName, err)
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   claim.Spec.AccessModes,
			MountOptions:                  options.StorageClass.MountOptions,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: claim.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource:        v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: path}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{
					Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{options.SelectedNodeName},
				}},
			}}}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes the folder of a volume. It never removes anything outside the root.
func (p provisioner) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	if volume.Spec.Local == nil {
		return fmt.Errorf("volume %s is not a local one", volume.Name)
	}
	path := filepath.Clean(volume.Spec.Local.Path)
	if filepath.Dir(path) != filepath.Clean(p.root) || strings.HasPrefix(filepath.Base(path), ".") {
		return fmt.Errorf("volume %s is at %s, which is not a folder of %s", volume.Name, path, p.root)
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove the folder of %s: %w", volume.Name, err)
	}
	return nil
}
