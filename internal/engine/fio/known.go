package fio

// KnownOption is an option of fio as it stands in a job file of ours.
type KnownOption struct {
	// Name is fio's own, where an alias was given.
	Name string
	// Value in the form that is written: sizes are plain numbers of bytes.
	Value string
	// Done tells that what it asks for is what is done anyway.
	Done bool
}

// Known reads one option of a job file. The error says why it is refused, and the remedy.
func Known(name, value string) (KnownOption, error) {
	canonical, written, err := checkOption(name, value, place{}, false)
	if err != nil {
		return KnownOption{}, err
	}
	return KnownOption{Name: canonical, Value: written, Done: allowedOptions[canonical].dropped}, nil
}
