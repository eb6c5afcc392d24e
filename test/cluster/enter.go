package cluster

import (
	"context"
	"os/exec"
)

// Enter is a command in the namespaces of the first node; see Member.Enter.
func (s State) Enter(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
	return s.Member(0).Enter(ctx, arguments...)
}

// NodePID is process 1 of the first node as this machine sees it.
func (s State) NodePID() (int, error) { return s.Member(0).PID() }
