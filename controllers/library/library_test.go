package library_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	controller "github.com/storagebench/storagebench/controllers/library"
	"github.com/storagebench/storagebench/internal/library"
	"github.com/storagebench/storagebench/test/controlplane"
)

// world is an API server and an applier with only the operator's rights.
type world struct {
	t       *testing.T
	admin   client.Client
	applier *controller.Applier
	events  *events.FakeRecorder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs an API server")
	}
	plane, err := controlplane.Start(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, admin: newClient(t, plane.Config), events: events.NewFakeRecorder(100)}
	w.grant()
	operator := rest.CopyConfig(plane.Config)
	operator.Impersonate = rest.ImpersonationConfig{UserName: "operator"}
	as := newClient(t, operator)
	// New rights take effect with a delay.
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := as.List(t.Context(), &v1alpha1.ClusterWorkloadProfileList{})
		if err == nil {
			break
		}
		if !apierrors.IsForbidden(err) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	w.applier = &controller.Applier{Reader: as, Writer: as, Events: w.events, Version: "v1"}
	return w
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	made, err := client.New(config, client.Options{Scheme: controlplane.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// rights returns the operator's rights to profiles: those of the marker in library.go, and to list, which its cache
// needs.
func rights(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	source, err := os.ReadFile("library.go")
	if err != nil {
		t.Fatal(err)
	}
	marker := regexp.MustCompile(`\+kubebuilder:rbac:groups=storagebench.dev,resources=clusterworkloadprofiles,verbs=(\S+),resourceNames=(\S+)`).FindSubmatch(source)
	if marker == nil {
		t.Fatal("there is no marker")
	}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"clusterworkloadprofiles"}, Verbs: []string{"list"}},
		{
			APIGroups: []string{v1alpha1.Group}, Resources: []string{"clusterworkloadprofiles"},
			Verbs: strings.Split(string(marker[1]), ";"), ResourceNames: strings.Split(string(marker[2]), ";"),
		},
	}
}

func (w *world) grant() {
	w.t.Helper()
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "operator"}, Rules: rights(w.t)},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "operator"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "operator"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}},
		},
	} {
		if err := w.admin.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
}

