package agent

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Files holds the names of the files that are passed to an agent when it starts.
type Files struct {
	// Config is the file with the configuration. It is required.
	Config string
	// Ready is the file to which the agent writes its address. It is optional.
	Ready string
	// Lifeline is a file, such as a pipe. The agent exits when it reads the end of this file. It is optional.
	Lifeline string
}

// Open reads the configuration and opens the other files. Files named /dev/fd/N are inherited descriptors: Open
// reopens them and closes the originals, so that the tool inherits none of them.
func (f Files) Open(stderr io.Writer) (Process, error) {
	config, err := os.Open(f.Config)
	if err != nil {
		return Process{}, fmt.Errorf("open the agent's configuration (--config): %w", err)
	}
	defer func() { _ = config.Close() }()
	p := Process{Stderr: stderr}
	if p.Config, err = ReadConfig(config); err != nil {
		return Process{}, err
	}
	if f.Ready != "" {
		ready, err := os.OpenFile(f.Ready, os.O_WRONLY, 0)
		if err != nil {
			return Process{}, fmt.Errorf("open --ready: %w", err)
		}
		p.Ready = ready
	}
	if f.Lifeline != "" {
		lifeline, err := os.Open(f.Lifeline)
		if err != nil {
			return Process{}, fmt.Errorf("open --lifeline: %w", err)
		}
		p.Lifeline = lifeline
	}
	for _, name := range []string{f.Config, f.Ready, f.Lifeline} {
		if number, found := strings.CutPrefix(name, "/dev/fd/"); found {
			if descriptor, err := strconv.Atoi(number); err == nil {
				_ = syscall.Close(descriptor)
			}
		}
	}
	return p, nil
}
