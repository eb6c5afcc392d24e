package limits

import (
	"slices"
	"strings"
)

// PlainParameters returns a copy of the parameters, without any that refer to Secrets or contain secrets.
func PlainParameters(parameters map[string]string) map[string]string {
	if parameters == nil {
		return nil
	}
	kept := map[string]string{}
	for name, value := range parameters {
		if !isSecret(name) {
			kept[name] = value
		}
	}
	return kept
}

// PlainOptions returns mount options with the values of secrets masked. The options in the specification or the mount
// of a volume can contain secrets, such as `password=...` for a share. Not every user who can read runs is allowed to
// see them.
func PlainOptions(options []string) []string {
	kept := slices.Clone(options)
	for i, text := range kept {
		// An element of options can contain several options, separated by commas.
		words := strings.Split(text, ",")
		for j, word := range words {
			name, _, valued := strings.Cut(word, "=")
			if valued && (isSecret(name) || slices.Contains([]string{"user", "pass", "cred"}, strings.ToLower(name))) {
				words[j] = name + "=..."
			}
		}
		kept[i] = strings.Join(words, ",")
	}
	return kept
}

func isSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"secret", "passw", "token", "accountkey", "credential", "username"},
		func(word string) bool { return strings.Contains(name, word) })
}
