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
	// patience between two tries to reach an API server that does not answer, at first and at most.
	firstPatience, longestPatience = time.Second, 15 * time.Second
	// watchSeconds is how long one request watches.
	watchSeconds = 300
)

// errDeleted ends the watching of an object that is gone.
var errDeleted = errors.New("it was deleted")

// errDone is how a caller of each ends it.
var errDone = errors.New("done")

// each calls seen with an object as it is and whenever it changes, until that returns an error (errDone is none) or the
// context ends. A run may last for days: an API server that is away for some of that time is waited for.
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
			continue // the request was over
		case apierrors.IsNotFound(err) && met:
			return errDeleted
		case !met || apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err):
			return explained(err)
		}
		_, _ = fmt.Fprintf(problems, "the cluster does not answer (%v); trying again\n", err)
		select {
		case <-time.After(patience):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		patience = min(2*patience, longestPatience)
	}
}

// stopError is an end that the caller wants.
type stopError struct{ error }

// watchOnce is one look at the object and one request that watches it.
func (c *cluster) watchOnce(ctx context.Context, resource schema.GroupVersionResource, name string, seen func(*unstructured.Unstructured) error) error {
	objects := c.client.Resource(resource).Namespace(c.namespace)
	now, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := seen(now); err != nil {
		return stopError{err}
	}
	seconds := int64(watchSeconds)
	changes, err := objects.Watch(ctx, metav1.ListOptions{
		FieldSelector: fieldselector.OneTermEqualSelector("metadata.name", name).String(), ResourceVersion: now.GetResourceVersion(), TimeoutSeconds: &seconds,
	})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for event := range changes.ResultChan() {
		switch event.Type {
		case apiwatch.Added, apiwatch.Modified:
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				if err := seen(object); err != nil {
					return stopError{err}
				}
			}
		case apiwatch.Deleted:
			return stopError{errDeleted}
		case apiwatch.Error:
			return nil // too old a version, mostly: look again
		case apiwatch.Bookmark:
		}
	}
	return nil
}
