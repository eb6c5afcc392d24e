package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/internal/engine/fio"
)

// fioOption is an option as the user wrote it.
type fioOption struct {
	name, value string
	hasValue    bool
}

func (o fioOption) String() string {
	if !o.hasValue {
		return o.name
	}
	return o.name + "=" + o.value
}

// fioSection is a job with its own options and those options of [global] that it does not override.
type fioSection struct {
	name    string
	options []fioOption
}

// set adds an option, and removes any earlier option with the same name.
func (s *fioSection) set(option fioOption) {
	s.options = slices.DeleteFunc(s.options, func(old fioOption) bool { return old.name == option.name })
	s.options = append(s.options, option)
}

const maxFioSections = 256

func newFioOption(text string) fioOption {
	name, value, has := strings.Cut(text, "=")
	name = fio.MainName(strings.ToLower(strings.TrimSpace(name)))
	return fioOption{name: name, value: strings.TrimSpace(value), hasValue: has}
}

// readFioFile reads a job file. Its sections start with the options in global.
func readFioFile(text string, global fioSection) ([]fioSection, error) {
	var sections []fioSection
	var problems []error
	var live *fioSection
	number := 0
	for line := range strings.Lines(text) {
		number++
		if cut := strings.IndexAny(line, ";#"); cut >= 0 {
			line = line[:cut]
		}
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case line[0] == '[':
			name, closed := strings.CutSuffix(line[1:], "]")
			switch {
			case !closed || name == "":
				problems = append(problems, fmt.Errorf("line %d: %s is not a section", number, shown(line)))
			case strings.HasPrefix(name, "global"):
				live = &global
			case len(sections) == maxFioSections:
				return nil, fmt.Errorf("too many sections: the limit is %d", maxFioSections)
			default:
				sections = append(sections, fioSection{name: name, options: slices.Clone(global.options)})
				live = &sections[len(sections)-1]
			}
		case live == nil:
			problems = append(problems, fmt.Errorf("line %d: %s comes before the first [section]", number, shown(line)))
		case strings.HasPrefix(line, "include ") || strings.HasPrefix(line, "include\t"):
			problems = append(problems, fmt.Errorf("line %d: include is not supported: copy the options of the included file into this one", number))
		case strings.Contains(line, "$"):
			problems = append(problems, fmt.Errorf("line %d: %s: contains a variable, whose value is known only where fio runs: replace it with its value", number, shown(line)))
		default:
			live.set(newFioOption(line))
		}
	}
	if len(sections) == 0 && len(problems) == 0 {
		problems = append(problems, errors.New("the job file has no job: add a section such as [load] with its options"))
	}
	return sections, all(problems)
}

// fioFlags lists options that take a value only after "=", never from the next argument.
var fioFlags = []string{
	"norandommap", "group_reporting", "time_based", "thread", "refill_buffers", "zero_buffers", "stonewall", "new_group", "hipri", "bs_unaligned",
	"fixedbufs", "registerfiles", "sqthread_poll", "nonvectored", "userspace_reap", "thp", "uncached", "exitall", "do_verify_only", "fill_fs",
}

// fioGeneral lists options that apply to fio itself rather than to a job. Each entry states whether the option takes a
// value, and why a profile does not need the option.
var fioGeneral = map[string]struct {
	takes bool
	why   string
}{
	"output": {true, whyOutput}, "output-format": {true, whyOutput}, "append-terse": {false, whyOutput}, "terse-version": {true, whyOutput},
	"minimal": {false, whyOutput}, "eta": {true, whyOutput}, "eta-newline": {true, whyOutput}, "eta-interval": {true, whyOutput},
	"status-interval": {true, whyOutput}, "bandwidth-log": {false, whyOutput}, "idle-prof": {true, whyOutput}, "debug": {true, whyOutput},
	"max-jobs": {true, whyProgram}, "alloc-size": {true, whyProgram}, "warnings-fatal": {false, whyProgram}, "readonly": {false, whyProgram},
	"inflate-log": {true, whyOutput}, "trigger-file": {true, whyProgram}, "trigger-timeout": {true, whyProgram}, "trigger": {true, whyProgram},
	"trigger-remote": {true, whyProgram}, "aux-path": {true, whyOutput}, "showcmd": {false, whyOutput}, "parse-only": {false, whyProgram},
}

