// Package engine defines the interface of an engine. An engine is a tool that generates load, together with the profile
// that it runs. Each engine is a package below this one, and package engines lists all of them. Other packages use an
// engine without knowing which one it is.
//
// # How to add an engine
//
//  1. Add the profile to the API: in profile_types.go a field of v1alpha1.Engine, a value of EngineKind and of its enum
//     marker, a case in Engine.EngineKind, and the field's name in the CEL rules of WorkloadProfileSpec and Workload.
//     If the tool reports figures that no other tool has, add a type for them and a field of this type to
//     v1alpha1.TargetResult. If these figures are rates that replace the rates of reads and writes, return them from
//     TargetResult.OwnRates: they are then the main figures everywhere. Run make generate.
//  2. Add a package here with a value of Traits and a type that implements Engine. Add a row for it to the map in
//     AGENTS.md.
//  3. Add a row to the table in package engines, and the name of the field to the pattern in .golangci.yml. The test
//     of package engines fails until both exist.
//  4. Let the agent run the tool. For most tools, let Render return a CommandTool, as package command does: the agent
//     starts the program in each client at the same instant, counts its I/O every second, ends it, and returns what it
//     printed. Let the engine's Result call the Result of package command for the counted I/O, and parse
//     ClientReport.Output for the tool's own figures. Leave Traits.Tools empty: the agent looks for the program when it
//     receives the request for a step.
//     A tool with live latencies, or with one job that spans clients, also needs a message in LoadRequest of
//     agent.proto; a package below internal/agent with a type that implements tool.Tool (see package
//     internal/agent/tool), and its rows in internal/agent/tools.go; and a line in internal/cli/plan_document.go. If
//     it reports more than samples and totals, add a message to Ended. Package conductor must limit the message's size,
//     validate it, and convert it to a field of result.Client and of ClientReport.
//  5. If users have command lines of the tool, convert them in internal/convert.
//  6. Reports show OwnRates without further code. Show other figures in a file of internal/report that sectionsOf
//     calls, and add the file to the exceptions of the rule in .golangci.yml.
//
// Finally, add a sample to config/samples and a page to docs. Defaults (api/v1alpha1/defaults.go) and the overrides of
// a phase (v1alpha1.WorkloadOverride, and override.go in package engines) are optional.
//
// An engine has no side effects: it starts no process, opens no file and reads no clock. The agent runs the tool; the
// plan, the conductor, the result and the command line only call the engine:
//
//	Validate   plan and the controller of profiles: is the profile valid?
//	Suits      plan: does a phase need a feature that this profile lacks? (Traits cover features that no profile has.)
//	Describe   plan: which files the load needs and leaves, how long it takes; result: what may distort the figures
//	Render     conductor: the request for one client; the plan also renders it, to find errors before the run
//	Result     result: the tool's own figures, and warnings about them
//
// Traits are plain data, for example whether the clients of a target run one job together, or whether the load ends by
// itself. If other packages need to know something that no trait and no field of Description provides, add a trait or a
// field, so that they do not have to compare engine kinds. Outside the engines' packages, a linter rejects the
// engine-specific fields of v1alpha1.Engine and v1alpha1.TargetResult, and the names of engines.
//
// An engine whose tool the agent understands has three more parts, which only the agent and the engine itself use:
//
//   - Arguments, or a job file: the profile and the parameters of one step as the tool's input. It names no path
//     outside the client's own dataset directory, which is the tool's working directory.
//   - Parse turns the tool's output into a result. The output is untrusted: it comes from a machine and a tool that we
//     do not control, and may be truncated, duplicated, mixed with messages, or something else entirely. The result
//     contains only figures that have been verified. Failures are typed, and their message quotes the tool.
//   - Sample turns the output of the running tool into measure.Sample values, each with its own start and end. The
//     hardest part of an engine is to find out what the tool counts, when it counts, and when it resets its counters.
//     Determine this by experiments, and document it.
//
// # Rules
//
//   - The options of the tool that users may set are on an allow-list, which also checks their values. A deny-list
//     would be incomplete as soon as the tool adds an option.
//   - User input is parsed as strictly as possible and rendered anew, never passed through: two parsers that read the
//     same text differently are a security hole.
//   - Golden files come from real runs of the real tool; testdata/README.md lists the commands that created them. Every
//     parser has a fuzz test with an independent oracle.
//   - Imports: the API types, k8s.io/apimachinery, internal/agentapi, this package and other engines, internal/measure
//     and the standard library.
//
// Package fio is the example to follow. Package command is the smallest engine.
package engine
