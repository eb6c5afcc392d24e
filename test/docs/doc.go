// Package docs checks what the documentation shows: every fenced block according to its language, every link, and every
// command, path, label and metric of this project that the text names.
//
// The pages are README.md, CONTRIBUTING.md, all of docs except the design notes, and the READMEs of config and charts.
// The info string of a block starts with its language, the only part that GitHub reads. The words after it are for the
// test:
//
//	yaml                      whole objects. `kubectl storagebench plan` must accept a StorageBenchmark; kinds of
//	                          Kubernetes, of the Prometheus operator and of kustomize are decoded strictly; other
//	                          kinds (Argo CD, Flux) must have apiVersion, kind and name
//	yaml at=PATH [in=FILE]    a part of a StorageBenchmark at a path such as spec.run or spec.run.targets[0], or . for
//	                          the top. It is merged into a small one (benchmark.yaml in testdata), or into that of a
//	                          file: keys of maps are merged, lists are replaced. The result must plan
//	... file=NAME             with any of these: commands of the page find the block in a file of that name
//	yaml values               values of the Helm chart, which must render with them
//	yaml profile              the spec of a profile, which must plan
//	yaml kustomization        a kustomization, which may omit its kind
//	yaml prometheus           a configuration of Prometheus, for promtool
//	yaml limits               a file for the ConfigMap of documented limits
//	sh                        commands. The program must accept this project's own; those that need no cluster are run
//	                          in a scratch directory with the inputs of inputs_test.go. kubectl must fail only
//	                          when it contacts an API server; targets of make, kinds, conditions and files must exist
//	console                   lines of `$ COMMAND`, each with its output, which is compared; ... stands for any lines
//	text in=FILE              the lines are in that file, in that order; ... stands for any lines
//	text drawing              a drawing, which is not checked
//	json, csv, promql         must parse
//
// Any other block is not checked. It must be in the list of unchecked_test.go with the reason.
//
// The package also checks what a reader's first commands, the targets of make, need on a machine and do to it.
package docs
