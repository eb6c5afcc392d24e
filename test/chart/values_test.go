package chart

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// change is a value of the chart and its whole effect.
type change struct {
	// set is the value in the syntax of `--set-json`. with lists the values without which it has no effect.
	set  string
	with []string
	// want maps each place that changes, as "Kind name path", to a part of its new content, or the "Kind name" of an
	// object to "there" or "gone".
	want map[string]string
}

const (
	deployment = "Deployment storagebench-operator"
	podSpec    = deployment + " spec.template.spec."
	container  = podSpec + "containers[0]."
	arguments  = container + "args"
)

var digest = "sha256:" + strings.Repeat("0123456789abcdef", 4)

// prometheusAt sets the address of Prometheus, without which no other value of observations has an effect.
var prometheusAt = []string{`observations.prometheusURL="http://prom"`}

// changes holds every value of values.yaml by its path, except those in inAll.
var changes = map[string]change{
	"image.registry": {`image.registry="registry.example/mirror/"`, nil, map[string]string{
		container + "image": "registry.example/mirror/operator:dev", arguments: "--agent-image=registry.example/mirror/operator:dev"}},
	"image.tag": {`image.tag="v9"`, []string{`image.operator.digest="` + digest + `"`}, map[string]string{
		container + "image": "storagebench.invalid/operator:v9", arguments: "--ior-image=storagebench.invalid/ior:v9"}},
	"image.pullPolicy": {`image.pullPolicy="Always"`, nil, map[string]string{container + "imagePullPolicy": "Always"}},
	"image.pullSecrets": {`image.pullSecrets=["pull-a"]`, nil,
		map[string]string{podSpec + "imagePullSecrets": "pull-a"}},
	"image.clientPullSecrets": {`image.clientPullSecrets=[{"name":"mirror","registry":"registry.example/mirror"},{"name":"all"}]`, nil,
		map[string]string{arguments: "--client-pull-secrets=registry.example/mirror=mirror --client-pull-secrets=all"}},
	"image.operator.reference": {`image.operator.reference="own/operator:1"`, nil,
		map[string]string{container + "image": "own/operator:1", arguments: "--agent-image=own/operator:1"}},
	"image.fio.reference": {`image.fio.reference="own/fio:1"`, nil, map[string]string{arguments: "--fio-image=own/fio:1"}},
	"image.operator.digest": {`image.operator.digest="` + digest + `"`, nil, map[string]string{
		container + "image": "storagebench.invalid/operator:dev@" + digest, arguments: "--agent-image=storagebench.invalid/operator:dev@" + digest}},
	"image.fio.digest":    {`image.fio.digest="` + digest + `"`, nil, map[string]string{arguments: "--fio-image=storagebench.invalid/fio:dev@" + digest}},
	"image.ior.digest":    {`image.ior.digest="` + digest + `"`, nil, map[string]string{arguments: "--ior-image=storagebench.invalid/ior:dev@" + digest}},
	"image.ior.reference": {`image.ior.reference="own/ior:1"`, nil, map[string]string{arguments: "--ior-image=own/ior:1"}},
	"admissionPolicy.enabled": {`admissionPolicy.enabled=false`, nil, map[string]string{
		"ValidatingAdmissionPolicy storagebench-operator-pods": "gone", "ValidatingAdmissionPolicyBinding storagebench-operator-pods": "gone",
		"ValidatingAdmissionPolicy storagebench-operator-objects": "gone", "ValidatingAdmissionPolicyBinding storagebench-operator-objects": "gone"}},
	"kueue.enabled": {`kueue.enabled=true`, nil, map[string]string{"ClusterRole storagebench-operator rules": "resources:[pods] verbs:[patch]"}},
	"profileLibrary.enabled": {`profileLibrary.enabled=false`, nil, map[string]string{
		arguments: "--profile-library=false", "ClusterRole storagebench-operator rules": "storagebenchmarks/status"}},
	"watch.clusterReads": {`watch.clusterReads=false`, []string{`watch.namespaces=["a"]`}, map[string]string{
		"ClusterRole storagebench-operator-cluster-reads": "gone", "ClusterRoleBinding storagebench-operator-cluster-reads": "gone"}},
	"watch.namespaces": {`watch.namespaces=["a","b"]`, nil, map[string]string{
		arguments: "--namespaces=a,b", "Role storagebench-operator rules": "events.k8s.io",
		"ClusterRole storagebench-operator": "gone", "ClusterRoleBinding storagebench-operator": "gone",
		"ClusterRole storagebench-operator-cluster-reads": "there", "ClusterRoleBinding storagebench-operator-cluster-reads": "there",
		"Role storagebench-operator-runs of a": "there", "RoleBinding storagebench-operator-runs of a": "there",
		"Role storagebench-operator-runs of b": "there", "RoleBinding storagebench-operator-runs of b": "there"}},
	"operator.replicas": {`operator.replicas=3`, nil, map[string]string{
		deployment + " spec.replicas": "3", "PodDisruptionBudget storagebench-operator": "there"}},
	"operator.logLevel":     {`operator.logLevel="debug"`, nil, map[string]string{arguments: "--log-level=debug"}},
	"operator.sharedQueues": {`operator.sharedQueues=["nights","days"]`, nil, map[string]string{arguments: "--shared-queues=nights,days"}},
	"operator.limitsConfigMap": {`operator.limitsConfigMap="own-limits"`, nil,
		map[string]string{arguments: "--limits-config-map=own-limits", "Role storagebench-operator rules": "own-limits"}},
	"operator.clientLabels": {`operator.clientLabels={"team":"a","example.com/cost":"7"}`, nil,
		map[string]string{arguments: "--client-labels=example.com/cost=7 --client-labels=team=a"}},
	"operator.lossTimeout":               {`operator.lossTimeout="2m30s"`, nil, map[string]string{arguments: "--loss-timeout=2m30s"}},
	"operator.parallelRuns":              {`operator.parallelRuns=3`, nil, map[string]string{arguments: "--parallel-runs=3"}},
	"operator.maxClients":                {`operator.maxClients=3`, nil, map[string]string{arguments: "--max-clients=3"}},
	"operator.maxClientsPerNamespace":    {`operator.maxClientsPerNamespace=3`, nil, map[string]string{arguments: "--max-clients-per-namespace=3"}},
	"operator.extraArgs":                 {`operator.extraArgs=["--kubeconfig=/x"]`, nil, map[string]string{arguments: "--kubeconfig=/x"}},
	"operator.resources.limits.memory":   {`operator.resources.limits.memory="777Mi"`, nil, map[string]string{container + "resources.limits.memory": "777Mi"}},
	"operator.resources.requests.cpu":    {`operator.resources.requests.cpu="1"`, nil, map[string]string{container + "resources.requests.cpu": "1"}},
	"operator.resources.requests.memory": {`operator.resources.requests.memory="1Gi"`, nil, map[string]string{container + "resources.requests.memory": "1Gi"}},
	"operator.goMemoryLimit":             {`operator.goMemoryLimit="700MiB"`, nil, map[string]string{container + "env": "700MiB"}},
	"operator.nodeSelector":              {`operator.nodeSelector={"pool":"infra"}`, nil, map[string]string{podSpec + "nodeSelector": "pool:infra"}},
	"operator.tolerations":               {`operator.tolerations=[{"key":"infra-only","operator":"Exists"}]`, nil, map[string]string{podSpec + "tolerations": "infra-only"}},
	"operator.affinity": {`operator.affinity={"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"rack"}]}}`, nil,
		map[string]string{podSpec + "affinity": "rack"}},
	"operator.topologySpreadConstraints": {`operator.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"rack","whenUnsatisfiable":"DoNotSchedule"}]`, nil,
		map[string]string{podSpec + "topologySpreadConstraints": "rack"}},
	"operator.podLabels":      {`operator.podLabels={"team":"storage"}`, nil, map[string]string{deployment + " spec.template.metadata.labels.team": "storage"}},
	"operator.podAnnotations": {`operator.podAnnotations={"note":"here"}`, nil, map[string]string{deployment + " spec.template.metadata.annotations.note": "here"}},
	"operator.runAsUser":      {`operator.runAsUser=4711`, nil, map[string]string{podSpec + "securityContext.runAsUser": "4711"}},
	"operator.runAsGroup":     {`operator.runAsGroup=null`, nil, map[string]string{podSpec + "securityContext.runAsGroup": ""}},
	"operator.podSecurityContext": {`operator.podSecurityContext={"fsGroup":7,"seccompProfile":{"type":"Localhost","localhostProfile":"own"}}`, nil, map[string]string{
		podSpec + "securityContext.fsGroup": "7", podSpec + "securityContext.seccompProfile.type": "Localhost",
		podSpec + "securityContext.seccompProfile.localhostProfile": "own"}},
	"operator.containerSecurityContext":      {`operator.containerSecurityContext={"runAsUser":8}`, nil, map[string]string{container + "securityContext.runAsUser": "8"}},
	"operator.terminationGracePeriodSeconds": {`operator.terminationGracePeriodSeconds=47`, nil, map[string]string{podSpec + "terminationGracePeriodSeconds": "47"}},
	"observations.prometheusURL": {`observations.prometheusURL="https://prom.example/p"`, nil,
		map[string]string{arguments: "--prometheus-url=https://prom.example/p --prometheus-interval=15s"}},
	"observations.interval": {`observations.interval="1m"`, prometheusAt, map[string]string{arguments: "--prometheus-interval=1m"}},
	"observations.namespaceParameter": {`observations.namespaceParameter="ns"`, prometheusAt,
		map[string]string{arguments: "--prometheus-namespace-parameter=ns"}},
	"observations.tokenSecret": {`observations.tokenSecret="own-token"`, prometheusAt, map[string]string{
		arguments: "--prometheus-token-file=/etc/storagebench/prometheus-token/token", container + "volumeMounts": "/etc/storagebench/prometheus-token",
		podSpec + "volumes": "secretName:own-token"}},
	"observations.caConfigMap": {`observations.caConfigMap="own-ca"`, prometheusAt, map[string]string{
		arguments: "--prometheus-ca-file=/etc/storagebench/prometheus-ca/ca.crt", container + "volumeMounts": "/etc/storagebench/prometheus-ca",
		podSpec + "volumes": "name:own-ca"}},
	"serviceAccount.annotations": {`serviceAccount.annotations={"identity":"role-x"}`, nil,
		map[string]string{"ServiceAccount storagebench-operator metadata.annotations": "identity:role-x"}},
	"rbac.aggregateToDefaultRoles": {`rbac.aggregateToDefaultRoles=false`, nil, map[string]string{
		"ClusterRole storagebench-view metadata.labels.rbac.authorization.k8s.io/aggregate-to-view":  "",
		"ClusterRole storagebench-view metadata.labels.rbac.authorization.k8s.io/aggregate-to-edit":  "",
		"ClusterRole storagebench-view metadata.labels.rbac.authorization.k8s.io/aggregate-to-admin": "",
		"ClusterRole storagebench-edit metadata.labels.rbac.authorization.k8s.io/aggregate-to-edit":  "",
		"ClusterRole storagebench-edit metadata.labels.rbac.authorization.k8s.io/aggregate-to-admin": ""}},
	"priorityClass.create": {`priorityClass.create=false`, nil, map[string]string{"PriorityClass storagebench-operator": "gone"}},
	"priorityClass.name": {`priorityClass.name="own-class"`, nil, map[string]string{
		podSpec + "priorityClassName": "own-class", arguments: "--priority-class=own-class", "PriorityClass storagebench-operator": "gone", "PriorityClass own-class": "there"}},
	"priorityClass.value": {`priorityClass.value=12345`, nil, map[string]string{"PriorityClass storagebench-operator value": "12345"}},
	"networkPolicy.enabled": {`networkPolicy.enabled=false`, nil, map[string]string{
		"NetworkPolicy storagebench-operator": "gone", "NetworkPolicy storagebench-operator-metrics": "gone"}},
	"networkPolicy.metricsFrom": {`networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"watch":"tower"}}}]`, nil,
		map[string]string{"NetworkPolicy storagebench-operator-metrics spec.ingress[0].from": "watch:tower"}},
	"podDisruptionBudget.enabled": {`podDisruptionBudget.enabled=false`, []string{`operator.replicas=2`}, map[string]string{"PodDisruptionBudget storagebench-operator": "gone"}},
	"metrics.enabled": {`metrics.enabled=false`, nil, map[string]string{
		arguments: "--parallel-runs=8", container + "ports": "health", "Service storagebench-operator-metrics": "gone", "NetworkPolicy storagebench-operator-metrics": "gone",
		"ClusterRole storagebench-metrics-auth": "gone", "ClusterRoleBinding storagebench-metrics-auth": "gone", "ClusterRole storagebench-metrics-reader": "gone"}},
	"metrics.port": {`metrics.port=9443`, nil, map[string]string{
		arguments: "--metrics-bind-address=:9443", container + "ports[1].containerPort": "9443", "Service storagebench-operator-metrics spec.ports[0].port": "9443"}},
	"metrics.serviceMonitor.enabled": {`metrics.serviceMonitor.enabled=true`, nil, map[string]string{"ServiceMonitor storagebench-operator": "there"}},
	"metrics.serviceMonitor.labels": {`metrics.serviceMonitor.labels={"release":"prom"}`, []string{`metrics.serviceMonitor.enabled=true`},
		map[string]string{"ServiceMonitor storagebench-operator metadata.labels.release": "prom"}},
	"metrics.prometheusRule.enabled": {`metrics.prometheusRule.enabled=true`, nil, map[string]string{"PrometheusRule storagebench-operator": "there"}},
	"metrics.prometheusRule.labels": {`metrics.prometheusRule.labels={"release":"prom"}`, []string{`metrics.prometheusRule.enabled=true`},
		map[string]string{"PrometheusRule storagebench-operator metadata.labels.release": "prom"}},
	"metrics.dashboards.enabled": {`metrics.dashboards.enabled=true`, nil, map[string]string{"ConfigMap storagebench-dashboards": "there"}},
	"metrics.dashboards.labels.grafana_dashboard": {`metrics.dashboards.labels.grafana_dashboard="yes"`, []string{`metrics.dashboards.enabled=true`},
		map[string]string{"ConfigMap storagebench-dashboards metadata.labels.grafana_dashboard": "yes"}},
}

