package cluster

import (
	"context"
	"os/exec"
)

// Enter returns a command that runs in the namespaces of the first node; see Member.Enter.
func (s State) Enter(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
	return s.Member(0).Enter(ctx, arguments...)
}

// NodePID returns the PID, on this machine, of the first node's process 1.
func (s State) NodePID() (int, error) { return s.Member(0).PID() }
