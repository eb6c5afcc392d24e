package dataset

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
)

// baseName is the only name that storagebench creates in a user's directory.
const baseName = ".storagebench"

// Location names the directory of one client's data on a target.
type Location struct {
	BenchmarkUID string
	// DatasetHash identifies the layout, so that runs with a different layout never use these files.
	DatasetHash string
	Client      int
}

// name matches valid path components: no slash, no leading dot, nothing that a shell or a tool's job file would
// interpret.
var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// Validate returns an error if a name in the location could lead to another directory.
func (l Location) Validate() error {
	if !name.MatchString(l.BenchmarkUID) {
		return fmt.Errorf("benchmark UID %q is not a valid directory name: use 1 to 63 letters, digits, '-' or '_', starting with a letter or digit", l.BenchmarkUID)
	}
	if !name.MatchString(l.DatasetHash) {
		return fmt.Errorf("dataset hash %q is not a valid directory name: use 1 to 63 letters, digits, '-' or '_', starting with a letter or digit", l.DatasetHash)
	}
	if l.Client < 0 {
		return fmt.Errorf("client index %d is negative: use 0 or more", l.Client)
	}
	return nil
}

// Path returns the directory, relative to the target's path.
func (l Location) Path() string {
	return path.Join(baseName, l.BenchmarkUID, l.DatasetHash, l.clientName())
}

func (l Location) clientName() string { return "client-" + strconv.Itoa(l.Client) }
