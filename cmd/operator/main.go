// Command operator is the place of the Kubernetes operator. This version holds the core that it
// will conduct (plan, decisions, agents, results) and runs it locally; it starts no controllers.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/storagebench/storagebench/internal/version"
)

func main() {
	showVersion := flag.Bool("version", false, "print the version and exit")
	flag.Parse()
	if *showVersion {
		_, _ = fmt.Fprintln(os.Stdout, version.Version)
		return
	}
	_, _ = fmt.Fprintln(os.Stderr, "error: the controllers are not built yet in this version; "+
		"run benchmarks with `kubectl storagebench run --local`")
	os.Exit(1)
}
