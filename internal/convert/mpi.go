package convert

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// mpiOption is an option on a command line of IOR or mdtest. It has a single-letter or a long name.
type mpiOption struct {
	name, value string
	hasValue    bool
}

// String returns the option as it is written on a command line.
func (o mpiOption) String() string {
	switch {
	case !o.hasValue:
		return o.name
	case strings.HasPrefix(o.name, "--"):
		return o.name + "=" + o.value
	}
	return o.name + " " + o.value
}

// words returns the option as arguments of the tool.
func (o mpiOption) words() []string {
	if o.hasValue && !strings.HasPrefix(o.name, "--") {
		return []string{o.name, o.value}
	}
	return []string{o.String()}
}

// on reports whether a flag is set. Like IOR, it accepts a flag with a number as its value, such as -w=0.
func (o mpiOption) on() bool {
	number, err := strconv.Atoi(o.value)
	return !o.hasValue || err == nil && number > 0
}

// mpiLine is a command line of IOR or mdtest.
type mpiLine struct {
	options []mpiOption
	// processes is the number of ranks that mpirun starts, or 0 if the command line does not set it.
	processes int64
	notes     notes
}

// readMPI reads a command line, which may begin with mpirun and the name of the tool. flags contains the letters of the
// options that take no value, and values the letters of the options that take one.
func readMPI(arguments []string, tool, flags, values string) (*mpiLine, error) {
	l := &mpiLine{}
	// If the first argument is an option, the command line does not contain the tool's name. A later argument such as
	// "ior" is then the value of an option, for example a path.
	if len(arguments) > 0 && !strings.HasPrefix(arguments[0], "-") {
		for i, argument := range arguments {
			if len(program([]string{argument}, tool)) == 0 {
				l.launcher(arguments[:i])
				arguments = arguments[i+1:]
				break
			}
		}
	}
	var problems []error
	for i := 0; i < len(arguments); i++ {
		text := arguments[i]
		switch {
		case len(text) < 2 || text[0] != '-':
			problems = append(problems, fmt.Errorf("%s has no option %q", tool, shown(text)))
		case text[1] == '-':
			name, value, has := strings.Cut(text, "=")
			if !has && i+1 < len(arguments) && arguments[i+1] != "" && arguments[i+1][0] != '-' {
				i++
				value, has = arguments[i], true
			}
			l.options = append(l.options, mpiOption{name: name, value: value, hasValue: has})
		case strings.IndexByte(values, text[1]) >= 0:
			value, has := strings.CutPrefix(text[2:], "=")
			if value == "" && !has {
				if i++; i == len(arguments) {
					problems = append(problems, fmt.Errorf("%s: has no value", text))
					continue
				}
				value = arguments[i]
			}
			l.options = append(l.options, mpiOption{name: text[:2], value: value, hasValue: true})
		default:
			group, value, has := strings.Cut(text[1:], "=")
			for _, letter := range []byte(group) {
				if strings.IndexByte(flags, letter) < 0 {
					problems = append(problems, fmt.Errorf("-%s: not an option of %s", shown(string(letter)), tool))
					continue
				}
				l.options = append(l.options, mpiOption{name: "-" + string(letter), value: value, hasValue: has})
			}
		}
	}
	return l, all(problems)
}

// launcher reads the arguments that precede the tool's name: mpirun, mpiexec or srun with its options.
func (l *mpiLine) launcher(arguments []string) {
	for i := 0; i < len(arguments); i++ {
		name, value, has := strings.Cut(arguments[i], "=")
		switch name {
		case "-np", "-n", "--np", "--n", "--ntasks":
			if !has && i+1 < len(arguments) {
				i++
				value = arguments[i]
			}
			if count, err := strconv.ParseInt(value, 10, 32); err == nil && count > 0 {
				l.processes = count
			}
		}
	}
	if len(arguments) > 0 {
		l.notes.elsewhere(shown(strings.Join(arguments, " ")), "the operator starts MPI, with processesPerClient ranks on each of clients.count clients", "set processesPerClient and clients.count")
	}
}

// mpiBytes reads a size in IOR's notation: bytes, or a number with the suffix k, m, g or t (powers of 1024).
func mpiBytes(text string) (int64, error) {
	lower := strings.ToLower(text)
	number := strings.TrimRight(lower, "kmgtib")
	shift := map[string]int{"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "kb": 10, "mb": 20, "gb": 30, "tb": 40, "kib": 10, "mib": 20, "gib": 30, "tib": 40}
	power, known := shift[lower[len(number):]]
	value, err := strconv.ParseInt(number, 10, 64)
	if !known || err != nil || value < 0 || value > (1<<60)>>power || strings.HasPrefix(number, "+") {
		return 0, errors.New("must be a number of bytes, or a number with the suffix k, m, g or t (powers of 1024)")
	}
	return value << power, nil
}

func mpiCount(text string, most int64) (int64, error) {
	value, err := mpiBytes(text) // IOR allows the same suffixes for a count as for a size
	if err != nil || value > most {
		return 0, fmt.Errorf("must be a whole number up to %d", most)
	}
	return value, nil
}

// severalPaths adds a note about an option with several paths, separated by @, over which IOR and mdtest distribute
// their ranks.
func (n *notes) severalPaths(o mpiOption) {
	paths := strings.Count(o.value, "@") + 1
	n.differs(o.String(),
		fmt.Sprintf("the ranks are distributed over %d paths; here all ranks of a target work below one path", paths),
		"make each path a target with its share of the ranks, and load the targets together with mode Parallel")
}
