package manifests

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestNoRuleIsWiderThanItSays checks that no rule has wildcards or dangerous verbs and resources, which careful
// administrators do not install. A wildcard also grants what does not exist yet.
func TestNoRuleIsWiderThanItSays(t *testing.T) {
	everywhere, own := operatorRules(t)
	rules := slices.Concat(everywhere, own)
	for _, role := range typed[rbacv1.ClusterRole](t, "ClusterRole") {
		rules = append(rules, role.Rules...)
	}
	for _, rule := range rules {
		for _, word := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames, rule.NonResourceURLs) {
			if strings.Contains(word, "*") {
				t.Errorf("a wildcard: %v", rule)
			}
		}
		for _, verb := range []string{"escalate", "bind", "impersonate", "approve", "sign", "attest"} {
			if slices.Contains(rule.Verbs, verb) {
				t.Errorf("%s: %v", verb, rule)
			}
		}
		for _, resource := range []string{"pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "pods/ephemeralcontainers",
			"pods/eviction", "pods/binding", "nodes/proxy", "services/proxy", "serviceaccounts", "serviceaccounts/token"} {
			if slices.Contains(rule.Resources, resource) {
				t.Errorf("%s: %v", resource, rule)
			}
		}
		for _, group := range []string{"rbac.authorization.k8s.io", "authentication.k8s.io", "certificates.k8s.io",
			"admissionregistration.k8s.io", "apiextensions.k8s.io"} {
			if slices.Contains(rule.APIGroups, group) {
				t.Errorf("%s: %v", group, rule)
			}
		}
	}
}

// verbsOn returns the verbs that rules allow on a resource, for all or for certain names.
func verbsOn(rules []rbacv1.PolicyRule, group, resource string) []string {
	var verbs []string
	for _, rule := range rules {
		if slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) {
			verbs = append(verbs, rule.Verbs...)
		}
	}
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

func sorted(words ...string) []string {
	slices.Sort(words)
	return words
}

// TestTheOperatorsReach limits what a compromised operator could do to the cluster. The list is written by hand, so
// that widening it is a deliberate act. Whatever it does not list must not be granted.
func TestTheOperatorsReach(t *testing.T) {
	everywhere, _ := operatorRules(t)
	allowed := map[[2]string][]string{
		{"", "pods"}:                                       sorted("get", "list", "watch", "create", "delete"),
		{"", "secrets"}:                                    {"create"}, // the garbage collector removes them with their run
		{"", "persistentvolumeclaims"}:                     sorted("get", "list", "watch", "create", "delete"),
		{"", "persistentvolumes"}:                          sorted("get", "list"), // the storage behind a claim, and its other users
		{"", "configmaps"}:                                 {"create"},            // the series of a step; deleted with their run
		{"", "nodes"}:                                      {"get"},               // the instance types of the clients
		{"storage.k8s.io", "storageclasses"}:               {"get"},
		{"storage.k8s.io", "volumeattributesclasses"}:      {"get"},
		{"storage.k8s.io", "csidrivers"}:                   {"get"},  // the version of a driver, by its labels
		{"", "events"}:                                     {"list"}, // why a pod does not start
		{"events.k8s.io", "events"}:                        sorted("create", "patch"),
		{"networking.k8s.io", "networkpolicies"}:           sorted("get", "create", "delete"),
		{v1alpha1.Group, "storagebenchmarks"}:              sorted("get", "list", "watch"),
		{v1alpha1.Group, "storagebenchmarks/status"}:       {"patch"},
		{v1alpha1.Group, "storagebenchmarks/finalizers"}:   {"update"},
		{v1alpha1.Group, "benchmarkruns"}:                  sorted("get", "list", "watch", "create", "patch", "delete"),
		{v1alpha1.Group, "benchmarkruns/status"}:           {"patch"},
		{v1alpha1.Group, "benchmarkruns/finalizers"}:       {"update"},
		{v1alpha1.Group, "workloadprofiles"}:               sorted("list", "watch"),
		{v1alpha1.Group, "workloadprofiles/status"}:        {"patch"},
		{v1alpha1.Group, "clusterworkloadprofiles"}:        sorted("list", "watch"),
		{v1alpha1.Group, "clusterworkloadprofiles/status"}: {"patch"},
	}
	for _, rule := range everywhere {
		if len(rule.NonResourceURLs) > 0 {
			t.Errorf("addresses beside the API: %v", rule)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				most, known := allowed[[2]string{group, resource}]
				if !known {
					t.Errorf("%q of group %q is not on the list: %v", resource, group, rule)
					continue
				}
				if resource == "clusterworkloadprofiles" && len(rule.ResourceNames) > 0 {
					most = []string{"create", "patch"} // those of the library, by their names
				}
				for _, verb := range rule.Verbs {
					if !slices.Contains(most, verb) {
						t.Errorf("%s %s is more than %v", verb, resource, most)
					}
				}
			}
		}
	}
}

