package benchmarkrun

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// pageSize limits how many objects one list request returns.
const pageSize = 500

// eachPage lists objects page by page, bypassing the cache, and passes each page to the function show. The parameter
// empty is an empty list of the objects' kind. If the API server expires the continue token (410 Gone, after a few
// minutes), eachPage starts over. At each start, it calls the function begin, which discards what show has collected
// from earlier pages. begin may be nil.
func eachPage[L client.ObjectList](
	ctx context.Context, reader client.Reader, empty L, begin func(), show func(L), options ...client.ListOption,
) error {
	for next := ""; ; {
		if next == "" && begin != nil {
			begin()
		}
		page := empty.DeepCopyObject().(L)
		err := reader.List(ctx, page, slices.Concat(options, []client.ListOption{client.Limit(pageSize), client.Continue(next)})...)
		if next != "" && apierrors.IsResourceExpired(err) {
			next = ""
			continue
		}
		if err != nil {
			return err
		}
		show(page)
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

// metadataList returns an empty list for reading only the metadata of storagebench objects. kind is the kind of the
// list, such as BenchmarkRunList.
func metadataList(kind string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	return list
}
