package ior

import (
	"maps"
	"slices"
	"strings"
)

// jsonObject is the current object of IOR's JSON output, which is a result or a row of the summary. The JSON is read
// line by line, because IOR writes one name per line. A JSON decoder would reject most outputs: warnings appear before
// and between the values, -v adds more lines, and the output of a killed run is truncated.
type jsonObject struct {
	open      bool
	isSummary bool
	row       row
	seen      map[string]bool
	summary   summaryFigures
	// damaged is true if the object contains anything other than its figures. bad is the first text that is not a
	// figure.
	damaged bool
	bad     string
}

func (o *jsonObject) invalidate(by string) {
	if !o.damaged {
		o.damaged, o.bad = true, clip(by)
	}
}

// jsonLine processes a line of the JSON format.
func (s *Stream) jsonLine(line textLine) {
	text := strings.TrimLeft(line.text, "[{, ")
	if strings.HasPrefix(text, "}") {
		s.endObject(line.number)
		return
	}
	name, value, ok := jsonField(text)
	if !ok {
		if strings.Trim(text, "[]{}, ") != "" {
			s.foreign(line)
			s.json.invalidate(text)
		}
		return
	}
	switch {
	case name == "access" && s.section != sectionSummary && !s.optionOfAccess(value):
		s.beginObject(false, value, line.number)
	case name == "operation" && s.section == sectionSummary:
		s.beginObject(true, value, line.number)
	case s.json.open:
		s.jsonValue(name, value)
	case name == "summary":
		s.section = sectionSummary
	case name == "Version":
		if s.output.Version == "" && len(value) <= 32 {
			s.output.Version = value
		}
	default:
		s.recordParameter(name, value)
	}
}

// optionOfAccess reports whether a field with the name "access" and the given value belongs to the options of a test,
// for example "access": "file-per-process". In a result, the value is an operation instead.
func (s *Stream) optionOfAccess(value string) bool {
	_, ok := operationOf(value)
	return !ok && value != "remove"
}

// jsonField splits a line such as `"name": value,` into the name and the value. The value of a list is "[".
func jsonField(text string) (string, string, bool) {
	rest, ok := strings.CutPrefix(text, `"`)
	if !ok {
		return "", "", false
	}
	name, value, ok := strings.Cut(rest, `"`)
	if !ok || len(name) > 64 {
		return "", "", false
	}
	value, ok = strings.CutPrefix(strings.TrimLeft(value, " "), ":")
	if !ok {
		return "", "", false
	}
	value = strings.TrimSpace(value)
	if quoted, ok := strings.CutPrefix(value, `"`); ok {
		value, _, ok = strings.Cut(quoted, `"`)
		return name, value, ok
	}
	return name, strings.TrimSpace(strings.TrimSuffix(value, ",")), true
}

func (s *Stream) beginObject(isSummary bool, access string, line int) {
	if s.json.open {
		s.damaged(line, "an object starts inside another object")
	}
	s.json = jsonObject{open: true, isSummary: isSummary, row: newRow(), seen: map[string]bool{}}
	s.json.row.access, s.json.summary.access = access, access
}

func (s *Stream) jsonValue(name, value string) {
	object := &s.json
	// A result with a duplicate figure is damaged. The summary may have duplicates, because IOR 3.3.0 prints three of
	// its names twice.
	known, isFigure := jsonFigures[name]
	if object.isSummary {
		object.summaryValue(name, value)
		return
	}
	if !isFigure || object.seen[name] {
		object.invalidate(name)
		return
	}
	object.seen[name] = true
	figure, ok := parseNumber(value)
	if !ok {
		object.invalidate(name + ": " + value)
		return
	}
	object.row.figures[known] = figure
}

func (o *jsonObject) summaryValue(name, value string) {
	targets := map[string]*number{
		"bwMaxMIB": &o.summary.highest, "bwMinMIB": &o.summary.lowest, "bwMeanMIB": &o.summary.mean, "bwStdMIB": &o.summary.deviation,
		"MeanTime": &o.summary.time, "StoneWallTime": &o.summary.stonewallTime, "StoneWallbwMeanMIB": &o.summary.stonewallBandwidth,
	}
	counts := map[string]*int64{"numTasks": &o.summary.tasks, "repetitions": &o.summary.repetitions}
	if target := targets[name]; target != nil && parseInto(target, value) {
		o.seen[name] = true
	}
	if target := counts[name]; target != nil {
		if count, ok := parseCount(value); ok {
			*target, o.seen[name] = count, true
		}
	}
}

func (s *Stream) endObject(line int) {
	object := s.json
	s.json = jsonObject{}
	switch {
	case !object.open:
	case object.isSummary:
		seen := object.seen
		object.summary.hasBandwidths = seen["bwMaxMIB"] && seen["bwMinMIB"] && seen["bwMeanMIB"] && seen["bwStdMIB"]
		object.summary.hasCounts = seen["numTasks"] && seen["repetitions"]
		object.summary.hasTime = seen["MeanTime"]
		object.summary.hasAnyWall = seen["StoneWallTime"] && seen["StoneWallbwMeanMIB"]
		s.summarized(&object.summary, line)
	case object.row.access == "remove":
	case object.damaged:
		s.damaged(line, "the result of a %s has an unexpected value: %q", object.row.access, object.bad)
	default:
		for _, name := range slices.Sorted(maps.Keys(jsonFigures)) {
			if !object.seen[name] {
				s.damaged(line, "the result of a %s lacks the field %s", object.row.access, name)
				return
			}
		}
		operation, _ := operationOf(object.row.access)
		s.repetition(&object.row, operation, line)
	}
}
