package command

import (
	"os"

	"github.com/storagebench/storagebench/internal/engine/command"
)

// scratchPattern is the os.MkdirTemp pattern of the scratch directories of user programs.
const scratchPattern = "storagebench-command-"

// environment returns the complete environment of a user's program: the search path, a directory that it may write to,
// and a locale in which file names are UTF-8. It keeps LD_LIBRARY_PATH, which an image may set for its libraries.
func environment(path, scratch string) []string {
	all := []string{"PATH=" + path, "HOME=" + scratch, "TMPDIR=" + scratch, "LANG=C.UTF-8"}
	if libraries := os.Getenv("LD_LIBRARY_PATH"); libraries != "" {
		all = append(all, "LD_LIBRARY_PATH="+libraries)
	}
	return all
}

// values returns the values of the placeholders in a command line.
func values(data string, client int) command.Values {
	program, err := os.Executable()
	if err != nil {
		// The agent's path is unknown, so use /proc/self/exe. A command line with the placeholder for the agent's path will
		// then fail, because in the user's program, /proc/self/exe is that program.
		program = "/proc/self/exe"
	}
	return command.Values{Data: data, Client: client, Agent: program}
}
