package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	fieldselector "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

const (
	// The initial and the maximum delay between attempts to reach an API server that does not answer.
	firstPatience, longestPatience = time.Second, 15 * time.Second
	// watchSeconds is the timeout of one watch request.
	watchSeconds = 300
)

// errDeleted is returned if the watched object was deleted.
var errDeleted = errors.New("the object was deleted")

// errDone is returned by the callback of cluster.each to stop watching without an error.
var errDone = errors.New("done")

// each calls seen with the current state of an object and again after every change, until seen returns an error or ctx
// is done. It returns nil if seen returns errDone. If the API server stops answering, each writes a message about the
// outage to problems and keeps trying, because a run may last for days.
func (c *cluster) each(ctx context.Context, resource schema.GroupVersionResource, name string, problems io.Writer, seen func(*unstructured.Unstructured) error) error {
	patience, met := firstPatience, false
	for {
		err := c.watchOnce(ctx, resource, name, func(object *unstructured.Unstructured) error {
			patience, met = firstPatience, true
			return seen(object)
		})
		var stop stopError
		switch {
		case errors.As(err, &stop):
			if errors.Is(stop.error, errDone) {
				return nil
			}
			return stop.error
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			// The watch request ended and is repeated. The pause below prevents a busy loop if a proxy ends each watch at once.
		case apierrors.IsNotFound(err) && met:
			return errDeleted
		case !met || apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err):
			return explained(err)
		}
		if err != nil {
			_, _ = fmt.Fprintf(problems, "the cluster does not answer (%v); trying again\n", err)
		}
		select {
		case <-time.After(patience):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		patience = min(2*patience, longestPatience)
	}
}

// stopError marks an error after which cluster.each must not retry, such as one that its callback returned.
type stopError struct{ error }

// watchOnce reads the object, calls seen with it, and watches it with one request until that request ends. It returns
// errDeleted, wrapped in a stopError, if the object is deleted.
//
// The watch begins before the object is read, so that no change is missed. It does not begin at the object's resource
// version: if other objects of the same kind have changed often, the API server may have discarded the changes since
// that version, and then refuses the watch.
func (c *cluster) watchOnce(ctx context.Context, resource schema.GroupVersionResource, name string, seen func(*unstructured.Unstructured) error) error {
	objects := c.client.Resource(resource).Namespace(c.namespace)
	changes, err := objects.Watch(ctx, metav1.ListOptions{
		FieldSelector:  fieldselector.OneTermEqualSelector("metadata.name", name).String(),
		TimeoutSeconds: new(int64(watchSeconds)),
	})
	if err != nil {
		return err
	}
	defer changes.Stop()
	now, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := seen(now); err != nil {
		return stopError{err}
	}
	for event := range changes.ResultChan() {
		switch event.Type {
		case apiwatch.Modified:
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				if err := seen(object); err != nil {
					return stopError{err}
				}
			}
		case apiwatch.Deleted:
			return stopError{errDeleted}
		case apiwatch.Error:
			return apierrors.FromObject(event.Object)
		case apiwatch.Added, apiwatch.Bookmark: // ignore these events: Get has already returned this state or a newer one
		}
	}
	return nil
}
