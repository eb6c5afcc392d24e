package command

import (
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Validate returns all errors in a profile, each with its field, the value and the remedy.
func Validate(path *field.Path, profile *v1alpha1.CommandProfile) field.ErrorList {
	problems := words(path.Child("command"), profile.Command)
	if len(profile.Command) == 0 {
		problems = append(problems, field.Required(path.Child("command"), "set the program and its arguments, such as [zip, -q, -r, archive.zip, photos]"))
	}
	problems = append(problems, words(path.Child("setup"), profile.Setup)...)
	if directory := profile.WorkingDirectory; directory != "" && (!filepath.IsLocal(directory) || filepath.Clean(directory) != directory) {
		problems = append(problems, field.Invalid(path.Child("workingDirectory"), directory,
			"must be a relative path inside the client's directory, without '.' and '..', such as work/a"))
	}
	if size := profile.DatasetSize; size != nil && size.Sign() <= 0 {
		problems = append(problems, field.Invalid(path.Child("datasetSize"), size.String(), "must be above 0: remove datasetSize if the program writes nothing"))
	}
	for i, code := range profile.SuccessExitCodes {
		if code < 0 || code > 255 {
			problems = append(problems, field.Invalid(path.Child("successExitCodes").Index(i), code, "must be from 0 to 255"))
		}
	}
	return problems
}

// words checks a command line, which may be empty.
func words(path *field.Path, all []string) field.ErrorList {
	var problems field.ErrorList
	for i, word := range all {
		at := path.Index(i)
		switch {
		case i == 0 && strings.TrimSpace(word) == "":
			problems = append(problems, field.Invalid(at, word, "must be the name or path of a program"))
		case strings.ContainsRune(word, 0):
			problems = append(problems, field.Invalid(at, word, "must not contain a NUL byte"))
		}
		if _, err := expand(word, Values{}.value); err != nil {
			problems = append(problems, field.Invalid(at, word, fmt.Sprintf(
				"%s: use %s, or $$(...) for a literal $(...)", err, strings.Join(Names(), ", "))))
		}
	}
	return problems
}
