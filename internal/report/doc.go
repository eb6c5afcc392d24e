// Package report writes the result of a run as text, JSON, CSV, Markdown or HTML, and compares runs.
//
//	Document ──sectionsOf──> sections of paragraphs, lists, tables and charts ──> terminal, Markdown, HTML
//
// Every format renders the same sections in the same order. Text has their short form unless it is asked for details,
// Markdown folds the details, and HTML has everything and all charts. The short form shows no figure twice. A kind of
// phase brings its figures, and names the block that shows them (phasekind); a new kind needs nothing here.
package report
