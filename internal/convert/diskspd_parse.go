package convert

import (
	"errors"
	"fmt"
	"strings"
)

const maxDiskspdTargets = 1000

type diskspdLine struct {
	span diskspdSpan
	// target describes the load, which is the same on each file or device in paths.
	target diskspdTarget
	paths  []string
	// cacheGiven and through are true once -S has set a cache mode or write-through, respectively. diskspdCaching uses
	// them to detect contradictory modes.
	cacheGiven, through bool
	limitGiven          bool
}

// readDiskspdLine reads the arguments, without the program's name. It joins all problems into one error.
func readDiskspdLine(arguments []string) (*diskspdLine, error) {
	l := &diskspdLine{span: newDiskspdSpan(), target: newDiskspdTarget()}
	var problems []error
	var options []string
	for _, argument := range arguments {
		switch {
		case argument == "":
			problems = append(problems, errors.New("empty argument"))
		case argument[0] != '-' && argument[0] != '/':
			l.paths = append(l.paths, argument)
		case len(l.paths) > 0:
			problems = append(problems, fmt.Errorf("%s: options must come before the targets", shown(argument)))
		case len(argument) == 1:
			problems = append(problems, fmt.Errorf("unknown option %q", argument))
		default:
			options = append(options, argument)
		}
	}
	// Parse -b first, regardless of its position, because sizes in blocks depend on the block size.
	for _, pass := range []bool{true, false} {
		for _, argument := range options {
			if (argument[1] == 'b') != pass {
				continue
			}
			if err := l.option(argument); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", shown(argument), err))
			}
		}
	}
	if len(l.paths) > maxDiskspdTargets {
		problems = append(problems, fmt.Errorf("too many targets (%d): the limit is %d", len(l.paths), maxDiskspdTargets))
	}
	if len(l.paths) == 0 && len(problems) == 0 {
		problems = append(problems, errors.New("no target given: specify the path of a file at the end, as for DiskSpd"))
	}
	return l, all(problems)
}

// diskspdOption parses an option's value, which is the text after its letter.
type diskspdOption func(l *diskspdLine, rest string) error

func (l *diskspdLine) option(argument string) error {
	letter, rest := argument[1], argument[2:]
	read, known := diskspdOptions[letter]
	if !known {
		return errors.New("DiskSpd 2.2 has no such option")
	}
	key := string(letter)
	switch {
	case letter == 'r' && strings.HasPrefix(rest, "s"), letter == 'r' && strings.HasPrefix(rest, "d"):
		key = "r" + rest[:1]
	case letter == 's' && strings.HasPrefix(rest, "i"):
		key = "si"
	case letter == 'f' && rest != "" && (rest[0] < '0' || rest[0] > '9'):
		key = "fh"
	}
	if letter != 'a' && letter != 'S' && letter != 'y' && letter != 'e' && letter != 'r' && letter != 'f' {
		if earlier, twice := l.span.given[key]; twice {
			return fmt.Errorf("duplicate %s: keep one", shown(earlier))
		}
	}
	l.span.given[key] = strings.TrimSpace(l.span.given[key] + " " + argument)
	before := len(l.span.extra)
	err := read(l, rest)
	for i := before; i < len(l.span.extra); i++ {
		l.span.extra[i].Option = shown(argument)
	}
	return err
}

func diskspdFlag(set func(l *diskspdLine)) diskspdOption {
	return func(l *diskspdLine, rest string) error {
		if rest != "" {
			return fmt.Errorf("%q follows an option that takes no value", shown(rest))
		}
		set(l)
		return nil
	}
}

// diskspdNumber returns a parser for an option whose value is a whole number from least to most.
func diskspdNumber(least, most int64, target func(l *diskspdLine) *int64) diskspdOption {
	return func(l *diskspdLine, rest string) error {
		value, err := diskspdCount(rest, least, most)
		if err != nil {
			return err
		}
		*target(l) = value
		return nil
	}
}

func diskspdTime(target func(l *diskspdLine) *int64) diskspdOption {
	return diskspdNumber(0, 7*24*3600, target)
}

// diskspdIgnored returns a parser for an option that is not converted. The parser adds a note and ignores the value.
func diskspdIgnored(kind Kind, why, remedy string) diskspdOption {
	return func(l *diskspdLine, _ string) error {
		l.span.extra = append(l.span.extra, Note{Kind: kind, Why: why, Remedy: remedy})
		return nil
	}
}

func diskspdBytes(target func(l *diskspdLine) *uint64) diskspdOption {
	return func(l *diskspdLine, rest string) error {
		value, err := diskspdWhole(rest, l.target.block)
		if err == nil && value < 1 {
			err = errors.New("must be at least 1")
		}
		*target(l) = value
		return err
	}
}
