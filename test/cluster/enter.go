package cluster

import (
	"context"
	"os/exec"
	"strconv"

	"github.com/storagebench/storagebench/test/cluster/node"
)

// Enter is a command in the namespaces of the node, where all its programs are
// found by their names. It is how to mount something that pods shall see: what is
// mounted on this machine gets there only if the machine shares its mounts, as
// systemd makes it do.
func (s State) Enter(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
	known, err := s.running()
	if err != nil {
		return nil, err
	}
	return known.enter(ctx, arguments), nil
}

func (r record) enter(ctx context.Context, arguments []string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{
		"--target=" + strconv.Itoa(r.Init.PID), "--mount", "--net", "--pid", "--ipc", "--uts", "--",
		"env", "PATH=" + node.SearchPath,
	}, arguments...)...)
}
