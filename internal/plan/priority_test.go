package plan_test

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestPriorityOfClients checks that clients can use neither the operator's PriorityClass nor those of the system.
func TestPriorityOfClients(t *testing.T) {
	tenants := plan.InCluster(plan.Cluster{Namespace: "tenants", PriorityClass: "own-class"})
	system := plan.InCluster(plan.Cluster{Namespace: "kube-system"})
	unknown := plan.InCluster(plan.Cluster{})
	for name, test := range map[string]struct {
		class  string
		option []plan.Option
		want   string
	}{
		"none":                            {"", []plan.Option{system}, ""},
		"one for benchmarks":              {"low", []plan.Option{tenants}, ""},
		"the operator's":                  {"own-class", []plan.Option{tenants}, "it is the operator's PriorityClass"},
		"the operator's, by its default":  {"storagebench-operator", nil, "it is the operator's PriorityClass"},
		"the default, which is another's": {"storagebench-operator", []plan.Option{tenants}, ""},
		"of the cluster":                  {"system-cluster-critical", []plan.Option{tenants}, "in namespace kube-system, but the run is in namespace tenants"},
		"of a node":                       {"system-node-critical", []plan.Option{tenants}, "name a PriorityClass for benchmarks"},
		"of a node, in kube-system":       {"system-node-critical", []plan.Option{system}, ""},
		"in an unknown namespace":         {"system-node-critical", []plan.Option{unknown}, ""},
	} {
		run := builders.Benchmark("b").Target("a").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
			r.Clients.Template = &v1alpha1.PodTemplate{PriorityClassName: test.class}
		}).Run()
		_, problems := plan.Make(run, 1, test.option...)
		switch {
		case len(problems) == 0 && test.want == "":
		case len(problems) == 1 && test.want != "" && problems[0].Field == "spec.run.clients.template.priorityClassName" && strings.Contains(problems[0].Error(), test.want):
		default:
			t.Errorf("%s: %v, want %q", name, problems, test.want)
		}
	}
}
