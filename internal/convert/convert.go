package convert

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Kind classifies notes by their effect on the load.
type Kind string

// Possible values of Kind, the most severe first.
const (
	// Differs means that the option has no equivalent, so the converted load differs from the original.
	Differs Kind = "Differs"
	// Elsewhere means that the option is set in the benchmark, not in the profile.
	Elsewhere Kind = "Elsewhere"
	// Unneeded means that the option can be omitted, for example because storagebench always behaves as the option
	// requests, or because the option does not affect the load.
	Unneeded Kind = "Unneeded"
)

// Kinds lists the kinds in the order in which they are printed.
var Kinds = []Kind{Differs, Elsewhere, Unneeded}

// Note describes an option that the profile omits or changes, and the reason.
type Note struct {
	Kind Kind `json:"kind"`
	// Option is the option as it was given, such as -r100.
	Option string `json:"option"`
	// Why explains why the option has no equivalent, or where it belongs.
	Why string `json:"why"`
	// Remedy is the action that the user should take, if any.
	Remedy string `json:"remedy,omitempty"`
}

// Workload is one converted load.
type Workload struct {
	// Name is the name of the profile.
	Name string
	Spec v1alpha1.WorkloadProfileSpec
	// Duration and WarmUp are the duration and the warm-up of the original load, or 0 if it has none. A profile cannot
	// contain them: users set them in the benchmark's phase.
	Duration, WarmUp time.Duration
	// Processes is the total number of MPI processes of all clients; 0 if the command line does not set it.
	Processes int64
	Notes     []Note
}

// Options provides information that the command line lacks.
type Options struct {
	// Name is the name of the profile. If it is empty, the profile gets the name of the tool or of the fio job.
	Name string
	// DatasetBytes is the size of each client's dataset. It is required if the command line relies on the size of
	// existing files.
	DatasetBytes int64
	// ReadFile returns the content of a file that the command line names. If it is nil, files cannot be read.
	ReadFile func(name string) ([]byte, error)
}

func (o *Options) name(otherwise string) string {
	if o.Name != "" {
		return o.Name
	}
	return otherwise
}

func (o *Options) read(name string) ([]byte, error) {
	if o.ReadFile == nil {
		return nil, fmt.Errorf("cannot read file %s: file access is disabled", shown(name))
	}
	text, err := o.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s is too large (%d bytes): the limit is %d", shown(name), len(text), maxFileBytes)
	}
	return text, nil
}

// Limits on the input: the size of a file in bytes, the number of arguments, and the size of one argument in bytes.
const (
	maxFileBytes    = 1 << 20
	maxArguments    = 4096
	maxArgumentSize = 8 << 10
)

// checkArguments returns an error if the arguments exceed maxArguments or maxArgumentSize. No real command line is that
// long.
func checkArguments(arguments []string) error {
	if len(arguments) > maxArguments {
		return fmt.Errorf("too many arguments (%d): the limit is %d", len(arguments), maxArguments)
	}
	for _, argument := range arguments {
		if len(argument) > maxArgumentSize {
			return fmt.Errorf("an argument is too long (%d bytes): the limit is %d", len(argument), maxArgumentSize)
		}
	}
	return nil
}

// notes collects the notes about the options of one load.
type notes []Note

func (n *notes) add(kind Kind, option, why, remedy string) {
	*n = append(*n, Note{Kind: kind, Option: shown(option), Why: why, Remedy: remedy})
}

func (n *notes) differs(option, why, remedy string)   { n.add(Differs, option, why, remedy) }
func (n *notes) elsewhere(option, why, remedy string) { n.add(Elsewhere, option, why, remedy) }
func (n *notes) unneeded(option, why string)          { n.add(Unneeded, option, why, "") }

// shown shortens user input for a message, and replaces everything except printable ASCII with question marks.
func shown(text string) string {
	const most = 80
	safe := func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}
	if len(text) > most {
		return strings.Map(safe, text[:most]) + "..."
	}
	return strings.Map(safe, text)
}

// all joins up to 20 problems into one error, so that users can fix all of them at once.
func all(problems []error) error {
	const most = 20
	if len(problems) > most {
		problems = append(problems[:most:most], errors.New("and more"))
	}
	return errors.Join(problems...)
}

// program removes the program's name if it is the first argument, because users may paste a whole command line.
func program(arguments []string, name string) []string {
	if len(arguments) == 0 {
		return arguments
	}
	first := strings.ToLower(arguments[0])
	if i := strings.LastIndexAny(first, `/\`); i >= 0 {
		first = first[i+1:]
	}
	if strings.TrimSuffix(first, ".exe") == name {
		return arguments[1:]
	}
	return arguments
}
