package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
                  phases:
                    description: the parts, such as no. 1. They run in order.
                    type: array
                    x-kubernetes-list-type: atomic
                    items:
                      description: a part
                      type: object
                      properties:
                        workload:
                          type: object
                          x-kubernetes-validations: [{rule: has(self.one), message: give one}]
                          properties:
                            count: {type: integer, x-kubernetes-validations: [{rule: self > 1, message: more than one}]}
                  checked:
                    description: |-
                      a checked size. In bytes. Defaults to none,
                      as 1.5 is no size. If unset, none. Only here.

                      Defaults to more elsewhere.
                    anyOf: [{type: integer}, {type: string}]
                    pattern: ^[0-9]+$
                    x-kubernetes-int-or-string: true
                    x-kubernetes-validations: [{rule: isQuantity(string(self)), message: a size}]
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
          status:
            type: object
            properties:
              figure: {type: integer, description: 'figure is a figure. It is no. 1. If unset, none.'}
`

func TestFinish(t *testing.T) {
	once, err := finish([]byte(generated))
	if err != nil {
		t.Fatal(err)
	}
	text := string(once)
	for _, want := range []string{
		"the kind", "what is run", "a size", "where pods go", "maxLength: 32", "the parts, such as no. 1.", "a checked size. Defaults to none, as 1.5 is no size. If unset, none. Only here.", "description: A figure.", "give one",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for _, unwanted := range []string{
		"told by Kubernetes", "a part\n", "more elsewhere", "They run in order.", "It is no. 1.", "more than one", "list-type: atomic", "anyOf",
	} {
		if strings.Contains(text, unwanted) {
			t.Errorf("%q is left in\n%s", unwanted, text)
		}
	}
	if patterns := strings.Count(text, "pattern:"); patterns != 1 {
		t.Errorf("%d patterns, want the one of the quantity whose rule does not check it, in\n%s", patterns, text)
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
		t.Errorf("below spec.run, a BenchmarkRun must keep no description but that of spec.run\n%s", record)
	}
	if strings.Contains(string(record), "not nothing") || !strings.Contains(text, "not nothing") {
		t.Errorf("the rules of spec.run must stay in a StorageBenchmark and be removed from a BenchmarkRun\n%s", record)
	}
}

// TestFinishKeepsTheRest checks that finish does not change a schema that has nothing to shorten.
func TestFinishKeepsTheRest(t *testing.T) {
	const kept = `---
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
            description: what is wanted.
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, x-kubernetes-validations: [{rule: self > 0, message: not nothing}]}
              list: {type: array, x-kubernetes-list-type: set, items: {type: string, maxLength: 3}}
`
	finished, err := finish([]byte(kept))
	if err != nil {
		t.Fatal(err)
	}
	var before, after map[string]any
	if err := yaml.Unmarshal([]byte(kept), &before); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(finished, &after); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
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
		t.Error("a missing folder is not an error")
	}
}
