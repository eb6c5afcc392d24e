// Package library installs the built-in profiles of this operator version in the cluster.
//
// Each leader applies them once, when it starts, by server-side apply with a separate field manager. The label and the
// managed fields determine who owns a profile:
//
//	no such object                        it is created, with the label
//	label, spec set only by the operator  it is updated to this version
//	label, changed by another manager     it is left unchanged, and an event is sent
//	no label                              it is a user's own profile: it is left unchanged, and an event is sent
//	label, not in this version            it is left unchanged, because benchmarks may refer to it, and an event is sent
//
// Values that a user has set are therefore never overwritten, and nothing is deleted. To restore a profile of the
// library, delete the changed profile and restart the operator.
//
// Applying an object that does not exist also requires permission to create an object of that name. The operator has
// this permission only for the names in the library. A test compares the names in the RBAC marker below with the
// library.
//
// +kubebuilder:rbac:groups=storagebench.dev,resources=clusterworkloadprofiles,verbs=create;patch,resourceNames=database-log-8k;etcd-wal;file-server;io500-ior-easy;io500-ior-hard;io500-mdtest-easy;io500-mdtest-hard;ior-seq-write-1m;log-append-16k;ml-read-unet3d;node-modules;oltp-16k;oltp-8k;rand-mixed-4k;rand-read-1m-2g;rand-read-4k;rand-read-4k-o8;rand-read-4k-qd1;rand-write-4k;rand-write-4k-qd1;seq-read-1m;seq-write-1m;seq-write-1m-qd32;source-tree
package library

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/library"
)

// FieldManager is the name of the field manager with which the profiles are applied.
const FieldManager = "storagebench-library"

const (
	// firstRetry is the delay before a failed apply is first retried. The delay doubles with each further failure, up
	// to lastRetry.
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Applier applies the profiles of the library to the cluster.
type Applier struct {
	// Reader reads from the API server, because a cache does not hold managed fields.
	Reader client.Reader
	Writer client.Writer
	Events events.EventRecorder
	// Version is the version of the operator.
	Version string
}

// Start implements manager.Runnable. It applies the library, and retries until all profiles are applied. Only the
// leader runs it.
func (a *Applier) Start(ctx context.Context) error {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := a.Apply(ctx)
		if err == nil {
			return nil
		}
		ctrl.LoggerFrom(ctx).Error(err, "Failed to apply the profile library; retrying", "in", wait.String())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// Apply creates missing profiles of the library, and updates the profiles that the operator owns.
func (a *Applier) Apply(ctx context.Context) error {
	all, err := library.Profiles()
	if err != nil {
		return err
	}
	there, err := a.list(ctx)
	if err != nil {
		return err
	}
	var failures error
	kept := 0
	for i := range all {
		name := all[i].Name
		live := there[name]
		delete(there, name)
		if whose := owner(live); whose != "" {
			kept++
			a.keep(ctx, live, whose)
			continue
		}
		err := a.apply(ctx, &all[i], live)
		if apierrors.IsConflict(err) && live != nil {
			kept++
			a.keep(ctx, live, "the profile was modified")
			continue
		}
		failures = errors.Join(failures, err)
	}
	for _, left := range there {
		if ours(left) {
			a.report(ctx, left, corev1.EventTypeNormal, v1alpha1.EventProfileLeft, "this version of the library no longer has this profile; "+
				"delete it when no benchmark refers to it any more")
		}
	}
	if failures == nil {
		ctrl.LoggerFrom(ctx).Info("Applied the profile library", "profiles", len(all), "unchanged", kept, "version", a.Version)
	}
	return failures
}

// list returns the profiles of the cluster by name.
func (a *Applier) list(ctx context.Context) (map[string]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterWorkloadProfileKind + "List"))
	if err := a.Reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list ClusterWorkloadProfiles: %w", err)
	}
	there := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		there[list.Items[i].GetName()] = &list.Items[i]
	}
	return there, nil
}

