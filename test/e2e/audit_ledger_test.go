package e2e

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// TestLedger checks that the ledger reports each right that no request used and each request that was refused. It needs
// no cluster.
func TestLedger(t *testing.T) {
	t.Parallel()
	granted := slices.Concat(
		rightsOf("wide", "", []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "delete"}},
			{APIGroups: []string{"storagebench.dev"}, Resources: []string{"benchmarkruns/status"}, Verbs: []string{"patch"}},
			{APIGroups: []string{"storagebench.dev"}, Resources: []string{"benchmarkruns/finalizers"}, Verbs: []string{"update"}},
			{APIGroups: []string{"apps"}, Resources: []string{"pods"}, Verbs: []string{"get"}},
		}),
		rightsOf("own", "system", []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"master", "other"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		}))
	if len(granted) != 8 {
		t.Fatalf("%d rights: %v", len(granted), granted)
	}
	event := func(said, verb, namespace, group, resource, sub, name string) *auditv1.Event {
		return &auditv1.Event{Verb: verb, RequestURI: "/" + resource, Annotations: map[string]string{"authorization.k8s.io/decision": said},
			ObjectRef: &auditv1.ObjectReference{Namespace: namespace, APIGroup: group, Resource: resource, Subresource: sub, Name: name}}
	}
	l := newLedger(granted)
	for _, one := range []*auditv1.Event{
		event("allow", "get", "anywhere", "", "pods", "", "a"),
		event("allow", "delete", "anywhere", "", "pods", "eviction", "a"),                 // only a subresource
		event("allow", "patch", "anywhere", "storagebench.dev", "benchmarkruns", "", "a"), // not the status subresource
		event("allow", "get", "system", "", "secrets", "", "master"),                      // one of two names
		event("allow", "create", "elsewhere", "", "secrets", "", ""),                      // in another namespace
		event("forbid", "list", "elsewhere", "", "secrets", "", ""),                       // refused
		{Verb: "get", RequestURI: "/readyz", Annotations: map[string]string{"authorization.k8s.io/decision": "allow"}},
	} {
		l.see(one)
	}
	want := []string{
		"a right that was never used: create secrets (own)",
		"a right that was never used: delete pods (wide)",
		"a right that was never used: get pods.apps (wide)",
		"a right that was never used: get secrets other (own)",
		"a right that was never used: patch benchmarkruns/status.storagebench.dev (wide)",
		"refused 1 times, for want of a right: list /secrets",
	}
	if got := l.problems(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	l.see(event("allow", "create", "system", "", "secrets", "", ""))
	if slices.Contains(l.problems(), want[0]) {
		t.Error("a namespaced right that was used in its namespace is reported as unused")
	}
}

// TestUsesOfSittings checks that a recorded use of an earlier sitting counts if it is recent enough, and that the
// record keeps only granted rights. It needs no cluster.
func TestUsesOfSittings(t *testing.T) {
	t.Parallel()
	granted := rightsOf("role", "", []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "delete", "watch"}}})
	hour := func(hours int) time.Time { return time.Date(2026, 11, 28, hours, 0, 0, 0, time.UTC) }
	l := newLedger(granted)
	use := func(verb string, at time.Time) {
		l.see(&auditv1.Event{Verb: verb, StageTimestamp: metav1.NewMicroTime(at.Add(time.Millisecond)),
			Annotations: map[string]string{"authorization.k8s.io/decision": "allow"},
			ObjectRef:   &auditv1.ObjectReference{Namespace: "n", Resource: "pods"}})
	}
	use("get", hour(9))
	use("get", hour(8))
	file := filepath.Join(t.TempDir(), "rights.csv")
	recorded, err := readUses(file)
	must(t, err)
	if recorded != nil {
		t.Fatalf("without a file there is %v", recorded)
	}
	must(t, writeUses(file, map[string]time.Time{"get pods (role)": hour(7), "list pods (role)": hour(6), "delete pods (role)": hour(3), "get pods (gone)": hour(8)}))
	recorded, err = readUses(file)
	must(t, err)
	merged := l.merge(recorded, hour(5))
	want := map[string]time.Time{"get pods (role)": hour(9), "list pods (role)": hour(6), "delete pods (role)": hour(3)}
	if !maps.Equal(merged, want) {
		t.Errorf("the record is %v, want %v", merged, want)
	}
	if got, want := l.problems(), []string{"a right that was never used: delete pods (role)", "a right that was never used: watch pods (role)"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
