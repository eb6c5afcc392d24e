// Command agent is the process in a client pod that runs and samples the benchmark tool.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/version"
)

func main() {
	var files agent.Files
	showVersion := flag.Bool("version", false, "print the version and exit")
	flag.StringVar(&files.Config, "config", "/etc/storagebench/agent.json", "file with the agent's configuration")
	flag.StringVar(&files.Ready, "ready", "", "file to write the agent's address to")
	flag.StringVar(&files.Lifeline, "lifeline", "", "file whose end tells the agent to leave")
	flag.Parse()
	if *showVersion {
		_, _ = fmt.Fprintln(os.Stdout, version.Version)
		return
	}
	opened, err := files.Open(os.Stderr)
	if err == nil {
		err = agent.Serve(opened)
	}
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}
