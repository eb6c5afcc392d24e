package chart

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/test/binaries"
)

const (
	root      = "../.."
	folder    = root + "/charts/storagebench"
	namespace = "storagebench-system"
)

var helmPath = sync.OnceValues(func() (string, error) { return binaries.Tool("helm") })

// helm runs helm without the user's configuration, cache and kubeconfig.
func helm(t *testing.T, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	program, err := helmPath()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, arguments...)
	home := t.TempDir()
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "KUBECONFIG="+home+"/none")
	var out, problem bytes.Buffer
	command.Stdout, command.Stderr = &out, &problem
	err = command.Run()
	return out.String(), problem.String(), err
}

// objects returns the chart's objects with the given values, by kind and name, except the objects of `helm test`.
func objects(t *testing.T, values ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	return parse(t, []byte(templated(t, values...)))
}

// list returns the same objects as a list.
func list(t *testing.T, values ...string) []*unstructured.Unstructured {
	t.Helper()
	return documents(t, []byte(templated(t, values...)))
}

// set returns helm's arguments for values, and for the image registry, which the chart in this repository does not set.
func set(values ...string) []string {
	arguments := []string{"--set-json", `image.registry="storagebench.invalid"`}
	for _, value := range values {
		arguments = append(arguments, "--set-json", value)
	}
	return arguments
}

// templates caches the output of `helm template` by values.
var templates sync.Map

// templated returns the output of `helm template` for the given values, and caches it.
func templated(t *testing.T, values ...string) string {
	t.Helper()
	key := strings.Join(values, "\n")
	if made, is := templates.Load(key); is {
		return made.(string)
	}
	arguments := []string{"template", "storagebench", folder, "--namespace", namespace, "--include-crds", "--skip-tests"}
	stdout, stderr, err := helm(t, append(arguments, set(values...)...)...)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	templates.Store(key, stdout)
	return stdout
}

func parse(t *testing.T, text []byte) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, object := range documents(t, text) {
		name := object.GetKind() + " " + object.GetName()
		if found[name] != nil {
			t.Errorf("duplicate object: %s", name)
		}
		found[name] = object
	}
	return found
}

// readDocuments caches parsed objects by their text, because most values change few objects, and the CRDs are half a
// megabyte.
var readDocuments sync.Map

// documents parses the objects of a text. Tests share the objects, so they must not change them.
func documents(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+string(text), "\n---\n") {
		known, is := readDocuments.Load(document)
		if !is {
			object := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
				t.Fatalf("%v: %s", err, document)
			}
			known, _ = readDocuments.LoadOrStore(document, object)
		}
		if object := known.(*unstructured.Unstructured); object.Object != nil {
			found = append(found, object)
		}
	}
	return found
}

// everything enables what is off by default.
var everything = []string{
	`operator.replicas=2`, `metrics.serviceMonitor.enabled=true`, `metrics.prometheusRule.enabled=true`, `metrics.dashboards.enabled=true`,
}

func TestLint(t *testing.T) {
	t.Parallel()
	for _, values := range [][]string{nil, everything} {
		if stdout, stderr, err := helm(t, append([]string{"lint", "--strict", folder}, set(values...)...)...); err != nil {
			t.Errorf("%v: %s%s", err, stdout, stderr)
		}
	}
}

// ofEach matches arguments that the chart sets and that config leaves to the operator's defaults.
var ofEach = regexp.MustCompile(`^--(agent-image|fio-image|ior-image|limits-config-map|log-level)=|^--loss-timeout=1m$|^--parallel-runs=8$|^--max-clients=2000$|^--max-clients-per-namespace=1000$|^--priority-class=storagebench-operator$`)

// plain returns a copy of an object without the intended differences between chart and config: labels, and the
// arguments that ofEach matches.
func plain(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	drop := func(labels map[string]string) map[string]string {
		for _, name := range []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "app.kubernetes.io/version", "helm.sh/chart",
			"app.kubernetes.io/component"} { // the generated roles do not have it
			delete(labels, name)
		}
		return labels
	}
	object.SetLabels(drop(object.GetLabels()))
	if strings.HasSuffix(object.GetKind(), "Role") && !strings.HasPrefix(object.GetName(), "storagebench-view") && len(object.GetLabels()) > 0 {
		labels := object.GetLabels()
		delete(labels, "app.kubernetes.io/name")
		object.SetLabels(labels)
	}
	if len(object.GetLabels()) == 0 {
		unstructured.RemoveNestedField(object.Object, "metadata", "labels")
	}
	if object.GetKind() != "Deployment" {
		return object
	}
	labels, _, _ := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "labels")
	_ = unstructured.SetNestedStringMap(object.Object, drop(labels), "spec", "template", "metadata", "labels")
	containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	for i := range containers {
		container := containers[i].(map[string]any)
		said, _ := container["args"].([]any)
		container["args"] = slices.DeleteFunc(said, func(argument any) bool {
			return ofEach.MatchString(argument.(string))
		})
		if len(container["args"].([]any)) == 0 {
			delete(container, "args")
		}
		// The order of ports has no meaning, and patches in config change it.
		slices.SortFunc(container["ports"].([]any), func(a, b any) int {
			return strings.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
		})
	}
	_ = unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
	return object
}

