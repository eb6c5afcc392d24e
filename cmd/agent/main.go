// Command agent runs in a client's pod, where it starts and samples the benchmark tool.
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
	if code, called := agent.Subcommand(os.Args[1:], os.Stdout, os.Stderr); called {
		os.Exit(code)
	}
	var files agent.Files
	showVersion := flag.Bool("version", false, "print the version and exit")
	flag.StringVar(&files.Config, "config", "/etc/storagebench/agent.json", "file with the agent's configuration")
	flag.StringVar(&files.Ready, "ready", "", "file to write the agent's address to")
	flag.StringVar(&files.Lifeline, "lifeline", "", "file or pipe that the agent reads; it exits when it reaches the end of the file")
	install := flag.String("install", "", "copy this program to the given path and exit")
	flag.Parse()
	if *showVersion {
		_, _ = fmt.Fprintln(os.Stdout, version.Version)
		return
	}
	if err := run(files, *install); err != nil {
		fail(err)
	}
}

// fail prints err as one line and exits with code 1. The line becomes the pod's termination message.
func fail(err error) {
	_, _ = fmt.Fprintf(os.Stderr, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	os.Exit(1)
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
