package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	kustomize "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/cli"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/version"
	"github.com/storagebench/storagebench/test/prometheus"
)

// checkYAML checks a block according to its info string.
func checkYAML(t *testing.T, block *block) {
	t.Helper()
	var err error
	switch {
	case block.value("at") != "":
		err = checkPart(block)
	case block.word("profile"):
		err = checkObjects("apiVersion: storagebench.dev/v1alpha1\nkind: ClusterWorkloadProfile\nmetadata: {name: docs}\n" + block.text)
	case block.word("values"):
		err = checkValues(t, block)
	case block.word("kustomization"):
		err = yaml.UnmarshalStrict([]byte(block.text), &kustomize.Kustomization{})
	case block.word("prometheus"):
		err = checkPrometheus(t, block.text)
	case block.word("limits"):
		err = checkLimits(block)
	case len(block.words) > 0:
		err = fmt.Errorf("nothing checks YAML that is %q: test/docs/doc.go has what is", strings.Join(block.words, " "))
	default:
		err = checkObjects(block.text)
	}
	if err != nil {
		t.Errorf("%s: %v", block, err)
	}
}

// planned returns the error of `kubectl storagebench plan` for a file.
func planned(file string) error {
	var out, problem bytes.Buffer
	if code := cli.Main([]string{"plan", "-f", "-"}, cli.Streams{In: strings.NewReader(file), Out: &out, Err: &problem}); code != 0 {
		return fmt.Errorf("plan ends with %d: %s", code, problem.String())
	}
	return nil
}

// checkObjects checks whole objects, each according to its kind.
func checkObjects(file string) error {
	var benchmarks, profiles, parts []string
	for _, document := range strings.Split("\n"+file, "\n---") {
		var kind metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			return err
		}
		switch {
		case strings.TrimSpace(document) == "":
			continue
		case kind.Kind == v1alpha1.StorageBenchmarkKind:
			benchmarks = append(benchmarks, document)
		case kind.Kind == v1alpha1.WorkloadProfileKind || kind.Kind == v1alpha1.ClusterWorkloadProfileKind:
			profiles = append(profiles, document)
			phases := ""
			if strings.Contains(document, "mdtest:") {
				phases = ", phases: [{name: metadata, steady: {duration: 1h}}]" // mdtest creates its own files and has no layout
			}
			parts = append(parts, fmt.Sprintf("spec: {run: {workload: {profileRef: {kind: %s, name: %s}}%s}}", kind.Kind, kind.Name, phases))
		default:
			if err := checkForeign([]byte(document), kind); err != nil {
				return err
			}
		}
	}
	for _, benchmark := range benchmarks {
		if err := planned(strings.Join(append(profiles, benchmark), "\n---\n")); err != nil {
			return err
		}
	}
	if len(benchmarks) > 0 {
		return nil
	}
	for _, part := range parts {
		whole, err := completed(part, "", "")
		if err != nil {
			return err
		}
		if err := planned(strings.Join(append(profiles, whole), "\n---\n")); err != nil {
			return err
		}
	}
	return nil
}

// checkForeign checks an object of a kind of another project.
func checkForeign(document []byte, kind metav1.PartialObjectMetadata) error {
	if strings.HasPrefix(kind.APIVersion, "kustomize.config.k8s.io/") {
		return yaml.UnmarshalStrict(document, &kustomize.Kustomization{})
	}
	if kind.APIVersion == "" || kind.Kind == "" || kind.Name == "" {
		return fmt.Errorf("an object has apiVersion, kind and metadata.name; what is a part of one says of which (at=PATH)")
	}
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme, monitoringv1.AddToScheme} {
		if err := add(types); err != nil {
			return err
		}
	}
	if !types.Recognizes(kind.GroupVersionKind()) {
		if strings.HasSuffix(kind.GroupVersionKind().Group, "k8s.io") || !strings.Contains(kind.GroupVersionKind().Group, ".") {
			return fmt.Errorf("Kubernetes has no %s %s", kind.APIVersion, kind.Kind)
		}
		return nil
	}
	_, _, err := serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer().Decode(document, nil, nil)
	return err
}

// checkPart merges a part into a whole StorageBenchmark, which must plan.
func checkPart(block *block) error {
	whole, err := completed(block.text, block.value("at"), block.value("in"))
	if err != nil {
		return err
	}
	if err := planned(whole); err != nil {
		return fmt.Errorf("%w\nas a part of\n%s", err, whole)
	}
	return nil
}

// completed returns a StorageBenchmark with a part at a path. It keeps the other objects of the file.
func completed(part, path, in string) (string, error) {
	if in == "" {
		in = "test/docs/testdata/benchmark.yaml"
	}
	file, err := os.ReadFile(filepath.Join(root, in))
	if err != nil {
		return "", err
	}
	var value any
	if err := yaml.UnmarshalStrict([]byte(part), &value); err != nil {
		return "", err
	}
	var all []string
	for _, document := range strings.Split("\n"+string(file), "\n---") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return "", err
		}
		if object["kind"] == v1alpha1.StorageBenchmarkKind {
			merged, err := put(object, path, value)
			if err != nil {
				return "", err
			}
			text, err := yaml.Marshal(merged)
			if err != nil {
				return "", err
			}
			document = "\n" + string(text)
		}
		all = append(all, document)
	}
	return strings.TrimPrefix(strings.Join(all, "\n---"), "\n"), nil
}

