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

Workloads that come with storagebench, as ClusterWorkloadProfiles: the operator makes them in its cluster at its start, and
` + "`kubectl storagebench`" + ` knows them without one (` + "`plan`, `run --local`, `profiles`" + `). Each says where its numbers come from; what nobody
can look up is said to be ours. Generated from [internal/library/profiles](../internal/library/profiles) by ` + "`make generate`" + `.

` + "```yaml at=spec.run" + `
workload: {profileRef: {name: oltp-8k, datasetSize: 64Gi}}
phases:
- {name: layout, prepare: {}}
- {name: mixed, steady: {duration: 10m, warmUp: 30s}}
` + "```" + `

` + "`datasetSize`" + ` beside the name takes the place of the profile's: the sizes here are above what a small cache holds, and yours may be
larger. Twice the memory of the server is what a read needs to come from its disks. A profile with a job file, and those of IOR and mdtest,
have sizes of their own: copy and change them (` + "`kubectl storagebench profiles file-server -o yaml`" + `). A sample is
[config/samples/library.yaml](../config/samples/library.yaml).

A reference without a ` + "`kind`" + ` takes the WorkloadProfile of that name in the benchmark's namespace, or else the ClusterWorkloadProfile. So a
namespace can have its own version of a profile. With ` + "`kind`" + `, only that one is looked up.

## Whose they are

The operator never writes over what is not its own, and deletes nothing:

| there is | the operator |
| --- | --- |
| no object of the name | makes it, with the label ` + "`storagebench.dev/library`" + ` |
| one with the label, as it was made | brings it to its own version (annotation ` + "`storagebench.dev/library-version`" + `) |
| one with the label, whose spec somebody has changed | leaves it, and says so in its log and by the event ` + "`ProfileKept`" + ` |
| one without the label | leaves it, and says so in the same way |
| one with the label that this version does not have | leaves it, since benchmarks may refer to it: event ` + "`ProfileLeft`" + ` |

To have the library's again, delete yours and start the operator anew (` + "`kubectl -n storagebench-system rollout restart deployment`" + `).
` + "`--profile-library=false`, or `profileLibrary.enabled=false`" + ` in the chart, leaves the library out; what is there stays. An operator that
watches some namespaces only makes no profiles, which are of the whole cluster: apply them yourself.

` + "```sh" + `
kubectl storagebench profiles -o yaml | kubectl apply -f -
` + "```" + `

## What is not in it

Start of virtual desktops and video streams have often been described, but no source with numbers that anybody can look up was found;
nor was one of the 70/30 of reads and writes that is often seen. Checkpoints of training are in DLIO (its llama workloads), and no profile was made
of them.

## The profiles

`

func render() (string, error) {
	all, err := library.Profiles()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("| profile | engine | what for |\n| --- | --- | --- |\n")
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
