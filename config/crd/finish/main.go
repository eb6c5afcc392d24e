// Command finish completes what controller-gen writes, in place:
//
//   - It bounds the length of every quantity. Without that bound the API
//     server takes a quantity for as long as a whole request, and refuses the
//     rules that read one as too costly. controller-gen has no marker for it.
//   - It removes descriptions that are told elsewhere: those of Kubernetes' own
//     types, and those of the second and third copy of one type in one file. A
//     file has to stay well below the limit of one annotation (256 KiB), which
//     kubectl apply puts the whole object into.
//   - It removes the rules within the frozen copy of a benchmark's spec.run in a
//     BenchmarkRun, for the same reason. They were asked when the benchmark was
//     admitted, and the plan refuses what they would: whoever conducts a run
//     makes its plan again.
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
		return fmt.Errorf("opening the folder of CRDs: %w", err)
	}
	defer root.Close() //nolint:errcheck // only read from
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing CRDs: %w", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		before, err := root.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading a CRD: %w", err)
		}
		after, err := finish(before)
		if err != nil {
			return fmt.Errorf("finishing %s: %w", name, err)
		}
		if err := root.WriteFile(name, after, 0o644); err != nil {
			return fmt.Errorf("writing a CRD: %w", err)
		}
	}
	return nil
}

// finish gives the finished form of one CRD. Finishing twice changes nothing.
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
