// Command agent is the process in a client pod that runs and samples the benchmark tool.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/version"
)

func main() {
	var files agent.Files
	showVersion := flag.Bool("version", false, "print the version and exit")
	flag.StringVar(&files.Config, "config", "/etc/storagebench/agent.json", "file with the agent's configuration")
	flag.StringVar(&files.Ready, "ready", "", "file to write the agent's address to")
	flag.StringVar(&files.Lifeline, "lifeline", "", "file whose end tells the agent to leave")
	install := flag.String("install", "", "copy this program to a path and exit")
	flag.Parse()
	if *showVersion {
		_, _ = fmt.Fprintln(os.Stdout, version.Version)
		return
	}
	if err := run(files, *install); err != nil {
		// One line: in a pod it becomes the termination message.
		_, _ = fmt.Fprintf(os.Stderr, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

func run(files agent.Files, install string) error {
	if install != "" {
		return agent.Install(install)
	}
	opened, err := files.Open(os.Stderr)
	if err != nil {
		return err
	}
	return agent.Serve(opened)
}
