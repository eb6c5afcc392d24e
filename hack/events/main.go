// Command events writes docs/reference/events.md: every reason of an event with what it means, from api/v1alpha1/events.go,
// and at which objects it is told, from the code that does. Run it in the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// reference is what is written.
var reference = filepath.Join("docs", "reference", "events.md")

func main() {
	text, err := render(".")
	if err == nil {
		err = os.WriteFile(reference, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
