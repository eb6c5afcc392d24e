// Command events generates docs/reference/events.md. It reads the meaning of every event reason from
// api/v1alpha1/events.go, and searches the controllers' code for the kinds of objects on which they emit events. Run it
// in the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// reference is the output file.
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
