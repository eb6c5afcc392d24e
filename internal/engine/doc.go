// Package engine is the parent of the engines: the tools that generate load. Each lives in a
// package of its own, below this one. It holds no code, only how to add one.
//
// # How to add an engine
//
// An engine is pure: it starts no process, opens no file and reads no clock. The agent
// (internal/agent) runs the tool; plan, conductor and command line only ask. An engine
// therefore consists of three things and what they need to be trusted:
//
//   - Render: from the profile of the API and the parameters of one step to the tool's input
//     (a job file, an argument list, a host list). The input names no path outside of the
//     client's own dataset directory, which is the tool's working directory. Beside it stand
//     Validate, which gives field errors with the remedy in them, and Describe, which tells
//     the plan what a step will do: what it reads and writes, which files of which size it
//     leaves or needs, how much it keeps outstanding.
//   - Parse: from the tool's output to a result. The output is hostile: it comes from a
//     machine and a tool that are not ours, it may be cut off, doubled, mixed with messages,
//     or be something else altogether. What can not be proven is no result. Failures are
//     typed, and their message holds the tool's own words.
//   - Sample: from what the tool tells while it runs to measure.Sample, each with its own
//     start and end. What the tool counts, when it counts it, and when it starts to count
//     anew is the heart of an engine: find it out by experiments and write it down.
//
// # Rules
//
//   - Options of the tool that users may give are on an allow-list, each with a check of its
//     value. A list of forbidden ones is out of date with the tool's next release.
//   - What a user wrote is parsed as strictly as possible and written anew, never passed
//     through: two parsers that read one text differently are a hole.
//   - Golden files come from real runs of the real tool, with the commands that made them in
//     testdata/README.md. Every parser has a fuzz test whose oracle is independent of it.
//   - Imports: the API types, internal/measure and the standard library.
//
// Package fio is the example to follow.
package engine
