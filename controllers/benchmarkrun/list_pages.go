package benchmarkrun

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is the page size of lists.
const pageSize = 500

// eachPage lists objects page by page, bypassing the cache, and calls show for each page. empty is a list without
// objects. The API server expires a continue token after some minutes (410 Gone); the list then restarts. begin is
// called at each start, to drop what earlier pages have shown; it may be nil.
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
