package gates

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// ArgoManager is the field manager of Argo CD.
const ArgoManager = "argocd-controller"

// ArgoDiff returns the difference that Argo CD without server-side apply finds between an object and its file; "" means
// Synced. Argo CD first removes from the live object the fields that the last applied file does not have, also in list
// items, and then computes a JSON merge patch from the file.
//
// Argo CD's own library is not imported, because it needs all of k8s.io/kubernetes. The code that computes the
// difference is the same: apimachinery's merge patches here, structured-merge-diff in ArgoApplyDiff.
func ArgoDiff(file, live *unstructured.Unstructured) (string, error) {
	file, live = withoutNamespace(file), withoutCreation(live)
	last := file
	if text := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; text != "" {
		last = &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), last); err != nil {
			return "", fmt.Errorf("read the annotation of the last applied file: %w", err)
		}
		last = withoutNamespace(last)
	}
	documents := make([][]byte, 0, 4)
	for _, object := range []any{last.Object, file.Object, onlyWhatIsIn(last.Object, live.Object), live.Object} {
		encoded, err := json.Marshal(object)
		if err != nil {
			return "", fmt.Errorf("encode: %w", err)
		}
		documents = append(documents, encoded)
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(documents[0], documents[1], documents[2])
	if err != nil {
		return "", fmt.Errorf("compute the patch: %w", err)
	}
	patched, err := jsonpatch.MergePatch(documents[3], patch)
	if err != nil {
		return "", fmt.Errorf("apply the patch: %w", err)
	}
	var predicted map[string]any
	if err := json.Unmarshal(patched, &predicted); err != nil {
		return "", fmt.Errorf("decode the patched object: %w", err)
	}
	return difference(live.Object, predicted)
}

// ArgoApplyDiff returns the difference that Argo CD finds with the sync option ServerSideApply and without server-side
// diff; "" means Synced. It applies the file as an API server does, but with a schema without defaults.
func ArgoApplyDiff(file, live *unstructured.Unstructured, schema *managedfields.GvkParser) (string, error) {
	live = withoutCreation(live)
	kind := schema.Type(file.GroupVersionKind())
	if kind == nil {
		return "", fmt.Errorf("the schema has no %s", file.GroupVersionKind())
	}
	before, err := kind.FromUnstructured(live.Object)
	if err != nil {
		return "", fmt.Errorf("read the live object: %w", err)
	}
	wanted, err := kind.FromUnstructured(file.Object)
	if err != nil {
		return "", fmt.Errorf("read the file: %w", err)
	}
	managers := fieldpath.ManagedFields{}
	for _, entry := range live.GetManagedFields() {
		set := &fieldpath.Set{}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return "", fmt.Errorf("read the fields of %s: %w", entry.Manager, err)
		}
		applied := entry.Operation == metav1.ManagedFieldsOperationApply
		managers[managerKey(entry)] = fieldpath.NewVersionedSet(set, fieldpath.APIVersion(entry.APIVersion), applied)
	}
	updater := (&merge.UpdaterBuilder{Converter: oneVersion{}}).BuildUpdater()
	argo := managerKey(metav1.ManagedFieldsEntry{Manager: ArgoManager, Operation: metav1.ManagedFieldsOperationApply})
	after, _, err := updater.Apply(before, wanted, fieldpath.APIVersion(file.GetAPIVersion()), managers, argo, true)
	if err != nil {
		return "", fmt.Errorf("apply the file: %w", err)
	}
	if after == nil {
		return "", nil
	}
	return difference(live.Object, after.AsValue().Unstructured())
}

// managerKey identifies a manager as an API server does.
func managerKey(entry metav1.ManagedFieldsEntry) string {
	entry.FieldsType, entry.FieldsV1, entry.Time = "", nil, nil
	if entry.Operation == metav1.ManagedFieldsOperationApply {
		entry.APIVersion = ""
	}
	key, err := json.Marshal(entry)
	if err != nil {
		panic(err) // the entry holds only strings
	}
	return string(key)
}

// oneVersion converts between the versions of a kind that has only one.
type oneVersion struct{}

func (oneVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }

// onlyWhatIsIn returns a live value without the fields that the file does not have. Items of lists are matched by
// index.
func onlyWhatIsIn(file, live any) any {
	switch file := file.(type) {
	case map[string]any:
		if live, ok := live.(map[string]any); ok {
			kept := map[string]any{}
			for name, value := range file {
				if found, ok := live[name]; ok {
					kept[name] = onlyWhatIsIn(value, found)
				}
			}
			return kept
		}
	case []any:
		if live, ok := live.([]any); ok {
			kept := make([]any, len(live))
			for i, value := range live {
				kept[i] = value
				if i < len(file) {
					kept[i] = onlyWhatIsIn(file[i], value)
				}
			}
			return kept
		}
	}
	return live
}

func withoutNamespace(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	unstructured.RemoveNestedField(object.Object, "metadata", "namespace")
	return object
}

// withoutCreation returns a live object without its creation timestamp, which Argo CD never compares.
func withoutCreation(live *unstructured.Unstructured) *unstructured.Unstructured {
	live = live.DeepCopy()
	unstructured.RemoveNestedField(live.Object, "metadata", "creationTimestamp")
	return live
}

// difference compares two documents after a round trip through JSON, so that all numbers have one type.
func difference(live, predicted any) (string, error) {
	var documents [2]any
	for i, document := range []any{live, predicted} {
		encoded, err := json.Marshal(document)
		if err != nil {
			return "", fmt.Errorf("encode: %w", err)
		}
		if err := json.Unmarshal(encoded, &documents[i]); err != nil {
			return "", fmt.Errorf("decode: %w", err)
		}
	}
	return cmp.Diff(documents[0], documents[1]), nil
}
