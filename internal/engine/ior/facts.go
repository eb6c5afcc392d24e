package ior

import (
	"slices"
	"strings"
)

// splitFact splits a line with a name and a value, such as "Command line        : ior -w" or "Path: /data".
func splitFact(text string) (string, string, bool) {
	name, value, found := strings.Cut(text, ":")
	name = strings.TrimSpace(name)
	if !found || name == "" || len(name) > 64 {
		return "", "", false
	}
	return name, strings.TrimSpace(value), true
}

func (s *Stream) fact(line textLine) bool {
	name, value, ok := splitFact(line.text)
	return ok && s.recordParameter(name, value)
}

// recordParameter records a parameter that IOR printed and reports whether its name is known. Most names are the same
// in all formats.
func (s *Stream) recordParameter(name, value string) bool {
	switch name {
	case "TestID":
		if s.rows {
			s.nextTest()
		}
		s.facts = facts{}
		s.section = sectionHead
	case "Command line":
		if s.output.CommandLine == "" {
			s.output.CommandLine, s.output.limited = clip(value), limitsTime(value)
		}
	case "api":
		if value = clip(value); value != "" {
			s.output.API = value
		}
	case "tasks", "Participating tasks":
		if count, ok := parseCount(value); ok && count < 1<<30 {
			s.facts.tasks, s.output.Tasks = count, int(count)
		}
	case "nodes":
		if count, ok := parseCount(value); ok && count < 1<<30 {
			s.output.Nodes = int(count)
		}
	case "segments":
		if count, ok := parseCount(value); ok {
			s.facts.segments = count
		}
	case "repetitions":
		if count, ok := parseCount(value); ok && count < 1<<30 {
			s.output.DeclaredRepetitions = int(count)
		}
	case "dryRun":
		s.output.DryRun = s.output.DryRun || value != "0"
	case "Finished":
		s.output.Finished = value != ""
	case "Began", "Machine", "StartTime", "Path", "FS", "Options", "Results", "apiVersion", "test filename", "access", "type",
		"ordering in a file", "ordering inter file", "task offset", "reorder random seed", "clients per node", "xfersize",
		"blocksize", "aggregate filesize", "stonewallingTime", "stoneWallingWearOut", "verbose", "Max Write", "Max Read",
		"Summary of all tests", "Commencing write performance test", "Commencing read performance test", "memoryBuffer",
		"dataAccess", "GPUDirect", "Start time skew across all tasks", "Pairs deadlineForStonewallingaccessed":
	default:
		return false
	}
	return true
}

// limitsTime reports whether a command line sets IOR's own time limit.
func limitsTime(commandLine string) bool {
	return slices.ContainsFunc(strings.Fields(commandLine), func(field string) bool {
		return strings.HasPrefix(field, "-T") || strings.Contains(strings.ToLower(field), "maxtimeduration")
	})
}
