//go:build !linux

package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// runHere returns an error on this operating system, because only Linux supports tracking processes and verifying
// mounts as a local run does.
func runHere(context.Context, Streams, []string, runOptions) error {
	return fmt.Errorf("--local requires Linux, but this is %s: run it in a cluster, or in a Linux container", runtime.GOOS)
}

// newAgent is a stub: the agent command is not supported on this operating system.
func newAgent(Streams) *cobra.Command { return &cobra.Command{Use: "agent", Hidden: true} }

func calledAsAgent([]string, Streams) (code int, called bool) { return 0, false }
