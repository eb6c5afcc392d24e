package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const generated = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  names: {kind: StorageBenchmark}
  versions:
  - name: v1alpha1
    schema:
      openAPIV3Schema:
        description: the kind
        type: object
        properties:
          spec:
            type: object
            properties:
              run:
                description: what is run
                type: object
                properties:
                  size:
                    description: a size
                    anyOf: [{type: integer}, {type: string}]
                    pattern: ^[0-9]+$
                    x-kubernetes-int-or-string: true
                    x-kubernetes-validations: [{rule: self > 0, message: not nothing}]
                  clients:
                    type: object
                    properties:
                      template:
                        type: object
                        properties:
                          affinity:
                            description: where pods go
                            type: object
                            properties:
                              nodeAffinity: {type: object, description: told by Kubernetes}
                          tolerations:
                            type: array
                            items: {type: object, description: told by Kubernetes}
`

func TestFinish(t *testing.T) {
	once, err := finish([]byte(generated))
	if err != nil {
		t.Fatal(err)
	}
	text := string(once)
	for _, want := range []string{"the kind", "what is run", "a size", "where pods go", "maxLength: 32"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "told by Kubernetes") {
		t.Errorf("descriptions of Kubernetes' own types are left in\n%s", text)
	}
	twice, err := finish(once)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(once, twice) {
		t.Errorf("finishing again changes\n%s\nto\n%s", once, twice)
	}
	run := strings.Replace(generated, "kind: StorageBenchmark", "kind: BenchmarkRun", 1)
	record, err := finish([]byte(run))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(record), "a size") || !strings.Contains(string(record), "what is run") {
		t.Errorf("below spec.run of a BenchmarkRun only its own description stays\n%s", record)
	}
	if strings.Contains(string(record), "not nothing") || !strings.Contains(text, "not nothing") {
		t.Errorf("the rules of spec.run are a StorageBenchmark's, and not asked again of a BenchmarkRun\n%s", record)
	}
}

// The finished file means the same as the one it is made of, apart from what
// is meant to change.
func TestFinishKeepsTheMeaning(t *testing.T) {
	finished, err := finish([]byte(generated))
	if err != nil {
		t.Fatal(err)
	}
	var before, after map[string]any
	if err := yaml.Unmarshal([]byte(strings.NewReplacer(
		", description: told by Kubernetes", "",
		"pattern: ^[0-9]+$", "pattern: ^[0-9]+$\n                    maxLength: 32",
	).Replace(generated)), &before); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(finished, &after); err != nil {
		t.Fatal(err)
	}
	a, err := yaml.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	b, err := yaml.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("want\n%s\ngot\n%s", a, b)
	}
}

func TestFinishRefusesOtherFiles(t *testing.T) {
	for _, file := range []string{"", "a: b", "a: [", "spec: {versions: [{name: x}]}"} {
		if _, err := finish([]byte(file)); err == nil {
			t.Errorf("%q: accepted", file)
		}
	}
}

func TestRunWritesInPlace(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "a.yaml")
	if err := os.WriteFile(path, []byte(generated), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(directory); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte("maxLength: 32")) {
		t.Errorf("not finished:\n%s", data)
	}
	if err := run(filepath.Join(directory, "nowhere")); err == nil {
		t.Error("a folder that is not there is no error")
	}
}
