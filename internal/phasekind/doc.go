// Package phasekind describes how the kinds of phases differ: their traits and their figures. Its functions have no
// side effects. Each file describes one kind, and [Of] returns the description. Other packages check a trait of the
// description instead of comparing kinds.
//
//	[Kind.Figures]   all figures of a result that can be shown or compared, the main ones marked
//	[Kind.Overall]   the one figure by which runs are compared over time
//	[Kind.Block]     the part of a report that shows the figures
//	[Differs]        why results of two phases of a kind cannot be compared
//	[Operations] [Levels] [Total]   the figures of operations, drains, and cells of ramps and sweeps
//
// Callers that show a figure choose its format.
//
// To add a kind, follow the recipe in AGENTS.md.
package phasekind
