package main

import (
	"slices"
	"strings"
)

// maxQuantityLength is enough for every quantity that users write.
const maxQuantityLength = 32

// quantityPattern is controller-gen's pattern of quantities. shortPattern accepts the same texts; it is shorter,
// because it occurs some fifty times in a CRD.
const (
	quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	shortPattern    = `^[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?(\d+\.?\d*|\.\d+))?$`
)

// toldElsewhere lists the fields below which descriptions are removed; the fields keep their own. An entry matches the
// end of a path, and paths do not contain lists.
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
	// Status fields that the operator writes.
	"status.history",
	// Copies of run.workload.
	"phases.workload",
	"targetWorkloads.workload",
}

type finisher struct {
	// told holds the ends of the paths below which descriptions are removed.
	told []string
	// frozen holds the beginnings of the paths of copies that were admitted elsewhere. Their rules are removed.
	frozen []string
}

func newFinisher(kind string) finisher {
	if kind == "BenchmarkRun" {
		// The copies of a StorageBenchmark's spec.run and spec.objectives are frozen: users do not write them.
		return finisher{told: append(slices.Clone(toldElsewhere), "spec.run", "spec.objectives"), frozen: []string{"spec.run.", "spec.objectives"}}
	}
	return finisher{told: toldElsewhere}
}

// walk finishes a schema and everything below it. If bare is true, it removes their descriptions.
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
	if strings.HasSuffix(dotted, "template.imagePullSecrets.name") {
		delete(schema, "default")
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
