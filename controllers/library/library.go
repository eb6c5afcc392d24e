// Package library keeps the profiles of the operator's version in its cluster.
//
// They are applied once by each leader, at its start, server-side and under a field manager of their own. What is whose is
// told by a label and by who has set what:
//
//	there is no such object          it is made, with the label
//	label, spec set by us alone      it becomes what this version has
//	label, somebody has changed it   it is left as it is, and that is said
//	no label                         it is somebody's own profile: left as it is, and that is said
//	label, this version has none     it is left as it is, and that is said: benchmarks may refer to it
//
// So nothing of a user's is ever written over, and nothing is deleted. Who wants ours back deletes theirs and starts the
// operator anew.
//
// An API server asks for the right to create by the name too where something is applied that is not there, so that these
// rights are for the profiles of the library alone. A test holds the names against it.
//
// +kubebuilder:rbac:groups=storagebench.dev,resources=clusterworkloadprofiles,verbs=create;patch,resourceNames=database-log-8k;etcd-wal;file-server;io500-ior-easy;io500-ior-hard;io500-mdtest-easy;io500-mdtest-hard;ior-seq-write-1m;log-append-16k;ml-read-unet3d;oltp-16k;oltp-8k;rand-mixed-4k;rand-read-1m-2g;rand-read-4k;rand-read-4k-o8;rand-read-4k-qd1;rand-write-4k;rand-write-4k-qd1;seq-read-1m;seq-write-1m;seq-write-1m-qd32
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

// FieldManager sets what the library has.
const FieldManager = "storagebench-library"

const (
	// firstRetry and lastRetry bound how long it takes to try again what an API server did not do.
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Applier applies the library.
type Applier struct {
	// Reader asks the API server: what a cache holds lacks who has set what.
	Reader client.Reader
	Writer client.Writer
	Events events.EventRecorder
	// Version of the operator.
	Version string
}

// Start implements manager.Runnable: it applies the library, and again what could not be applied. Only a leader does.
func (a *Applier) Start(ctx context.Context) error {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := a.Apply(ctx)
		if err == nil {
			return nil
		}
		ctrl.LoggerFrom(ctx).Error(err, "Trying again to apply the library of profiles", "in", wait.String())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// Apply makes the profiles in the cluster those of the library, as far as they are ours.
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
			a.keep(ctx, live, "somebody has changed it")
			continue
		}
		failures = errors.Join(failures, err)
	}
	for _, left := range there {
		if ours(left) {
			a.tell(ctx, left, corev1.EventTypeNormal, v1alpha1.EventProfileLeft, "this version of the library has no such profile; "+
				"it is left for the benchmarks that refer to it: delete it when there are none")
		}
	}
	if failures == nil {
		ctrl.LoggerFrom(ctx).Info("The library of profiles is applied", "profiles", len(all), "keptAsTheyAre", kept, "version", a.Version)
	}
	return failures
}

// list gives the profiles of the cluster by their names.
func (a *Applier) list(ctx context.Context) (map[string]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterWorkloadProfileKind + "List"))
	if err := a.Reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the ClusterWorkloadProfiles: %w", err)
	}
	there := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		there[list.Items[i].GetName()] = &list.Items[i]
	}
	return there, nil
}

// apply makes a profile what the library has. One that is that already is not written.
func (a *Applier) apply(ctx context.Context, profile *library.Profile, live *unstructured.Unstructured) error {
	object, err := profile.Object()
	if err != nil {
		return err
	}
	applied, err := json.Marshal(object.Object["spec"])
	if err != nil {
		return fmt.Errorf("write the spec of the profile %s as JSON: %w", profile.Name, err)
	}
	annotations := object.GetAnnotations()
	annotations[v1alpha1.AnnotationLibraryVersion] = a.Version
	annotations[v1alpha1.AnnotationLibraryApplied] = string(applied)
	object.SetAnnotations(annotations)
	object.SetLabels(map[string]string{v1alpha1.LabelLibrary: "true"})
	if live != nil && contains(toAny(live.GetAnnotations()), toAny(annotations)) {
		return nil
	}
	// Without force: what somebody else has set between our look and this is theirs.
	if err := a.Writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(FieldManager)); err != nil {
		return fmt.Errorf("apply the profile %s: %w", profile.Name, err)
	}
	return nil
}

func ours(profile *unstructured.Unstructured) bool {
	return profile.GetLabels()[v1alpha1.LabelLibrary] == "true"
}

// owner tells why a profile that is there is not ours to change; "" where it is, or is not there.
func owner(live *unstructured.Unstructured) string {
	switch {
	case live == nil:
		return ""
	case !ours(live):
		return "it has no label " + v1alpha1.LabelLibrary + ", so that it is somebody's own"
	}
	// What was set beside ours is only known by who has set it: a default of a newer version is nobody's.
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != FieldManager && entry.Subresource == "" && setsSpec(entry.FieldsV1) {
			return entry.Manager + " has changed it"
		}
	}
	// What was taken away is nobody's either.
	var applied any
	if err := json.Unmarshal([]byte(live.GetAnnotations()[v1alpha1.AnnotationLibraryApplied]), &applied); err != nil || !contains(live.Object["spec"], applied) {
		return "somebody has changed it"
	}
	return ""
}

// setsSpec reports whether somebody has set something of the workload. Labels and annotations of others are no change of it.
func setsSpec(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return false
	}
	var top map[string]any
	if err := json.Unmarshal(fields.GetRawBytes(), &top); err != nil {
		return true // what cannot be read may be a change
	}
	_, sets := top["f:spec"]
	return sets
}

// contains reports whether all that is in a part is the same in the whole.
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
	a.tell(ctx, live, corev1.EventTypeWarning, v1alpha1.EventProfileKept, "it is left as it is, and is not what the library of this version has: "+why+
		"; delete it and start the operator anew to have the library's")
}

// tell says something of a profile in its events and in the log.
func (a *Applier) tell(ctx context.Context, profile *unstructured.Unstructured, kind, reason, message string) {
	ctrl.LoggerFrom(ctx).Info("Leaving a profile as it is", "profile", profile.GetName(), "reason", reason, "message", message)
	a.Events.Eventf(profile, nil, kind, reason, "ApplyLibrary", "%s", message)
}
