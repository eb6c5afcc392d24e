package fio

// MainName returns the main name of a fio option, given its main name or an alias.
func MainName(name string) string {
	if main, ok := aliases[name]; ok {
		return main
	}
	return name
}

// KnownOption is a fio option in the form in which it is written to a job file.
type KnownOption struct {
	// Name is fio's main name for the option, even if an alias was given.
	Name string
	// Value is the value as it is written to the job file. Sizes are plain numbers of bytes.
	Value string
	// Done is true if the option can be omitted, because storagebench always does what it requests, or because it has
	// no effect.
	Done bool
}

// Known checks one option of a job file. If the option is not allowed, the error contains the reason and the remedy.
func Known(name, value string) (KnownOption, error) {
	canonical, written, err := checkOption(name, value, place{}, false)
	if err != nil {
		return KnownOption{}, err
	}
	return KnownOption{Name: canonical, Value: written, Done: allowedOptions[canonical].dropped}, nil
}