// TestChartIsConfig requires that the chart installs the same objects as config: config/metrics by default,
// config/monitoring with monitoring enabled, config/default without metrics, and config/namespaced for some namespaces.
func TestChartIsConfig(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{render.Metrics: nil, render.Monitoring: everything[1:], render.Default: {`metrics.enabled=false`},
		render.Namespaced: {`metrics.enabled=false`, `watch.namespaces=["benchmarks"]`}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := render.Folder(os.DirFS(root+"/config"), name, "dev")
			if err != nil {
				t.Fatal(err)
			}
			want, got := parse(t, text), objects(t, values...)
			delete(want, "Namespace "+namespace) // helm creates it with --create-namespace
			for name := range maps.Keys(want) {
				if got[name] == nil {
					t.Errorf("the chart has no %s", name)
					continue
				}
				if a, b := plain(got[name]), plain(want[name]); !reflect.DeepEqual(a.Object, b.Object) {
					t.Errorf("%s differs from config's (run `make generate`): %s", name, cmp.Diff(b.Object, a.Object))
				}
			}
			for name := range got {
				if want[name] == nil {
					t.Errorf("config has no %s", name)
				}
			}
		})
	}
}

func asYAML(object *unstructured.Unstructured) string {
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// filled sets lists and maps that are empty by default, so that the templates use them.
var filled = []string{
	`image.pullSecrets=["pull-a"]`, `image.clientPullSecrets=[{"name":"a","registry":"b"}]`, `operator.sharedQueues=["nights","days"]`,
	`operator.clientLabels={"a":"b"}`, `operator.extraArgs=["--kubeconfig=/x"]`, `operator.nodeSelector={"pool":"infra"}`,
	`operator.tolerations=[{"key":"infra-only","operator":"Exists"}]`,
	`operator.affinity={"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone-x","operator":"Exists"}]}]}}}`,
	`operator.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"rack","whenUnsatisfiable":"DoNotSchedule"}]`,
	`operator.podLabels={"team":"storage"}`, `operator.podAnnotations={"note":"here"}`, `operator.podSecurityContext={"fsGroup":1}`,
	`operator.containerSecurityContext={"privileged":false}`, `commonLabels={"cost":"center-7"}`, `serviceAccount.annotations={"identity":"role-x"}`,
	`networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"watch":"tower"}}}]`,
	`observations={"prometheusURL":"http://prom","interval":"15s","namespaceParameter":"ns","tokenSecret":"t","caConfigMap":"c"}`,
}

// TestValuesAreDescribed requires that values.yaml and the schema have the same values.
func TestValuesAreDescribed(t *testing.T) {
	var values map[string]any
	read(t, "values.yaml", &values)
	var schema map[string]any
	text, err := os.ReadFile(filepath.Join(folder, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	properties := schema["properties"].(map[string]any)
	for group, fields := range values {
		known, ok := properties[group].(map[string]any)
		if !ok {
			t.Errorf("the schema has no %s", group)
			continue
		}
		inside, _ := known["properties"].(map[string]any)
		for field := range fields.(map[string]any) {
			if inside[field] == nil && known["$ref"] == nil {
				t.Errorf("the schema has no %s.%s", group, field)
			}
		}
		for field := range inside {
			if _, ok := fields.(map[string]any)[field]; !ok {
				t.Errorf("values.yaml has no %s.%s, which the schema allows", group, field)
			}
		}
	}
}

// TestReadme requires that the table of values in README.md describes each value.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(strings.TrimSpace(line), "|  |") {
			t.Errorf("value without a description: %s", line)
		}
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatal(err)
	}
}

