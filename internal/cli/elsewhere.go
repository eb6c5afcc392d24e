//go:build !linux

package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// runHere is for Linux: what watches processes and proves mounts is the kernel's.
func runHere(context.Context, Streams, []string, runOptions) error {
	return fmt.Errorf("--local runs on Linux, and this is %s: run it in a cluster, or in a container on Linux", runtime.GOOS)
}

// newAgent is a verb that nobody calls here.
func newAgent(Streams) *cobra.Command { return &cobra.Command{Use: "agent", Hidden: true} }

func calledAsAgent([]string, Streams) (code int, called bool) { return 0, false }
