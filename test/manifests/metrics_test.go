package manifests

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/config/render"
)

// folder returns the objects of a directory of config, by kind and name.
func folder(t *testing.T, name string) map[string]*unstructured.Unstructured {
	t.Helper()
	text, err := render.Folder(os.DirFS("../../config"), name, version)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			t.Fatal(err)
		}
		objects[object.GetKind()+" "+object.GetName()] = object
	}
	return objects
}

// read returns an object of a directory. It fails the test if a field is unknown to the API.
func read[T any](t *testing.T, objects map[string]*unstructured.Unstructured, name string) T {
	t.Helper()
	var one T
	found := objects[name]
	if found == nil {
		t.Fatalf("there is no %s", name)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(found.Object, &one, true); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return one
}

// TestMetricsFolder checks that config/metrics adds metrics to config/default and changes nothing else.
func TestMetricsFolder(t *testing.T) {
	plain, with := folder(t, render.Default), folder(t, render.Metrics)
	more := map[string]bool{}
	for name, object := range with {
		if plain[name] == nil {
			more[name] = true
		} else if name != "Deployment "+operatorDeployment && !equalJSON(t, plain[name], object) {
			t.Errorf("%s differs from config/default", name)
		}
		delete(plain, name)
	}
	if len(plain) > 0 {
		t.Errorf("config/metrics lacks %v", plain)
	}
	want := []string{"ClusterRole storagebench-metrics-auth", "ClusterRole storagebench-metrics-reader",
		"ClusterRoleBinding storagebench-metrics-auth", "NetworkPolicy storagebench-operator-metrics", "Service storagebench-operator-metrics"}
	for _, name := range want {
		if !more[name] {
			t.Errorf("config/metrics lacks %s", name)
		}
	}
	if len(more) != len(want) {
		t.Errorf("config/metrics adds %v", more)
	}
}

const operatorDeployment = "storagebench-operator"

func equalJSON(t *testing.T, a, b *unstructured.Unstructured) bool {
	t.Helper()
	left, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	right, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(left, right)
}

// TestMetricsAreProtected checks that reading metrics requires authentication, and that the Service, the policy and the
// container use the same port.
func TestMetricsAreProtected(t *testing.T) {
	objects := folder(t, render.Metrics)
	pod := read[appsv1.Deployment](t, objects, "Deployment "+operatorDeployment).Spec.Template
	container := pod.Spec.Containers[0]
	if !slices.Contains(container.Args, "--metrics-secure") {
		t.Errorf("metrics are not protected: %v", container.Args)
	}
	if len(restricted(t, pod)) > 0 || container.Command == nil || len(container.Env) == 0 {
		t.Errorf("the patch removed something: %+v", container)
	}
	ports := map[string]int32{}
	for _, port := range container.Ports {
		ports[port.Name] = port.ContainerPort
	}
	if ports["metrics"] != 8443 || ports["health"] == 0 || !slices.Contains(container.Args, "--metrics-bind-address=:8443") {
		t.Errorf("ports %v, arguments %v", ports, container.Args)
	}
	service := read[corev1.Service](t, objects, "Service storagebench-operator-metrics")
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) || service.Spec.Ports[0].TargetPort.StrVal != "metrics" {
		t.Errorf("the Service is for %+v", service.Spec)
	}
	open := read[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy storagebench-operator-metrics")
	if !labels.SelectorFromSet(open.Spec.PodSelector.MatchLabels).Matches(labels.Set(pod.Labels)) || len(open.Spec.Ingress) != 1 ||
		len(open.Spec.Ingress[0].Ports) != 1 || open.Spec.Ingress[0].Ports[0].Port.StrVal != "metrics" {
		t.Errorf("the policy opens %+v", open.Spec)
	}
	// The additional permissions are for access reviews only, not for reading.
	role := read[rbacv1.ClusterRole](t, objects, "ClusterRole storagebench-metrics-auth")
	for _, rule := range role.Rules {
		if !slices.Equal(rule.Verbs, []string{"create"}) || len(rule.Resources) != 1 || !strings.HasSuffix(rule.Resources[0], "reviews") {
			t.Errorf("the operator may %v", rule)
		}
	}
	reader := read[rbacv1.ClusterRole](t, objects, "ClusterRole storagebench-metrics-reader")
	if len(reader.Rules) != 1 || !slices.Equal(reader.Rules[0].NonResourceURLs, []string{"/metrics"}) || !slices.Equal(reader.Rules[0].Verbs, []string{"get"}) {
		t.Errorf("a reader may %v", reader.Rules)
	}
}

// TestMonitoringFolder checks that the objects for the Prometheus operator and Grafana match what is installed.
func TestMonitoringFolder(t *testing.T) {
	objects := folder(t, render.Monitoring)
	service := read[corev1.Service](t, objects, "Service storagebench-operator-metrics")
	monitor := read[monitoringv1.ServiceMonitor](t, objects, "ServiceMonitor storagebench-operator")
	if !labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels).Matches(labels.Set(service.Labels)) || monitor.Namespace != service.Namespace ||
		monitor.Spec.Endpoints[0].Port != service.Spec.Ports[0].Name {
		t.Errorf("the ServiceMonitor %+v does not find the Service %+v", monitor.Spec, service)
	}
	if !monitor.Spec.Endpoints[0].HonorLabels {
		t.Error("without honorLabels, metrics would have the operator's namespace")
	}
	if rules := read[monitoringv1.PrometheusRule](t, objects, "PrometheusRule storagebench-operator"); len(rules.Spec.Groups) == 0 || rules.Namespace != namespace {
		t.Errorf("rules %+v", rules)
	}
	boards := read[corev1.ConfigMap](t, objects, "ConfigMap storagebench-dashboards")
	files, err := os.ReadDir("../../config/monitoring/dashboards")
	if err != nil || len(files) == 0 || len(boards.Data) != len(files) || boards.Labels["grafana_dashboard"] != "1" {
		t.Errorf("%d of %d dashboards, labels %v, %v", len(boards.Data), len(files), boards.Labels, err)
	}
	for name, text := range boards.Data {
		if !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON", name)
		}
	}
}