// TestRefused requires that helm refuses an invalid value with an error that names it.
func TestRefused(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`operator.replica=2`:                                          "replica",
		`operator.logLevel="loud"`:                                    "logLevel",
		`operator.sharedQueues=["No Name"]`:                           "sharedQueues",
		`operator.extraArgs=["log-level"]`:                            "extraArgs",
		`observations.prometheusURL="prom:9090"`:                      "prometheusURL",
		`observations.prometheusURL="http://me:secret@prom"`:          "prometheusURL",
		`metrics.port=80`:                                             "port",
		`image.tag="v1+2"`:                                            "tag",
		`image.fio.digest="sha256:1"`:                                 "digest",
		`image.registry=""`:                                           "make push REGISTRY=",
		`image={"registry":"","operator":{"reference":"a"}}`:          "image.fio.reference",
		`operator.runAsUser=0`:                                        "runAsUser",
		`watch.namespaces="team-a"`:                                   "namespaces",
		`watch.namespaces=["Team"]`:                                   "namespaces",
		`watch.namespaces=["a","a"]`:                                  "namespaces",
		`watch.namespace=["a"]`:                                       "namespace",
		`operator.clientLabels={"a":"b c"}`:                           "clientLabels",
		`operator.clientLabels={"a b":"c"}`:                           "clientLabels",
		`operator.lossTimeout="soon"`:                                 "lossTimeout",
		`operator.parallelRuns=0`:                                     "parallelRuns",
		`operator.maxClients=0`:                                       "maxClients",
		`operator.maxClientsPerNamespace=0`:                           "maxClientsPerNamespace",
		`operator.replicas=-1`:                                        "replicas",
		`operator.goMemoryLimit="450Mi"`:                              "goMemoryLimit",
		`image.clientPullSecrets=["a"]`:                               "clientPullSecrets",
		`image.clientPullSecrets=[{"registry":"a"}]`:                  "name",
		`image.clientPullSecrets=[{"name":"a","registry":"b=c"}]`:     "registry",
		`metrics={"enabled":false,"serviceMonitor":{"enabled":true}}`: "metrics.enabled",
		`metrics={"enabled":false,"prometheusRule":{"enabled":true}}`: "metrics.enabled",
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			_, stderr, err := helm(t, append([]string{"template", "x", folder}, set(value)...)...)
			if err == nil || !strings.Contains(stderr, want) {
				t.Errorf("%v: %s", err, stderr)
			}
		})
	}
}

// TestPackage requires that a packaged chart contains the CRDs and runs the image of its version.
func TestPackage(t *testing.T) {
	t.Parallel()
	to := t.TempDir()
	if _, stderr, err := helm(t, "package", folder, "--version", "1.2.3", "--app-version", "v1.2.3", "--destination", to); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	archive := filepath.Join(to, "storagebench-1.2.3.tgz")
	stdout, stderr, err := helm(t, append([]string{"template", "x", archive, "--include-crds", "--namespace", namespace}, set()...)...)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	found := parse(t, []byte(stdout))
	kinds := 0
	for name := range found {
		if strings.HasPrefix(name, "CustomResourceDefinition ") {
			kinds++
		}
	}
	if kinds != 4 {
		t.Errorf("the package has %d CRDs, want 4", kinds)
	}
	if deployment := found["Deployment storagebench-operator"]; !strings.Contains(asYAML(deployment), "image: storagebench.invalid/operator:v1.2.3") {
		t.Errorf("another image:\n%s", asYAML(deployment))
	}
}

// TestProfileLibrary requires that, without the profile library, the operator neither creates profiles nor has the
// right to create them.
func TestProfileLibrary(t *testing.T) {
	t.Parallel()
	for value, wanted := range map[string]bool{"profileLibrary.enabled=true": true, "profileLibrary.enabled=false": false} {
		all := objects(t, value)
		role, err := yaml.Marshal(all["ClusterRole storagebench-operator"].Object)
		if err != nil {
			t.Fatal(err)
		}
		deployment, err := yaml.Marshal(all["Deployment storagebench-operator"].Object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(role), "- etcd-wal") != wanted {
			t.Errorf("%s: the operator has the right to create profiles: %t", value, !wanted)
		}
		if strings.Contains(string(deployment), "--profile-library=false") == wanted {
			t.Errorf("%s: the operator has --profile-library=false: %t", value, wanted)
		}
		if !strings.Contains(string(role), "storagebenchmarks/status") {
			t.Errorf("%s: other rights are gone", value)
		}
	}
}
