package main

import (
	"regexp"
	"slices"
	"strings"
)

// maxQuantityLength limits the length of a quantity. It leaves room for every quantity that users write.
const maxQuantityLength = 32

// quantityPattern is controller-gen's pattern for quantities. shortPattern matches the same strings but is shorter,
// which matters because the pattern occurs some fifty times in a CRD.
const (
	quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	shortPattern    = `^[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?(\d+\.?\d*|\.\d+))?$`
)

// toldElsewhere lists the fields whose nested fields lose their descriptions, because the same descriptions are
// available elsewhere. The listed fields keep their own descriptions. An entry matches the end of a path; paths do not
// contain list indexes.
var toldElsewhere = []string{
	// The fields below have types that belong to Kubernetes and are described in its documentation.
	"template.affinity",
	"template.tolerations",
	"template.topologySpreadConstraints",
	"template.imagePullSecrets",
	"template.resources.limits",
	"template.resources.requests",
	"securityContext.seLinuxOptions",
	"claimTemplate.spec",
	"status.conditions",
	// status.history is written by the operator, not by users.
	"status.history",
	// The fields below are copies of run.workload, which keeps its descriptions.
	"phases.workload",
	"targetWorkloads.workload",
}

// checkedByPlan lists the copies of run.workload and of its fields. The rules of these copies are removed, except for
// rules about quantities. Only the API server can distinguish 64k from 64000, because decoding does not preserve how a
// quantity was written. The engines enforce the removed rules; a test in internal/plan verifies this.
var checkedByPlan = []string{"phases.workload.", "targetWorkloads.workload.", "phases.override."}

// formerName is the former path of a field that was renamed. The former field needs no schema, because a rule rejects
// it in new benchmarks, and stored benchmarks that have it were validated when they were created.
const formerName = "spec.run.targets.limits"

type finisher struct {
	// brief is true if descriptions are cut to their first sentence everywhere, not only in a status.
	brief bool
	// told holds the path suffixes of the fields whose nested fields lose their descriptions.
	told []string
	// frozen holds the path prefixes of copies that were validated as part of a StorageBenchmark. Their rules are
	// removed.
	frozen []string
}

func newFinisher(kind string) finisher {
	if kind == "BenchmarkRun" {
		// A BenchmarkRun contains frozen copies of a StorageBenchmark's spec.run and spec.objectives, which users do
		// not write.
		return finisher{
			brief: true, told: append(slices.Clone(toldElsewhere), "spec.run", "spec.objectives"),
			frozen: []string{"spec.run.", "spec.objectives"},
		}
	}
	return finisher{told: toldElsewhere}
}

// walk finishes a schema and all schemas nested in it. If bare is true, it also removes their descriptions.
func (f finisher) walk(schema map[string]any, path []string, bare bool) {
	dotted := strings.Join(path, ".")
	f.describe(schema, dotted, bare)
	f.dropRules(schema, dotted)
	if dotted == formerName && len(f.frozen) == 0 {
		delete(schema, "properties")
		delete(schema, "x-kubernetes-validations")
		schema["x-kubernetes-preserve-unknown-fields"] = true
	}
	if strings.HasSuffix(dotted, "template.imagePullSecrets.name") {
		delete(schema, "default")
	}
	if schema["x-kubernetes-list-type"] == "atomic" {
		delete(schema, "x-kubernetes-list-type") // Lists are atomic by default.
	}
	if schema["x-kubernetes-int-or-string"] == true {
		finishQuantity(schema)
	}
	if len(f.frozen) > 0 && (dotted == "spec" || strings.HasPrefix(dotted, "spec.")) {
		applyAtCreation(schema)
	}
	bare = bare || slices.ContainsFunc(f.told, func(end string) bool {
		return dotted == end || strings.HasSuffix(dotted, "."+end)
	})
	if properties, ok := schema["properties"].(map[string]any); ok {
		for name, property := range properties {
			if child, ok := property.(map[string]any); ok {
				f.walk(child, append(slices.Clone(path), name), bare)
			}
		}
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if child, ok := schema[inner].(map[string]any); ok {
			delete(child, "description") // The list or map has its own description, so its elements need none.
			f.walk(child, path, bare)
		}
	}
}