// inAll lists the values that change every object. TestCommonLabels tests them.
var inAll = []string{"commonLabels"}

// TestEachValue requires that each value changes the places that changes lists for it, and nothing else.
func TestEachValue(t *testing.T) {
	t.Parallel()
	var values map[string]any
	read(t, "values.yaml", &values)
	known := slices.Concat(slices.Collect(maps.Keys(changes)), inAll)
	for _, path := range leaves("", values) {
		if !slices.Contains(known, path) {
			t.Errorf("no test covers the effect of %s", path)
		}
	}
	plain := map[string]map[string]*unstructured.Unstructured{}
	for path, one := range changes {
		if !slices.Contains(leaves("", values), path) {
			t.Errorf("%s is tested, but is not in values.yaml", path)
			continue
		}
		with := strings.Join(one.with, ";")
		if plain[with] == nil {
			plain[with] = made(t, one.with...)
		}
		before := plain[with]
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			one.check(t, before, made(t, append(slices.Clone(one.with), one.set)...))
		})
	}
}

func (c change) check(t *testing.T, before, after map[string]*unstructured.Unstructured) {
	t.Helper()
	got := map[string]string{}
	for name, object := range after {
		if before[name] == nil {
			got[name] = "there"
			continue
		}
		differences(got, name+" ", before[name].Object, object.Object)
	}
	for name := range before {
		if after[name] == nil {
			got[name] = "gone"
		}
	}
	for place, part := range c.want {
		if text, is := got[place]; !is || !strings.Contains(text, part) {
			t.Errorf("%s: want %q, got %q", place, part, text)
		}
		delete(got, place)
	}
	for place, text := range got {
		t.Errorf("%s has changed unexpectedly: %s", place, text)
	}
}

