// Package docs checks what the documentation shows: every fenced block by its language, every link, and every command,
// path, label and metric of ours that the text names.
//
// The pages are README.md, CONTRIBUTING.md, all of docs but the design notes, and the READMEs of config and charts. The
// info string of a block has its language first, which is all that GitHub looks at, and then words for the test:
//
//	yaml                      whole objects. A StorageBenchmark has to plan, as `kubectl storagebench plan` does it;
//	                          kinds of Kubernetes, of the Prometheus operator and of kustomize are decoded strictly;
//	                          of others (Argo CD, Flux) there have to be apiVersion, kind and name
//	yaml at=PATH [in=FILE]    a part of a StorageBenchmark at a path such as spec.run or spec.run.targets[0], or . for
//	                          its top. It is put into a small one (benchmark.yaml in testdata), or that of a file: keys of maps are merged,
//	                          lists are replaced. The whole has to plan
//	... file=NAME             beside any of these: commands of the page find the block under that name
//	yaml values               values of the Helm chart, which has to render with them
//	yaml profile              the spec of a profile, which has to plan
//	yaml kustomization        a kustomization, whose kind may be left out
//	yaml prometheus           a configuration of Prometheus, for promtool
//	yaml limits               a file for the ConfigMap of documented limits
//	sh                        commands. What is ours has to be accepted by the program; what of that needs no cluster is
//	                          run, in a scratch folder with the inputs of inputs_test.go. kubectl has to get as far
//	                          as asking for an API server; targets of make, kinds, conditions and files have to exist
//	console                   lines of `$ COMMAND`, each with what it prints, which is compared; ... stands for any lines
//	text in=FILE              the lines are in that file, in that order; ... stands for any lines
//	text drawing              a drawing, in which there is nothing to check
//	json, csv, promql         can be read
//
// Whatever else there is, is not checked, and has to be in the list of unchecked_test.go with the reason.
//
// It also checks what the first commands of a reader, targets of make, need of a machine and do to it.
package docs
