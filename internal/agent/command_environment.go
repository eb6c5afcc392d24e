package agent

import (
	"os"

	"github.com/storagebench/storagebench/internal/engine/command"
)

// commandPattern names the directories that programs of users get for what they keep while they run.
const commandPattern = "storagebench-command-"

// commandEnvironment is all that a program of the user's gets: where programs are, places that it may write to, and a
// language in which names of files are bytes of UTF-8. What an image sets for its libraries stays.
func (a *Agent) commandEnvironment(scratch string) []string {
	environment := []string{"PATH=" + a.searchPath(), "HOME=" + scratch, "TMPDIR=" + scratch, "LANG=C.UTF-8"}
	if libraries := os.Getenv("LD_LIBRARY_PATH"); libraries != "" {
		environment = append(environment, "LD_LIBRARY_PATH="+libraries)
	}
	return environment
}

// commandValues are what words of a command line stand for here.
func (a *Agent) commandValues(data string) command.Values {
	program, err := os.Executable()
	if err != nil {
		program = "/proc/self/exe" // It is somebody else's there; the program will say so.
	}
	return command.Values{Data: data, Client: a.config.Client, Agent: program}
}
