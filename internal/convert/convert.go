package convert

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Kind says what a note means for the load.
type Kind string

// The kinds, the gravest first.
const (
	// Differs: the option has no equal, so the converted load is not the same.
	Differs Kind = "Differs"
	// Elsewhere: the option is set in the benchmark, not in the profile.
	Elsewhere Kind = "Elsewhere"
	// Unneeded: nothing has to be done for what the option asks for, or it does not touch the load.
	Unneeded Kind = "Unneeded"
)

// Kinds in the order in which they are told.
var Kinds = []Kind{Differs, Elsewhere, Unneeded}

// Note says what became of an option that the profile does not hold as it is.
type Note struct {
	Kind Kind `json:"kind"`
	// Option as it was given, such as -r100.
	Option string `json:"option"`
	// Why it has no equal, or where it belongs.
	Why string `json:"why"`
	// Remedy is what to do, where there is something.
	Remedy string `json:"remedy,omitempty"`
}

// Workload is one load that was converted.
type Workload struct {
	// Name for the profile.
	Name string
	Spec v1alpha1.WorkloadProfileSpec
	// Duration and WarmUp that the command line asked for, for the phase; 0 where it did not say.
	Duration, WarmUp time.Duration
	// Processes of MPI over all clients, 0 where the command line did not say.
	Processes int64
	Notes     []Note
}

// Options are what a command line does not tell.
type Options struct {
	// Name of the profile. "": the tool's, or that of the job.
	Name string
	// DatasetBytes that each client works on, where the command line leaves it to what is there.
	DatasetBytes int64
	// ReadFile gives the text of a file that the command line names. nil: none can be read.
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
		return nil, fmt.Errorf("the file %s cannot be read here", shown(name))
	}
	text, err := o.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s has %d bytes: at most %d are read", shown(name), len(text), maxFileBytes)
	}
	return text, nil
}

// Bounds of what is read.
const (
	maxFileBytes    = 1 << 20
	maxArguments    = 4096
	maxArgumentSize = 8 << 10
)

// checkArguments refuses what no command line is.
func checkArguments(arguments []string) error {
	if len(arguments) > maxArguments {
		return fmt.Errorf("%d arguments: at most %d are read", len(arguments), maxArguments)
	}
	for _, argument := range arguments {
		if len(argument) > maxArgumentSize {
			return fmt.Errorf("an argument of %d bytes: at most %d are read", len(argument), maxArgumentSize)
		}
	}
	return nil
}

// notes collects what is to be told.
type notes []Note

func (n *notes) add(kind Kind, option, why, remedy string) {
	*n = append(*n, Note{Kind: kind, Option: shown(option), Why: why, Remedy: remedy})
}

func (n *notes) differs(option, why, remedy string)   { n.add(Differs, option, why, remedy) }
func (n *notes) elsewhere(option, why, remedy string) { n.add(Elsewhere, option, why, remedy) }
func (n *notes) unneeded(option, why string)          { n.add(Unneeded, option, why, "") }

// shown is text of a user's for messages: short, on one line, without control characters.
func shown(text string) string {
	const most = 80
	cut := text
	if len(cut) > most {
		cut = cut[:most]
	}
	var safe strings.Builder
	for _, r := range cut {
		if r < ' ' || r > '~' {
			r = '?'
		}
		safe.WriteRune(r)
	}
	if len(text) > most {
		safe.WriteString("...")
	}
	return safe.String()
}

// all joins problems, so that a user mends them at once.
func all(problems []error) error {
	const most = 20
	if len(problems) > most {
		problems = append(problems[:most:most], errors.New("and more"))
	}
	return errors.Join(problems...)
}

// program takes the name of the program from the front of a command line that was copied whole.
func program(arguments []string, names ...string) []string {
	if len(arguments) == 0 {
		return arguments
	}
	first := strings.ToLower(arguments[0])
	if i := strings.LastIndexAny(first, `/\`); i >= 0 {
		first = first[i+1:]
	}
	first = strings.TrimSuffix(first, ".exe")
	for _, name := range names {
		if first == name {
			return arguments[1:]
		}
	}
	return arguments
}

func pointer[T any](value T) *T { return &value }
