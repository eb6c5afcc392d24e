package benchmarkrun

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// forgetful serves two objects of each kind, on two pages. The first list of each kind expires before its second page
// is read. The names of the objects show which list they are from: 1a and 1b, then 2a and 2b.
type forgetful struct {
	client.Client
	lists map[string]int
}

func (f *forgetful) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	kind := fmt.Sprintf("%T %s", into, into.GetObjectKind().GroupVersionKind().Kind)
	given := (&client.ListOptions{}).ApplyOptions(options)
	page := "b"
	switch {
	case given.Limit == 0:
		return nil // lists without a limit come from the cache
	case given.Continue == "":
		f.lists[kind]++
		page = "a"
		into.SetContinue("more")
	case f.lists[kind] == 1:
		return apierrors.NewResourceExpired("the provided continue parameter is too old")
	}
	name := fmt.Sprint(f.lists[kind], page)
	var object client.Object
	switch into.(type) {
	case *corev1.PodList:
		object = &corev1.Pod{}
	case *corev1.PersistentVolumeList:
		object = &corev1.PersistentVolume{}
	default:
		object = &metav1.PartialObjectMetadata{}
	}
	object.SetName(name)
	object.SetUID(types.UID(name))
	return meta.SetList(into, []runtime.Object{object})
}

// Get returns an object of any name.
func (f *forgetful) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.SetName(key.Name)
	into.SetUID(types.UID(key.Name))
	return nil
}

// TestListsThatExpire checks that a list starts over if its continue token has expired, and drops the pages read so
// far.
func TestListsThatExpire(t *testing.T) {
	f := &forgetful{lists: map[string]int{}}
	r := &Reconciler{direct: f, client: f}
	for what, list := range map[string]func() ([]string, error){
		"pods": func() (names []string, err error) {
			err = r.eachPod(t.Context(), "ns", func() { names = nil }, func(pod *corev1.Pod) { names = append(names, pod.Name) })
			return names, err
		},
		"volumes": func() (names []string, err error) {
			_, err = r.eachVolume(t.Context(), func() { names = nil }, func(volume *corev1.PersistentVolume) { names = append(names, volume.Name) })
			return names, err
		},
		"free volumes": func() (names []string, err error) {
			all := &templateReader{storageReader: storageReader{r: r}}
			err = all.listFree(t.Context())
			for i := range all.free {
				names = append(names, all.free[i].Name)
			}
			return names, err
		},
		"live runs": func() (names []string, err error) {
			live, err := r.liveRunsIn(t.Context(), "ns")
			for i := range live {
				names = append(names, live[i].Name)
			}
			return names, err
		},
		"benchmarks": func() ([]string, error) {
			there, err := r.benchmarksThere(t.Context())
			if there["2a"] && there["2b"] {
				return []string{"2a", "2b"}, err
			}
			return nil, err
		},
	} {
		f.lists = map[string]int{}
		if got, err := list(); err != nil || !slices.Equal(got, []string{"2a", "2b"}) {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}
