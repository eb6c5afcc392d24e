package fio

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Limits on the size of a user's job file.
const (
	maxJobFileBytes = 64 << 10
	maxLineBytes    = 2 << 10
	maxSections     = 256
)

// setting is one option of a section, in the form in which it is written to fio's job file.
type setting struct {
	name  string
	value string
	place place
}

// section is a job of a user's file with all options that apply to it: the options of the preceding [global] sections,
// overridden by the section's own options.
type section struct {
	name     string
	line     int
	settings []setting
}

// sectionName matches the names that a section may have. fio itself treats any name that begins with "global" as a
// global section.
var sectionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 _.:+-]{0,63}$`)

// parseJobFile reads a user's job file. It accepts only a subset of fio's syntax, and rejects everything that fio might
// interpret differently: include, "$" anywhere, duplicate options in a section, and quotes. It accepts only options on
// the allow-list. The error lists up to 20 problems.
func parseJobFile(text string) ([]section, error) {
	if len(text) > maxJobFileBytes {
		return nil, fmt.Errorf("the job file has %d bytes, but the limit is %d", len(text), maxJobFileBytes)
	}
	p := jobFileParser{}
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if err := p.line(line, number); err != nil {
			p.problems = append(p.problems, err)
			if len(p.problems) == 20 {
				p.problems = append(p.problems, errors.New("and possibly more"))
				break
			}
		}
	}
	p.finish()
	if len(p.sections) == 0 && len(p.problems) == 0 {
		p.problems = append(p.problems, errors.New("the job file has no job: add a section such as [load] with its options"))
	}
	if len(p.problems) > 0 {
		return nil, errors.Join(p.problems...)
	}
	return p.sections, nil
}

type jobFileParser struct {
	global   []setting
	live     *section
	isGlobal bool
	sections []section
	problems []error
}

func (p *jobFileParser) line(line string, number int) error {
	if len(line) > maxLineBytes {
		return fmt.Errorf("line %d is too long: the limit is %d bytes", number, maxLineBytes)
	}
	line = strings.TrimSuffix(line, "\r")
	for _, c := range []byte(line) {
		if c != '\t' && (c < ' ' || c > '~') {
			return fmt.Errorf("line %d has a character that is not printable ASCII: %q", number, c)
		}
	}
	// As in fio, a comment begins at the first ";" or "#" anywhere in the line.
	if cut := strings.IndexAny(line, ";#"); cut >= 0 {
		line = line[:cut]
	}
	line = strings.Trim(line, " \t")
	switch {
	case line == "":
		return nil
	case line[0] == '[':
		return p.header(line, number)
	case strings.HasPrefix(line, "include"):
		return fmt.Errorf("line %d: include is not allowed: copy the options of the other file", number)
	case p.live == nil:
		return fmt.Errorf("line %d: option %q comes before the first [section]", number, clip(line))
	}
	return p.option(line, number)
}

func (p *jobFileParser) header(line string, number int) error {
	p.finish()
	// Begin the section even if its name is invalid, so that the options that follow are not added to another section.
	p.live = &section{name: "?", line: number}
	name := strings.TrimSuffix(line[1:], "]")
	if line[len(line)-1] != ']' || !sectionName.MatchString(name) {
		return fmt.Errorf("line %d: %q is not a section: use [NAME], where NAME consists of letters, digits, spaces and _.:+-", number, clip(line))
	}
	p.live.name = name
	if p.isGlobal = name == "global"; p.isGlobal {
		return nil
	}
	if strings.HasPrefix(name, "global") {
		return fmt.Errorf("line %d: fio reads [%s] as a global section: call it [global], or rename it", number, name)
	}
	if len(p.sections) == maxSections {
		return fmt.Errorf("line %d: too many sections (the limit is %d): use numjobs", number, maxSections)
	}
	return nil
}

func (p *jobFileParser) option(line string, number int) error {
	name, value, hasValue := strings.Cut(line, "=")
	name, value = strings.TrimRight(name, " \t"), strings.TrimLeft(value, " \t")
	if hasValue && value == "" {
		return fmt.Errorf("line %d: option %s has an empty value", number, clip(name))
	}
	where := place{section: p.live.name, line: number}
	canonical, written, err := checkOption(name, value, where, false)
	if err != nil {
		return err
	}
	if allowedOptions[canonical].dropped {
		return nil
	}
	for _, earlier := range p.live.settings {
		if earlier.name == canonical {
			return fmt.Errorf("duplicate option %s%s, also in line %d: remove one", name, where, earlier.place.line)
		}
	}
	p.live.settings = append(p.live.settings, setting{name: canonical, value: written, place: where})
	return nil
}

// finish completes the current section. It adds the preceding [global] settings to the section of a job, and keeps the
// settings of a [global] section for the sections that follow.
func (p *jobFileParser) finish() {
	switch {
	case p.live == nil:
		return
	case p.isGlobal:
		p.global = mergeSettings(p.global, p.live.settings)
	default:
		p.live.settings = mergeSettings(p.global, p.live.settings)
		p.sections = append(p.sections, *p.live)
	}
	p.live, p.isGlobal = nil, false
}

// exclusive lists groups of mutually exclusive options. A section may set at most one option of a group, and that
// option overrides all options of the group that [global] sections set.
var exclusive = [][]string{
	{"bs", "bsrange", "bssplit"},
	{"direct", "buffered"},
	{"rwmixread", "rwmixwrite"},
	{"rate", "rate_iops"},
}

// mergeSettings returns the settings in `below`, overridden by the settings in `above`. An option in `above` also
// removes the other options of its exclusive group, because fio's behavior with two options of a group depends on the
// version of fio.
func mergeSettings(below, above []setting) []setting {
	var result []setting
	for _, old := range below {
		displaced := slices.ContainsFunc(above, func(now setting) bool {
			return now.name == old.name || slices.ContainsFunc(exclusive, func(group []string) bool {
				return slices.Contains(group, now.name) && slices.Contains(group, old.name)
			})
		})
		if !displaced {
			result = append(result, old)
		}
	}
	return append(result, above...)
}

// get returns the value of a setting. ok is false if the section does not contain the setting.
func (s *section) get(name string) (value string, ok bool) {
	for _, one := range s.settings {
		if one.name == name {
			return one.value, true
		}
	}
	return "", false
}

// checkExclusive returns an error if two options of the section contradict each other.
func (s *section) checkExclusive() error {
	for _, group := range exclusive {
		var found []string
		for _, name := range group {
			if _, ok := s.get(name); ok {
				found = append(found, name)
			}
		}
		if len(found) > 1 {
			return fmt.Errorf("section [%s] (line %d) sets both %s: remove one", s.name, s.line, strings.Join(found, " and "))
		}
	}
	return nil
}