// put merges a value into the one at a path such as spec.run.targets[0].
func put(into any, path string, value any) (any, error) {
	if path = strings.TrimPrefix(path, "."); path == "" {
		return merge(into, value), nil
	}
	head, rest, _ := strings.Cut(path, ".")
	name, index, isItem := strings.Cut(strings.TrimSuffix(head, "]"), "[")
	fields, is := into.(map[string]any)
	if !is {
		return nil, fmt.Errorf("there is no %s in the benchmark", path)
	}
	if !isItem {
		made, err := put(orEmpty(fields[name], rest), rest, value)
		fields[name] = made
		return fields, err
	}
	list, is := fields[name].([]any)
	var at int
	if _, err := fmt.Sscanf(index, "%d", &at); err != nil || !is || at < 0 || at >= len(list) {
		return nil, fmt.Errorf("there is no %s in the benchmark", path)
	}
	made, err := put(list[at], rest, value)
	list[at] = made
	return fields, err
}

// orEmpty replaces a missing value by an empty map if the path continues below it.
func orEmpty(value any, rest string) any {
	if value == nil && rest != "" {
		return map[string]any{}
	}
	return value
}

// merge merges the keys of maps and replaces everything else. A new workload replaces the old one, because there can be
// only one.
func merge(old, value any) any {
	before, isMap := old.(map[string]any)
	after, both := value.(map[string]any)
	if !isMap || !both {
		return value
	}
	workloads := []string{"fio", "ior", "mdtest", "command", "profileRef"}
	for _, one := range workloads {
		if _, replaces := after[one]; replaces {
			for _, other := range workloads {
				if other != one {
					delete(before, other)
				}
			}
		}
	}
	for key, value := range after {
		before[key] = merge(before[key], value)
	}
	return before
}

func checkLimits(block *block) error {
	builtin, err := limits.Builtin()
	if err != nil {
		return err
	}
	_, changes, err := builtin.Override(map[string]string{"docs.yaml": block.text})
	if err == nil && len(changes) == 0 {
		return fmt.Errorf("it changes nothing of the catalog")
	}
	return err
}

// checkValues renders the chart with the values of a block.
func checkValues(t *testing.T, block *block) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(block.text), 0o644); err != nil {
		return err
	}
	return helm(t, "template", "storagebench", filepath.Join(root, "charts/storagebench"), "--set", "image.registry="+version.Registry, "--values", file)
}

// checkPrometheus checks a configuration. It reads the Kubernetes discovery itself, because Debian's promtool lacks it.
func checkPrometheus(t *testing.T, text string) error {
	t.Helper()
	var configuration struct {
		Jobs []struct {
			Discovery json.RawMessage `json:"kubernetes_sd_configs"`
		} `json:"scrape_configs"`
	}
	var whole map[string]any
	for _, into := range []any{&configuration, &whole} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			return err
		}
	}
	for _, job := range configuration.Jobs {
		var discovery []struct {
			Role       string `json:"role"`
			Namespaces struct {
				Names        []string `json:"names"`
				OwnNamespace bool     `json:"own_namespace"`
			} `json:"namespaces"`
			Selectors []struct{ Role, Label, Field string } `json:"selectors"`
		}
		if len(job.Discovery) == 0 {
			continue
		}
		if err := yaml.UnmarshalStrict(job.Discovery, &discovery); err != nil {
			return fmt.Errorf("kubernetes_sd_configs: %w", err)
		}
		for _, one := range discovery {
			if !slices.Contains([]string{"endpoints", "endpointslice", "ingress", "node", "pod", "service"}, one.Role) {
				return fmt.Errorf("kubernetes_sd_configs: there is no role %q", one.Role)
			}
		}
	}
	jobs, _ := whole["scrape_configs"].([]any)
	for _, job := range jobs {
		delete(job.(map[string]any), "kubernetes_sd_configs")
	}
	rest, err := yaml.Marshal(whole)
	if err != nil {
		return err
	}
	return promtool(t, "prometheus.yml", string(rest), "check", "config", "--syntax-only")
}

// promtool writes a file and checks it with promtool.
func promtool(t *testing.T, name, text string, arguments ...string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	output, err := exec.CommandContext(t.Context(), prometheus.Program(t, "promtool"), append(arguments, file)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("promtool: %w: %s", err, output)
	}
	return nil
}

// checkPromQL checks PromQL expressions, one per line.
func checkPromQL(t *testing.T, block *block) {
	t.Helper()
	var rules strings.Builder
	rules.WriteString("groups:\n- name: docs\n  rules:\n")
	for i, line := range strings.Split(strings.TrimSpace(block.text), "\n") {
		if expression, _, _ := strings.Cut(line, "#"); strings.TrimSpace(expression) != "" {
			fmt.Fprintf(&rules, "  - {record: %q, expr: %q}\n", fmt.Sprintf("line_%d", i), expression)
		}
	}
	if err := promtool(t, "rules.yaml", rules.String(), "check", "rules"); err != nil {
		t.Errorf("%s: %v", block, err)
	}
}