// apply updates a profile to match the library. It does not write a profile that is up to date.
func (a *Applier) apply(ctx context.Context, profile *library.Profile, live *unstructured.Unstructured) error {
	object, err := profile.Object()
	if err != nil {
		return err
	}
	applied, err := json.Marshal(object.Object["spec"])
	if err != nil {
		return fmt.Errorf("encode the spec of profile %s: %w", profile.Name, err)
	}
	annotations := object.GetAnnotations()
	annotations[v1alpha1.AnnotationLibraryVersion] = a.Version
	annotations[v1alpha1.AnnotationLibraryApplied] = string(applied)
	object.SetAnnotations(annotations)
	object.SetLabels(map[string]string{v1alpha1.LabelLibrary: "true"})
	if live != nil && contains(toAny(live.GetAnnotations()), toAny(annotations)) {
		return nil
	}
	// Do not force the apply if there are conflicts, because a field that another manager has set since the list was read
	// belongs to that manager.
	if err := a.Writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(FieldManager)); err != nil {
		return fmt.Errorf("apply profile %s: %w", profile.Name, err)
	}
	return nil
}

func ours(profile *unstructured.Unstructured) bool {
	return profile.GetLabels()[v1alpha1.LabelLibrary] == "true"
}

// owner returns the reason why the operator must not change a profile, or "" if the operator may change or create the
// profile.
func owner(live *unstructured.Unstructured) string {
	switch {
	case live == nil:
		return ""
	case !ours(live):
		return "the profile has no label " + v1alpha1.LabelLibrary + ", so it does not belong to the library"
	}
	// Use managedFields to find fields of the spec that others have set. A field without a manager does not count as a
	// change, because it may be a default that a newer version of the API has added.
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != FieldManager && entry.Subresource == "" && setsSpec(entry.FieldsV1) {
			return entry.Manager + " modified it"
		}
	}
	// managedFields does not list removed fields, so check that the spec still contains everything that was applied.
	var applied any
	if err := json.Unmarshal([]byte(live.GetAnnotations()[v1alpha1.AnnotationLibraryApplied]), &applied); err != nil || !contains(live.Object["spec"], applied) {
		return "the profile was modified"
	}
	return ""
}

// setsSpec reports whether the fields include the spec. Labels and annotations that others have set do not count as
// changes to a profile.
func setsSpec(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return false
	}
	var top map[string]any
	if err := json.Unmarshal(fields.GetRawBytes(), &top); err != nil {
		return true // assume a change if the fields cannot be read
	}
	_, sets := top["f:spec"]
	return sets
}

// contains reports whether one decoded JSON object, whole, has every field of another, part, with the same value.
func contains(whole, part any) bool {
	fields, isMap := part.(map[string]any)
	of, both := whole.(map[string]any)
	if !isMap || !both {
		return reflect.DeepEqual(whole, part)
	}
	for name, value := range fields {
		if !contains(of[name], value) {
			return false
		}
	}
	return true
}

func toAny(texts map[string]string) map[string]any {
	made := make(map[string]any, len(texts))
	for name, text := range texts {
		made[name] = text
	}
	return made
}

func (a *Applier) keep(ctx context.Context, live *unstructured.Unstructured, why string) {
	a.report(ctx, live, corev1.EventTypeWarning, v1alpha1.EventProfileKept, "the profile was left unchanged and may differ from this version of the library: "+why+
		"; to use the library's version, delete the profile and restart the operator")
}

// report sends a message about a profile as an event and logs it.
func (a *Applier) report(ctx context.Context, profile *unstructured.Unstructured, kind, reason, message string) {
	ctrl.LoggerFrom(ctx).Info("Leaving profile unchanged", "profile", profile.GetName(), "reason", reason, "message", message)
	a.Events.Eventf(profile, nil, kind, reason, "ApplyLibrary", "%s", v1alpha1.EventNote("%s", message))
}