const (
	whyOutput  = "storagebench sets its own output options"
	whyProgram = "does not affect the load"
)

// fioLine holds the jobs of a command line, and notes about options that apply to fio itself rather than to a job.
type fioLine struct {
	sections []fioSection
	notes    notes
}

// readFioLine reads a command line. As in fio, options before the first --name apply to all jobs, job files are read
// after the rest of the line, and the jobs of each further file start after all earlier jobs have ended.
func readFioLine(arguments []string, options *Options) (fioLine, error) {
	var l fioLine
	var problems []error
	var global fioSection
	var files, only []string
	live := &global
	tooMany := fmt.Errorf("too many jobs: the limit is %d", maxFioSections)
	for i := 0; i < len(arguments); i++ {
		text := strings.TrimLeft(arguments[i], "-")
		if text == arguments[i] {
			files = append(files, text)
			continue
		}
		option := newFioOption(text)
		general, isGeneral := fioGeneral[option.name]
		takes := !slices.Contains(fioFlags, option.name) && (!isGeneral || general.takes)
		if !option.hasValue && takes && i+1 < len(arguments) && (arguments[i+1] == "" || arguments[i+1][0] != '-') {
			i++
			option.value, option.hasValue = arguments[i], true
		}
		switch {
		case isGeneral:
			l.notes.unneeded("--"+option.String(), general.why)
		case option.name == "client" || option.name == "server":
			problems = append(problems, fmt.Errorf("--%s is not supported: remove it, and set clients.count in the benchmark", option.name))
		case option.name == "section":
			only = append(only, option.value)
		case strings.Contains(option.value, "$"):
			problems = append(problems, fmt.Errorf("--%s: contains a variable, whose value is known only where fio runs: replace it with its value", shown(option.String())))
		case option.name == "name" && strings.HasPrefix(option.value, "global"):
			live = &global
		case option.name == "name":
			l.sections = append(l.sections, fioSection{name: option.value, options: slices.Clone(global.options)})
			live = &l.sections[len(l.sections)-1]
		default:
			live.set(option)
		}
		if len(l.sections) > maxFioSections {
			return l, tooMany
		}
	}
	skipped := func(s fioSection) bool { return len(only) > 0 && !slices.Contains(only, s.name) }
	l.sections = slices.DeleteFunc(l.sections, skipped)
	for i, name := range files {
		sections, err := readNamedFio(name, global, options)
		if err != nil {
			problems = append(problems, err)
		}
		sections = slices.DeleteFunc(sections, skipped)
		if i > 0 && len(sections) > 0 {
			// Insert stonewall before the job's own options, so that stonewall=0 in the file overrides it.
			sections[0].options = slices.Insert(sections[0].options, 0, fioOption{name: "stonewall"})
		}
		if l.sections = append(l.sections, sections...); len(l.sections) > maxFioSections {
			return l, tooMany
		}
		global = fioSection{} // fio applies the options of the command line only to the first file
	}
	if len(l.sections) == 0 && len(problems) == 0 {
		problems = append(problems, errors.New("no job given: specify --name=NAME with its options, or a job file"))
	}
	return l, all(problems)
}

func readNamedFio(name string, global fioSection, options *Options) ([]fioSection, error) {
	text, err := options.read(name)
	if err != nil {
		return nil, fmt.Errorf("read the job file: %w", err)
	}
	sections, err := readFioFile(string(text), global)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(name), err)
	}
	return sections, nil
}