func TestInItsOwnNamespaceItReadsOneSecretAndOneConfigMap(t *testing.T) {
	_, own := operatorRules(t)
	for _, rule := range own {
		for _, verb := range rule.Verbs {
			// A permission to create cannot be limited to a name.
			if verb != "create" && len(rule.ResourceNames) == 0 {
				t.Errorf("%s of any name: %v", verb, rule)
			}
		}
		if slices.Contains(rule.ResourceNames, "storagebench-master") && !slices.Equal(rule.Verbs, []string{"get"}) {
			t.Errorf("the master key may be touched: %v", rule)
		}
	}
	if got := verbsOn(own, "", "secrets"); !slices.Equal(got, []string{"create", "get"}) {
		t.Errorf("Secrets: %v", got)
	}
	if got := verbsOn(own, "coordination.k8s.io", "leases"); !slices.Equal(got, []string{"create", "get", "update"}) {
		t.Errorf("Leases: %v", got)
	}
	if got := verbsOn(own, "", "configmaps"); !slices.Equal(got, []string{"get"}) {
		t.Errorf("ConfigMaps: %v", got)
	}
	if len(own) != 5 {
		t.Errorf("the Role has grown: %v", own)
	}
}

const aggregate = "rbac.authorization.k8s.io/aggregate-to-"

// TestOnlyEditorsAskForBenchmarks checks that editors, but not viewers, may create StorageBenchmarks: creating one
// creates pods, so users who may not create pods may not create one.
func TestOnlyEditorsAskForBenchmarks(t *testing.T) {
	var view, edit []rbacv1.PolicyRule
	for _, role := range typed[rbacv1.ClusterRole](t, "ClusterRole") {
		for label, value := range role.Labels {
			to, aggregated := strings.CutPrefix(label, aggregate)
			switch {
			case !aggregated:
			case value != "true":
				t.Errorf("%s: %s=%s", role.Name, label, value)
			case to == "view":
				view = append(view, role.Rules...)
			case to == "edit":
				edit = append(edit, role.Rules...)
			case to != "admin":
				t.Errorf("%s is added to the role %q", role.Name, to)
			}
			if aggregated && role.Name == name {
				t.Errorf("users get the operator's rights by %s", label)
			}
		}
	}
	kinds := []string{"storagebenchmarks", "benchmarkruns", "workloadprofiles", "clusterworkloadprofiles"}
	for _, kind := range kinds {
		if got := verbsOn(view, v1alpha1.Group, kind); !slices.Equal(got, []string{"get", "list", "watch"}) {
			t.Errorf("viewers of %s may %v", kind, got)
		}
	}
	for _, kind := range []string{"storagebenchmarks", "workloadprofiles"} {
		if got := verbsOn(edit, v1alpha1.Group, kind); !slices.Contains(got, "create") || !slices.Contains(got, "patch") || !slices.Contains(got, "get") {
			t.Errorf("editors of %s may only %v", kind, got)
		}
	}
	// A run is a record, and the profiles of the cluster are shared by all namespaces.
	for _, kind := range []string{"benchmarkruns", "clusterworkloadprofiles"} {
		for _, verb := range []string{"create", "update", "patch"} {
			if slices.Contains(verbsOn(edit, v1alpha1.Group, kind), verb) {
				t.Errorf("editors may %s %s", verb, kind)
			}
		}
	}
	for _, rule := range slices.Concat(view, edit) {
		for _, resource := range rule.Resources {
			if strings.Contains(resource, "/") || !slices.Contains(kinds, resource) {
				t.Errorf("users get a right on %s", resource)
			}
		}
	}
}
