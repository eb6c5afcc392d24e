// Command schemas generates the JSON schemas against which test/chart validates manifests. It derives them from the Go
// modules of Kubernetes, the Prometheus operator, Flux and Argo CD, and therefore needs the Go module proxy; the test
// does not.
//
//	go run ./hack/schemas
//
// Each release of Kubernetes has its own directory in test/chart/testdata/schemas. The crds directory contains the
// schemas of the other projects' kinds.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/storagebench/storagebench/hack/schemas/strict"
)

const output = "test/chart/testdata/schemas"

// crds lists the CRDs of other projects that our manifests use, by module and file.
var crds = []struct{ module, file string }{
	{"github.com/prometheus-operator/prometheus-operator@v0.85.0", "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"},
	{"github.com/prometheus-operator/prometheus-operator@v0.85.0", "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"},
	{"github.com/fluxcd/kustomize-controller@v1.9.6", "config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml"},
	{"github.com/argoproj/argo-cd/v3@v3.3.19", "manifests/crds/application-crd.yaml"},
}

func main() {
	if err := run(); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	if err := os.RemoveAll(output); err != nil {
		return fmt.Errorf("remove the old schemas: %w", err)
	}
	for _, release := range releases {
		if err := kubernetes(release, filepath.Join(output, "v"+release)); err != nil {
			return err
		}
	}
	folder := filepath.Join(output, "crds")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make a directory for schemas: %w", err)
	}
	for _, crd := range crds {
		module, err := moduleFolder(crd.module)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(module, crd.file))
		if err != nil {
			return fmt.Errorf("read a CRD of module %s: %w", crd.module, err)
		}
		made, err := strict.OfCRD(text)
		if err != nil {
			return fmt.Errorf("%s: %w", crd.file, err)
		}
		for name, schema := range made {
			delete(schema["properties"].(strict.Schema), "status")
			text, err := json.Marshal(schema)
			if err != nil {
				return fmt.Errorf("write a schema: %w", err)
			}
			if err := os.WriteFile(filepath.Join(folder, name), append(text, '\n'), 0o644); err != nil {
				return fmt.Errorf("write a schema: %w", err)
			}
		}
	}
	return nil
}

// moduleFolder downloads a module, verified by the checksum database, and returns the directory of its files.
func moduleFolder(module string) (string, error) {
	command := exec.Command("go", "mod", "download", "-json", module)
	// Run outside this repository, because the go.mod of this repository does not list the module to download.
	command.Dir = os.TempDir()
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := command.Output()
	var said struct{ Dir, Error string }
	if json.Unmarshal(out, &said) == nil && said.Error != "" {
		return "", fmt.Errorf("fetch %s: %s", module, said.Error)
	}
	if err != nil || said.Dir == "" {
		return "", fmt.Errorf("fetch %s: %w", module, err)
	}
	return said.Dir, nil
}

// writeDefinitions writes one definition per line, to make diffs between releases readable.
func writeDefinitions(file string, definitions map[string]strict.Schema) error {
	var text bytes.Buffer
	text.WriteString("{\"definitions\":{")
	for i, name := range slices.Sorted(maps.Keys(definitions)) {
		if i > 0 {
			text.WriteByte(',')
		}
		line, err := json.Marshal(definitions[name])
		if err != nil {
			return fmt.Errorf("write the schema %s: %w", name, err)
		}
		fmt.Fprintf(&text, "\n%q:%s", name, line)
	}
	text.WriteString("\n}}\n")
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write schemas: %w", err)
	}
	return nil
}