// apply applies the library as the operator does when it starts, and returns the events.
func (w *world) apply() []string {
	w.t.Helper()
	if err := w.applier.Apply(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	var told []string
	for {
		select {
		case one := <-w.events.Events:
			told = append(told, one)
		default:
			return told
		}
	}
}

func (w *world) get(name string) *v1alpha1.ClusterWorkloadProfile {
	w.t.Helper()
	found := &v1alpha1.ClusterWorkloadProfile{}
	if err := w.admin.Get(w.t.Context(), client.ObjectKey{Name: name}, found); err != nil {
		w.t.Fatal(err)
	}
	return found
}

func (w *world) versions() map[string]string {
	w.t.Helper()
	var list v1alpha1.ClusterWorkloadProfileList
	if err := w.admin.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	versions := map[string]string{}
	for _, one := range list.Items {
		versions[one.Name] = one.ResourceVersion
	}
	return versions
}

// TestApply checks each change that a user or a new version can make to a profile between two starts of the operator.
// The applier has only the operator's rights.
func TestApply(t *testing.T) {
	w := newWorld(t)
	all, err := library.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	if told := w.apply(); len(told) > 0 {
		t.Errorf("the first start sends the events %q", told)
	}
	before := w.versions()
	if len(before) != len(all) {
		t.Fatalf("%d profiles of %d are there", len(before), len(all))
	}
	made := w.get("etcd-wal")
	if made.Labels[v1alpha1.LabelLibrary] != "true" || made.Annotations[v1alpha1.AnnotationLibraryVersion] != "v1" || made.Annotations[v1alpha1.AnnotationSource] == "" {
		t.Errorf("labels %v, annotations %v", made.Labels, made.Annotations)
	}

	if told := w.apply(); len(told) > 0 {
		t.Errorf("the second start sends the events %q", told)
	}
	if after := w.versions(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the second start has changed something: %v, %v", before, after)
	}

	ctx := t.Context()
	changed := w.get("oltp-8k")
	changed.Spec.Fio.QueueDepth = new(int32(3))
	must(t, w.admin.Update(ctx, changed, client.FieldOwner("kubectl-edit")))
	added := w.get("oltp-16k")
	added.Spec.Fio.RandomDistribution = "zipf:1.1"
	must(t, w.admin.Update(ctx, added, client.FieldOwner("kubectl-edit")))
	taken := w.get("rand-mixed-4k")
	taken.Spec.Fio.QueueDepth = nil
	must(t, w.admin.Update(ctx, taken, client.FieldOwner("kubectl-edit")))
	labelled := w.get("etcd-wal")
	labelled.Labels["team"] = "storage"
	must(t, w.admin.Update(ctx, labelled, client.FieldOwner("kubectl-label")))
	must(t, w.admin.Delete(ctx, w.get("seq-read-1m")))
	must(t, w.admin.Delete(ctx, w.get("seq-write-1m")))
	own := &v1alpha1.ClusterWorkloadProfile{ObjectMeta: metav1.ObjectMeta{Name: "seq-write-1m"}, Spec: made.Spec}
	must(t, w.admin.Create(ctx, own))
	left := &v1alpha1.ClusterWorkloadProfile{ObjectMeta: metav1.ObjectMeta{Name: "of-yesterday", Labels: map[string]string{v1alpha1.LabelLibrary: "true"}}, Spec: made.Spec}
	must(t, w.admin.Create(ctx, left, client.FieldOwner(controller.FieldManager)))

	// Start the next version.
	w.applier.Version = "v2"
	told := w.apply()
	for _, want := range []string{
		"Warning ProfileKept the profile was left unchanged and may differ from this version of the library: kubectl-edit modified it",
		"Warning ProfileKept the profile was left unchanged and may differ from this version of the library: the profile has no label storagebench.dev/library",
		"Normal ProfileLeft this version of the library no longer has this profile",
	} {
		if !slices.ContainsFunc(told, func(one string) bool { return strings.HasPrefix(one, want) }) {
			t.Errorf("no event %q in %q", want, told)
		}
	}
	if len(told) != 5 {
		t.Errorf("the events are %q", told)
	}
	if kept := w.get("oltp-8k"); *kept.Spec.Fio.QueueDepth != 3 || kept.Annotations[v1alpha1.AnnotationLibraryVersion] != "v1" {
		t.Errorf("a user's change was overwritten: %+v", kept.Spec.Fio)
	}
	if kept := w.get("oltp-16k"); kept.Spec.Fio.RandomDistribution == "" {
		t.Error("a field that a user added was removed")
	}
	if kept := w.get("rand-mixed-4k"); kept.Spec.Fio.QueueDepth != nil {
		t.Error("a field that a user removed is back")
	}
	if kept := w.get("seq-write-1m"); kept.UID != own.UID || kept.Spec.Fio.BlockSize.String() != "2300" || len(kept.Labels) > 0 {
		t.Error("a user's own profile was changed")
	}
	if updated := w.get("etcd-wal"); updated.Annotations[v1alpha1.AnnotationLibraryVersion] != "v2" || updated.Labels["team"] != "storage" {
		t.Errorf("a profile with a label of a user: %v %v", updated.Labels, updated.Annotations)
	}
	w.get("seq-read-1m") // created again
	w.get("of-yesterday")

	// Deleting a changed profile restores the library's profile.
	must(t, w.admin.Delete(ctx, w.get("oltp-8k")))
	w.apply()
	if back := w.get("oltp-8k"); *back.Spec.Fio.QueueDepth != 8 {
		t.Errorf("the restored profile is %+v", back.Spec.Fio)
	}

	// The operator may create profiles only under the names of the library.
	other, err := all[0].Object()
	must(t, err)
	other.SetName("other")
	err = w.applier.Writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(other), client.FieldOwner(controller.FieldManager))
	if !apierrors.IsForbidden(err) {
		t.Errorf("another name: %v", err)
	}
}

// TestRights checks that the marker in library.go names all profiles of the library.
func TestRights(t *testing.T) {
	all, err := library.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range all {
		names = append(names, one.Name)
	}
	if granted := rights(t)[1].ResourceNames; !slices.Equal(granted, names) {
		t.Errorf("the marker in library.go names\n%v, the library has\n%v", granted, names)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
