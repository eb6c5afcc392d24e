package benchmarkrun

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestLiveRunsAreCurrent checks that the list of live runs is at least as current as the API server's. Only runs that
// the cache lacks, or has in an older version or with another UID, are read from the API server.
func TestLiveRunsAreCurrent(t *testing.T) {
	var read []string
	server := offline(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object,
		options ...client.GetOption) error {
		read = append(read, key.Name)
		if key.Name == "deleted" {
			must(t, c.Delete(ctx, &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}))
		}
		return c.Get(ctx, key, into, options...)
	}})
	cache := offline(t, interceptor.Funcs{})
	add := func(to *Reconciler, name, uid, message string, labels map[string]string, updates int) {
		t.Helper()
		run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(uid), Labels: labels}}
		must(t, to.client.Create(t.Context(), run))
		for range updates {
			run.Status.Message = message
			must(t, to.client.Update(t.Context(), run))
		}
	}
	over := map[string]string{v1alpha1.LabelOver: isOver}
	add(server, "current", "1", "listed", nil, 1)
	add(cache, "current", "1", "listed", nil, 1)
	add(server, "newer", "2", "listed", nil, 1)
	add(cache, "newer", "2", "later", nil, 2)
	add(server, "older", "3", "listed", nil, 2)
	add(cache, "older", "3", "earlier", nil, 1)
	add(server, "another", "5", "listed", nil, 1)
	add(cache, "another", "4", "earlier", nil, 3)
	add(server, "unknown", "6", "listed", nil, 1)
	add(server, "deleted", "7", "listed", nil, 1)
	add(server, "over", "8", "listed", over, 1)
	add(server, "over-since", "9", "listed", nil, 1)
	add(cache, "over-since", "9", "later", over, 2)

	live, err := (&Reconciler{client: cache.client, direct: server.client}).liveRunsIn(t.Context(), "n")
	must(t, err)
	var got []string
	for i := range live {
		got = append(got, live[i].Name+" "+string(live[i].UID)+" "+live[i].Status.Message)
	}
	if want := []string{"another 5 listed", "current 1 listed", "newer 2 later", "older 3 listed", "unknown 6 listed"}; !slices.Equal(got, want) {
		t.Errorf("live runs %q, want %q", got, want)
	}
	if want := []string{"another", "deleted", "older", "unknown"}; !slices.Equal(read, want) {
		t.Errorf("read from the API server: %q, want %q", read, want)
	}
}
