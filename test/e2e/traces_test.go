package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// clean waits until nothing of any run is left in the space: no object that a run made, and no file below a
// .storagebench directory of its volumes. Claims that outlive their run do not count. It waits longer than the pods'
// grace period of two minutes, because a container that is stopped before its program runs misses the signal and is
// killed after that period.
func (s *space) clean() {
	s.Helper()
	var left []string
	holds := func() bool {
		left = append(s.objectsLeft(), s.filesLeft()...)
		return len(left) == 0
	}
	for deadline := time.Now().Add(hang); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Errorf("the run is over and has left:\n  %s", strings.Join(left, "\n  "))
			return
		}
	}
}

func (s *space) objectsLeft() []string {
	s.Helper()
	var left []string
	for kind, list := range map[string]client.ObjectList{
		"pod": &corev1.PodList{}, "Secret": &corev1.SecretList{}, "claim": &corev1.PersistentVolumeClaimList{},
		"NetworkPolicy": &networkingv1.NetworkPolicyList{},
	} {
		must(s.T, s.api.List(s.Context(), list, client.InNamespace(s.namespace)))
		for _, object := range objectsOf(list) {
			if object.GetLabels()[v1alpha1.LabelRun] != "" && !ownedByBenchmark(object) {
				left = append(left, kind+" "+object.GetName())
			}
		}
	}
	slices.Sort(left)
	return left
}

func objectsOf(list client.ObjectList) (all []client.Object) {
	_ = meta.EachListItem(list, func(object runtime.Object) error {
		all = append(all, object.(client.Object))
		return nil
	})
	return all
}

func ownedByBenchmark(object client.Object) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && owner.Kind == v1alpha1.StorageBenchmarkKind
}

// filesLeft returns the files that runs have left on the volumes of the space and that this machine can see.
func (s *space) filesLeft() []string {
	s.Helper()
	var left []string
	for _, folder := range s.folders() {
		for _, file := range runFiles(s, folder) {
			left = append(left, folder+": "+file)
		}
	}
	return left
}

// folders returns the node's directories to which the claims of the space are bound.
func (s *space) folders() []string {
	s.Helper()
	if !s.Embedded {
		return nil
	}
	var claims corev1.PersistentVolumeClaimList
	must(s.T, s.api.List(s.Context(), &claims, client.InNamespace(s.namespace)))
	var folders []string
	for _, claim := range claims.Items {
		if claim.Spec.VolumeName == "" {
			continue
		}
		var volume corev1.PersistentVolume
		err := s.api.Get(s.Context(), client.ObjectKey{Name: claim.Spec.VolumeName}, &volume)
		if client.IgnoreNotFound(err) != nil {
			s.Fatal(err)
		}
		if folder := folderOf(&volume); folder != "" {
			folders = append(folders, folder)
		}
	}
	return folders
}

// folderOf returns the directory of a node that a volume is, or "" for any other volume.
func folderOf(volume *corev1.PersistentVolume) string {
	switch {
	case volume.Spec.Local != nil:
		return volume.Spec.Local.Path
	case volume.Spec.HostPath != nil:
		return volume.Spec.HostPath.Path
	}
	return ""
}

// runFiles returns everything below any .storagebench directory of a directory, on all nodes.
func runFiles(s *space, folder string) (found []string) {
	s.Helper()
	members, err := s.State.Members()
	must(s.T, err)
	for _, member := range members {
		pid, err := member.PID()
		if err != nil {
			s.Errorf("cannot check what is left: %v", err)
			continue
		}
		found = append(found, runFilesBelow(s, filepath.Join("/proc", strconv.Itoa(pid), "root", folder))...)
	}
	return found
}

func runFilesBelow(s *space, root string) (found []string) {
	s.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it is being removed
		}
		if err == nil && strings.Contains(path, "/"+v1alpha1.DataDirectory+"/") {
			found = append(found, strings.TrimPrefix(path, root))
		}
		return err
	})
	must(s.T, err)
	return found
}
