// Command finish completes the output of controller-gen, in place:
//
//   - It limits the length of every quantity. Without that limit, the API server assumes that a quantity can be as long
//     as a whole request. It then overestimates the cost of rules that use a quantity, and rejects them. controller-gen
//     has no marker for the limit.
//   - It shortens each description to its first sentence. In the specs that users write, it also keeps the sentences that
//     begin with "Defaults to", "If unset" or "Only". It removes the descriptions of Kubernetes' own types, and of the
//     second and third copies of the workload in a file. docs/reference/api.md has the full descriptions of
//     storagebench's types. A file should stay below 120 kB: kubectl apply puts the whole object into an annotation,
//     and Helm puts all objects into one Secret.
//   - It removes settings that equal a default or are redundant: x-kubernetes-list-type: atomic, the anyOf in the
//     schema of a quantity, and the pattern of a quantity that a rule already checks.
//   - It removes the default of imagePullSecrets[].name in pod templates, which comes from a Kubernetes type. It is the
//     only default inside a list, and would show up as a difference between a file and the live object
//     (api/v1alpha1/defaults.go).
//   - It removes the rules within the frozen copies of a benchmark's spec.run and spec.objectives in a BenchmarkRun,
//     and most rules of the workloads of phases. The rules of the copies were checked when the benchmark was admitted;
//     the operator and the command-line tool check both kinds of rules again when they plan a run.
//   - It makes the other rules of a BenchmarkRun's spec apply only when the run is created. The spec is immutable, but
//     the API server would evaluate its rules at each status update: with 24 phases, they took 29 ms of the 83 ms
//     of CPU time that an update needs.
//
// Usage: go run ./config/crd/finish DIRECTORY
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: finish DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "finish:", err)
		os.Exit(1)
	}
}

func run(directory string) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return fmt.Errorf("open the CRD directory: %w", err)
	}
	defer root.Close() //nolint:errcheck // only read from
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list CRDs: %w", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		before, err := root.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read a CRD: %w", err)
		}
		after, err := finish(before)
		if err != nil {
			return fmt.Errorf("finish %s: %w", name, err)
		}
		if err := root.WriteFile(name, after, 0o644); err != nil {
			return fmt.Errorf("write a CRD: %w", err)
		}
	}
	return nil
}

// finish returns the finished form of one CRD. It is idempotent.
func finish(file []byte) ([]byte, error) {
	var definition map[string]any
	if err := yaml.Unmarshal(file, &definition); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	spec, _ := definition["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	if len(versions) == 0 {
		return nil, fmt.Errorf("no spec.versions: not a CustomResourceDefinition")
	}
	names, _ := spec["names"].(map[string]any)
	kind, _ := names["kind"].(string)
	finisher := newFinisher(kind)
	for _, version := range versions {
		fields, _ := version.(map[string]any)
		schema, _ := fields["schema"].(map[string]any)
		top, ok := schema["openAPIV3Schema"].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("a version without schema.openAPIV3Schema")
		}
		finisher.walk(top, nil, false)
	}
	return encode(definition)
}