// end matches the boundary between a sentence and the next one.
var end = regexp.MustCompile(`[.]\s+[A-Z]`)

// describe shortens a description to its first sentence, without the name of the field. In a spec it also keeps the
// sentences about an unset field ("Defaults to", "If unset") and about where the field applies ("Only"). The whole text
// is in docs/reference/api.md.
func (f finisher) describe(schema map[string]any, path string, bare bool) {
	text, is := schema["description"].(string)
	if !is {
		return
	}
	text, _, _ = strings.Cut(text, "\n\n")
	text = strings.ReplaceAll(text, "\n", " ") // join the lines, so that encode can write the field on one line
	var kept []string
	for len(text) > 0 {
		sentence := text
		if at := end.FindStringIndex(text); at != nil {
			sentence = text[:at[0]+1]
		}
		text = strings.TrimLeft(text[len(sentence):], " ")
		applies := slices.ContainsFunc([]string{"Defaults to ", "If unset, ", "Only "}, func(start string) bool { return strings.HasPrefix(sentence, start) })
		if len(kept) == 0 || applies && !f.brief && !strings.HasPrefix(path, "status") {
			kept = append(kept, sentence)
		}
	}
	schema["description"] = withoutName(strings.Join(kept, " "), path[strings.LastIndexByte(path, '.')+1:])
	if bare {
		delete(schema, "description")
	}
}

// withoutName removes the name with which a Go comment begins, because kubectl explain prints it before the text.
func withoutName(text, name string) string {
	rest, begins := strings.CutPrefix(text, name+" ")
	if !begins || name == "" {
		return text
	}
	for _, verb := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

// dropRules removes the CEL rules of a field whose path is in f.frozen or checkedByPlan, because the field is a copy
// whose value is validated elsewhere. A quantity whose path is only in checkedByPlan keeps its rules.
func (f finisher) dropRules(schema map[string]any, path string) {
	frozen := slices.ContainsFunc(f.frozen, func(start string) bool { return strings.HasPrefix(path, start) })
	copied := slices.ContainsFunc(checkedByPlan, func(part string) bool { return strings.Contains(path, part) })
	if frozen || copied && schema["x-kubernetes-int-or-string"] != true {
		delete(schema, "x-kubernetes-validations")
	}
}

// applyAtCreation makes the rules of a schema apply only when the object is created. It does not change rules that
// mention oldSelf, because these compare the new object with the old one.
func applyAtCreation(schema map[string]any) {
	rules, _ := schema["x-kubernetes-validations"].([]any)
	for _, rule := range rules {
		fields, _ := rule.(map[string]any)
		if text, _ := fields["rule"].(string); !strings.Contains(text, "oldSelf") {
			fields["rule"], fields["optionalOldSelf"] = "oldSelf.hasValue() || ("+text+")", true
		}
	}
}

// finishQuantity limits the length of a quantity. It removes anyOf, which x-kubernetes-int-or-string makes redundant.
// It also removes the pattern if a rule checks the quantity, and otherwise shortens it.
func finishQuantity(schema map[string]any) {
	schema["maxLength"] = maxQuantityLength
	delete(schema, "anyOf")
	rules, _ := schema["x-kubernetes-validations"].([]any)
	asked := slices.ContainsFunc(rules, func(rule any) bool {
		fields, _ := rule.(map[string]any)
		text, _ := fields["rule"].(string)
		return strings.Contains(text, "isQuantity(s")
	})
	switch {
	case asked:
		delete(schema, "pattern")
	case schema["pattern"] == quantityPattern:
		schema["pattern"] = shortPattern
	}
}
