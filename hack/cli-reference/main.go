// Command cli-reference prints docs/reference/cli.md, generated from the commands of kubectl-storagebench.
package main

import (
	"fmt"
	"os"

	"github.com/storagebench/storagebench/internal/cli"
)

func main() {
	if err := cli.Reference(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
