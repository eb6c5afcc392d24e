// Command kubectl-storagebench is the command-line tool, a kubectl plugin.
package main

import (
	"os"

	"github.com/storagebench/storagebench/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