func TestCommonLabels(t *testing.T) {
	t.Parallel()
	before, after := made(t, everything...), made(t, append(slices.Clone(everything), `commonLabels={"cost":"center-7"}`)...)
	for name, object := range after {
		if object.GetKind() == "CustomResourceDefinition" {
			continue
		}
		if object.GetLabels()["cost"] != "center-7" {
			t.Errorf("%s has the labels %v", name, object.GetLabels())
		}
		got := map[string]string{}
		differences(got, "", before[name].Object, object.Object)
		for place := range got {
			if place != "metadata.labels.cost" && place != "spec.template.metadata.labels.cost" {
				t.Errorf("%s: %s has changed unexpectedly", name, place)
			}
		}
	}
}

// made returns the chart's objects by kind and name, and by namespace if it is not the release's.
func made(t *testing.T, values ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for _, object := range list(t, values...) {
		name := object.GetKind() + " " + object.GetName()
		if space := object.GetNamespace(); space != "" && space != namespace {
			name += " of " + space
		}
		if all[name] != nil {
			t.Errorf("duplicate object: %s", name)
		}
		all[name] = object
	}
	return all
}

// differences adds the places where two objects differ to into, with the content of the second object.
func differences(into map[string]string, path string, before, after any) {
	a, isMap := before.(map[string]any)
	b, both := after.(map[string]any)
	if isMap && both {
		for _, key := range slices.Sorted(maps.Keys(a)) {
			differences(into, join(path, key), a[key], b[key])
		}
		for key := range b {
			if _, is := a[key]; !is {
				differences(into, join(path, key), nil, b[key])
			}
		}
		return
	}
	first, isList := before.([]any)
	second, both := after.([]any)
	if isList && both && len(first) == len(second) && len(first) > 0 {
		if _, objects := first[0].(map[string]any); objects && !strings.HasSuffix(path, ".env") && !strings.HasSuffix(path, " rules") {
			for i := range first {
				differences(into, fmt.Sprintf("%s[%d]", path, i), first[i], second[i])
			}
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		into[path] = strings.TrimSuffix(fmt.Sprint(after), "<nil>")
	}
}

func join(path, key string) string {
	if path == "" || strings.HasSuffix(path, " ") {
		return path + key
	}
	return path + "." + key
}

// leaves returns the paths of the values that contain no other values.
func leaves(path string, value any) []string {
	inside, is := value.(map[string]any)
	if !is || len(inside) == 0 {
		return []string{path}
	}
	var all []string
	for key, one := range inside {
		all = append(all, leaves(join(path, key), one)...)
	}
	return all
}

// TestValuesThatLookLikeAnotherType checks that a large number is not written with an exponent, and that a memory limit
// without a unit stays a string.
func TestValuesThatLookLikeAnotherType(t *testing.T) {
	object := made(t, `operator.maxClients=1000000`, `operator.maxClientsPerNamespace=2000000`, `operator.goMemoryLimit="943718400"`)["Deployment storagebench-operator"]
	if object == nil {
		t.Fatal("there is no Deployment")
	}
	var made appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &made); err != nil {
		t.Fatal(err)
	}
	container := made.Spec.Template.Spec.Containers[0]
	for _, want := range []string{"--max-clients=1000000", "--max-clients-per-namespace=2000000"} {
		if !slices.Contains(container.Args, want) {
			t.Errorf("%s is not in %q", want, container.Args)
		}
	}
	if !slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" && e.Value == "943718400" }) {
		t.Errorf("the environment is %v", container.Env)
	}
}
