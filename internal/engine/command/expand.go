package command

import (
	"fmt"
	"strconv"
	"strings"
)

// Values holds the values of a command line's variables on one client.
type Values struct {
	// Data is the absolute path of the client's own directory on the target.
	Data string
	// Client is the client's index in the target, from 0.
	Client int
	// Agent is the path of the agent's program, whose subcommand `files` creates data.
	Agent string
}

const (
	nameData   = "DATA"
	nameClient = "CLIENT"
	nameAgent  = "AGENT"
)

// Names returns the variables as users write them, such as $(DATA).
func Names() []string {
	return []string{"$(" + nameData + ")", "$(" + nameClient + ")", "$(" + nameAgent + ")"}
}

func (v Values) value(name string) (string, bool) {
	switch name {
	case nameData:
		return v.Data, true
	case nameClient:
		return strconv.Itoa(v.Client), true
	case nameAgent:
		return v.Agent, true
	}
	return "", false
}

// Expand replaces each $(NAME) reference in the words of a command line. It does not expand the inserted text again,
// and turns $$(NAME) into the literal text $(NAME). It neither splits nor joins words, and uses no shell. Errors quote
// the word that cannot be expanded.
func Expand(words []string, values Values) ([]string, error) {
	expanded := make([]string, 0, len(words))
	for _, word := range words {
		text, err := expand(word, values.value)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", word, err)
		}
		expanded = append(expanded, text)
	}
	return expanded, nil
}

func expand(word string, value func(name string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		at := strings.Index(word, "$(")
		if at < 0 {
			b.WriteString(word)
			return b.String(), nil
		}
		if at > 0 && word[at-1] == '$' {
			b.WriteString(word[:at-1] + "$(")
			word = word[at+2:]
			continue
		}
		name, rest, closed := strings.Cut(word[at+2:], ")")
		text, known := value(name)
		if !closed || !known {
			return "", fmt.Errorf("$(%s) is not defined", name)
		}
		b.WriteString(word[:at] + text)
		word = rest
	}
}
