// Command local-provisioner provisions volumes in a test cluster. It runs on every node. It creates a directory for
// each claim whose first pod is scheduled to the node, and removes the directory when the volume is deleted. It needs
// no helper pods and therefore no image.
//
// The volumes are of type `local`, so that Kubernetes treats them as storage of a node: it applies fsGroup, and
// schedules the pods that use a volume to the volume's node. The size of a volume is not enforced.
//
// With -shared-name, it also provisions volumes in a directory that is mounted on all nodes. These volumes are of type
// `hostPath` and have no node affinity.
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
	"sync"
	"syscall"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig for the API server")
	name := flag.String("name", "", "the provisioner's name in storage classes")
	root := flag.String("root", "", "directory in which volumes are created")
	node := flag.String("node", "", "name of the node on which volumes are provisioned")
	sharedName := flag.String("shared-name", "", "provisioner name for shared volumes in storage classes; if empty, shared volumes are not provisioned")
	sharedRoot := flag.String("shared-root", "", "directory, mounted on all nodes, in which shared volumes are created")
	flag.Parse()
	provisioners := map[string]controller.Provisioner{*name: local{directories{*root}, *node}}
	if *sharedName != "" {
		provisioners[*sharedName] = shared{directories{*sharedRoot}}
	}
	if err := run(*kubeconfig, provisioners); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig string, provisioners map[string]controller.Provisioner) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	var running sync.WaitGroup
	for name, provisioner := range provisioners {
		running.Go(func() {
			controller.NewProvisionController(ctx, client, name, provisioner,
				controller.LeaderElection(false), controller.Threadiness(8)).Run(ctx)
		})
	}
	running.Wait()
	return nil
}

// local provisions volumes on the node that Kubernetes has selected for a claim.
type local struct {
	directories
	node string
}

var (
	_ controller.Provisioner   = local{}
	_ controller.Qualifier     = local{}
	_ controller.DeletionGuard = local{}
	_ controller.Provisioner   = shared{}
)

// selectedNode is the annotation in which the scheduler records the node that it chose for the first pod of a claim.
const selectedNode = "volume.kubernetes.io/selected-node"

// ShouldProvision reports whether the scheduler has selected this node for a claim. It also returns true if no node is
// selected, so that Provision can reject the claim with an error.
func (p local) ShouldProvision(_ context.Context, claim *v1.PersistentVolumeClaim) bool {
	node := claim.Annotations[selectedNode]
	return node == "" || node == p.node
}

// ShouldDelete reports whether a volume is on this node. The volumes of other nodes are deleted by the provisioners
// that run there.
func (p local) ShouldDelete(_ context.Context, volume *v1.PersistentVolume) bool {
	affinity := volume.Spec.NodeAffinity
	return affinity != nil && affinity.Required != nil && equality.Semantic.DeepEqual(affinity.Required, onNode(p.node))
}

func onNode(name string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{name}}},
	}}}
}

// Provision creates a directory on this node for a claim, and returns a volume that is bound to the node.
func (p local) Provision(_ context.Context, options controller.ProvisionOptions) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	if options.SelectedNodeName == "" {
		return nil, controller.ProvisioningFinished, errors.New("set volumeBindingMode of the storage class to WaitForFirstConsumer")
	}
	volume, state, err := p.provision(options, func(path string) v1.PersistentVolumeSource {
		return v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: path}}
	})
	if err == nil {
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: onNode(p.node)}
	}
	return volume, state, err
}

// Delete removes the directory of a volume.
func (p local) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	if volume.Spec.Local == nil {
		return fmt.Errorf("volume %s is not a local volume", volume.Name)
	}
	return p.remove(volume.Name, volume.Spec.Local.Path)
}

// shared provides volumes that all nodes can mount.
type shared struct{ directories }

// Provision creates a directory for a claim, and returns a volume that every node can mount.
func (p shared) Provision(_ context.Context, options controller.ProvisionOptions) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	return p.provision(options, func(path string) v1.PersistentVolumeSource {
		mustBe := v1.HostPathDirectory
		return v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: path, Type: &mustBe}}
	})
}

// Delete removes the directory of a volume.
func (p shared) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	if volume.Spec.HostPath == nil {
		return fmt.Errorf("volume %s is not a hostPath volume", volume.Name)
	}
	return p.remove(volume.Name, volume.Spec.HostPath.Path)
}

// directories creates and removes the directories of volumes. All of them are in root.
type directories struct{ root string }

// provision creates a directory. All users may write to it, because the pods that use a claim may run as any user.
func (p directories) provision(options controller.ProvisionOptions, source func(path string) v1.PersistentVolumeSource) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	claim := options.PVC
	if mode := claim.Spec.VolumeMode; mode != nil && *mode != v1.PersistentVolumeFilesystem {
		return nil, controller.ProvisioningFinished, fmt.Errorf("volume mode %s is not supported; use %s", *mode, v1.PersistentVolumeFilesystem)
	}
	if claim.Spec.Selector != nil {
		return nil, controller.ProvisioningFinished, errors.New("claims with a selector are not supported; remove the selector")
	}
	path := filepath.Join(p.root, options.PVName)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, controller.ProvisioningNoChange, fmt.Errorf("create the directory of %s: %w", options.PVName, err)
	}
	// Set the mode again, because the umask restricts the mode that MkdirAll sets, but not the mode that Chmod sets.
	if err := os.Chmod(path, 0o777); err != nil {
		return nil, controller.ProvisioningNoChange, fmt.Errorf("make the directory of %s writable for all users: %w", options.PVName, err)
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   claim.Spec.AccessModes,
			MountOptions:                  options.StorageClass.MountOptions,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: claim.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource:        source(path),
		},
	}, controller.ProvisioningFinished, nil
}

// remove removes the directory of a volume. It never removes anything outside the root.
func (p directories) remove(volume, path string) error {
	path = filepath.Clean(path)
	if filepath.Dir(path) != filepath.Clean(p.root) || strings.HasPrefix(filepath.Base(path), ".") {
		return fmt.Errorf("volume %s was not deleted, because its path %s is not a volume directory in %s", volume, path, p.root)
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove the directory of %s: %w", volume, err)
	}
	return nil
}
