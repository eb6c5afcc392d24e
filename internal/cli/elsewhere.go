//go:build !linux

package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// runHere returns an error: a local run tracks processes and verifies mounts, which needs Linux.
func runHere(context.Context, Streams, []string, runOptions) error {
	return fmt.Errorf("--local needs Linux, and this is %s: run it in a cluster, or in a Linux container", runtime.GOOS)
}

// newAgent returns a verb that is never called on this system.
func newAgent(Streams) *cobra.Command { return &cobra.Command{Use: "agent", Hidden: true} }

func calledAsAgent([]string, Streams) (code int, called bool) { return 0, false }
