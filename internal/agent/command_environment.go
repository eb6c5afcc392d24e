package agent

import (
	"os"

	"github.com/storagebench/storagebench/internal/engine/command"
)

// commandPattern is the os.MkdirTemp pattern of the scratch directories of user programs.
const commandPattern = "storagebench-command-"

// commandEnvironment returns the whole environment of a user's program: the search path, directories that it may
// write to, and a locale in which file names are UTF-8. It keeps LD_LIBRARY_PATH, which an image may set for its
// libraries.
func (a *Agent) commandEnvironment(scratch string) []string {
	environment := []string{"PATH=" + a.searchPath(), "HOME=" + scratch, "TMPDIR=" + scratch, "LANG=C.UTF-8"}
	if libraries := os.Getenv("LD_LIBRARY_PATH"); libraries != "" {
		environment = append(environment, "LD_LIBRARY_PATH="+libraries)
	}
	return environment
}

// commandValues returns the values of the placeholders in a command line.
func (a *Agent) commandValues(data string) command.Values {
	program, err := os.Executable()
	if err != nil {
		program = "/proc/self/exe" // in the user's program, this is that program itself; it reports the mistake
	}
	return command.Values{Data: data, Client: a.config.Client, Agent: program}
}
