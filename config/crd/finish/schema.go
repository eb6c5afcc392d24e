package main

import (
	"slices"
	"strings"
)

// maxQuantityLength is enough for every quantity that a person writes.
const maxQuantityLength = 32

// quantityPattern is controller-gen's pattern of quantities, and shortPattern one that takes the same
// texts: it is in a CRD some fifty times.
const (
	quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	shortPattern    = `^[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?(\d+\.?\d*|\.\d+))?$`
)

// toldElsewhere are the fields below which descriptions are removed; their own
// stays. A path ends with one of these, lists being left out of paths.
var toldElsewhere = []string{
	// Kubernetes' own types.
	"template.affinity",
	"template.tolerations",
	"template.topologySpreadConstraints",
	"template.imagePullSecrets",
	"template.resources.limits",
	"template.resources.requests",
	"securityContext.seLinuxOptions",
	"claimTemplate.spec",
	"status.conditions",
	// What the operator writes for itself.
	"status.history",
	// Copies of run.workload.
	"phases.workload",
	"targetWorkloads.workload",
}

// finisher finishes the schema of one kind.
type finisher struct {
	// told are the ends of paths below which descriptions are removed.
	told []string
	// frozen is how the paths begin of copies of what was admitted elsewhere: their rules are not asked again.
	frozen []string
}

func newFinisher(kind string) finisher {
	if kind == "BenchmarkRun" {
		// The frozen copies of a StorageBenchmark's spec.run and spec.objectives: nobody writes them.
		return finisher{told: append(slices.Clone(toldElsewhere), "spec.run", "spec.objectives"), frozen: []string{"spec.run.", "spec.objectives"}}
	}
	return finisher{told: toldElsewhere}
}

// walk finishes a schema and all below it. In a bare one the descriptions go.
func (f finisher) walk(schema map[string]any, path []string, bare bool) {
	if bare {
		delete(schema, "description")
	}
	dotted := strings.Join(path, ".")
	for _, frozen := range f.frozen {
		if strings.HasPrefix(dotted, frozen) {
			delete(schema, "x-kubernetes-validations")
		}
	}
	bare = bare || slices.ContainsFunc(f.told, func(end string) bool {
		return dotted == end || strings.HasSuffix(dotted, "."+end)
	})
	if schema["x-kubernetes-int-or-string"] == true {
		schema["maxLength"] = maxQuantityLength
		if schema["pattern"] == quantityPattern {
			schema["pattern"] = shortPattern
		}
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		for name, property := range properties {
			if child, ok := property.(map[string]any); ok {
				f.walk(child, append(slices.Clone(path), name), bare)
			}
		}
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if child, ok := schema[inner].(map[string]any); ok {
			f.walk(child, path, bare)
		}
	}
}
