// Package report writes the result of a run as text, JSON, CSV, Markdown or HTML, and compares runs.
//
//	Document ──sectionsOf──> sections of paragraphs, lists, tables and charts ──> terminal, Markdown, HTML
//
// Every format renders the same sections in the same order. Text uses the short form unless details are requested,
// Markdown folds the details, and HTML shows everything, including all charts. The short form shows each figure only
// once.
// Package phasekind defines the figures of each kind of phase and names the block that shows them, so a new kind needs
// no change in this package.
package report
