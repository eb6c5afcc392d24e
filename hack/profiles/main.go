// Command profiles generates docs/profiles.md from the library of workloads. Run it in the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/internal/library"
)

// page is the output file.
var page = filepath.Join("docs", "profiles.md")

func main() {
	text, err := render()
	if err == nil {
		err = os.WriteFile(page, []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const head = `# The library of profiles

Built-in workloads. The operator creates them as ClusterWorkloadProfiles when it starts; ` + "`" + `plan` + "`" + `, ` + "`" + `run --local` + "`" + ` and ` + "`" + `profiles` + "`" + ` of
` + "`" + `kubectl storagebench` + "`" + ` can also use them without a cluster. Each profile names the source of its numbers. "Our choice" marks a number
that has no public source. This page is generated from [internal/library/profiles](../internal/library/profiles).

` + "```" + `yaml at=spec.run
workload: {profileRef: {name: oltp-8k, datasetSize: 64Gi}}
phases:
- {name: layout, prepare: {}}
- {name: mixed, steady: {duration: 10m, warmUp: 30s}}
` + "```" + `

` + "`" + `datasetSize` + "`" + ` replaces the profile's own. The defaults exceed only small caches: for reads that must come from the disks, use at
least twice the memory of the storage server. Profiles that use a fio job file, IOR or mdtest have fixed sizes: to change them,
print the profile (` + "`" + `kubectl storagebench profiles file-server -o yaml` + "`" + `), edit it, and apply it under another name. For a complete
benchmark, see [config/samples/library.yaml](../config/samples/library.yaml).

A ` + "`" + `profileRef` + "`" + ` without ` + "`" + `kind` + "`" + ` refers to the WorkloadProfile of that name in the benchmark's namespace or, if there is none, to the
ClusterWorkloadProfile. A namespace can therefore override a profile. With ` + "`" + `kind` + "`" + `, only that kind is looked up.

## Ownership and updates

The operator changes only profiles that it created, and deletes none:

| existing ClusterWorkloadProfile | action of the operator |
| --- | --- |
| none with that name | creates it, with the label ` + "`" + `storagebench.dev/library` + "`" + ` |
| has the label, spec unmodified | updates it to the operator's version (annotation ` + "`" + `storagebench.dev/library-version` + "`" + `) |
| has the label, spec modified | leaves it unchanged; event ` + "`" + `ProfileKept` + "`" + ` and a log line |
| lacks the label | leaves it unchanged; event ` + "`" + `ProfileKept` + "`" + ` and a log line |
| has the label, but this version has no such profile | leaves it, because benchmarks may refer to it; event ` + "`" + `ProfileLeft` + "`" + ` |

To restore a profile, delete yours and restart the operator (` + "`" + `kubectl -n storagebench-system rollout restart deployment` + "`" + `). To
omit the library, set ` + "`" + `--profile-library=false` + "`" + `, or ` + "`" + `profileLibrary.enabled=false` + "`" + ` in the chart; existing profiles are kept. An operator
that watches only some namespaces does not create the profiles, because they are cluster-scoped. Apply them yourself:

` + "```" + `sh
kubectl storagebench profiles -o yaml | kubectl apply -f -
` + "```" + `

## Missing profiles

A profile needs a public source with numbers. We found none for VDI boot storms, for video streaming, or for the common mix of 70 %
reads and 30 % writes. There is no profile of training checkpoints yet, although DLIO describes them (its llama workloads).

## The profiles

`

func render() (string, error) {
	all, err := library.Profiles()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("| profile | engine | purpose |\n| --- | --- | --- |\n")
	for i := range all {
		one := &all[i]
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", one.Name, one.Name, one.Spec.EngineKind(), one.About())
	}
	for i := range all {
		one := &all[i]
		object, err := one.Object()
		if err != nil {
			return "", err
		}
		spec, err := yaml.Marshal(map[string]any{"spec": object.Object["spec"]})
		if err != nil {
			return "", fmt.Errorf("write the spec of %s: %w", one.Name, err)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\nSource: %s\n\n```yaml profile\n%s```\n", one.Name, one.About(), one.Source(), spec)
	}
	return b.String(), nil
}
