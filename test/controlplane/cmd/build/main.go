// Command build puts the control plane's programs into the cache, so that the
// tests that need them do not have to wait while nothing is shown.
//
// Usage: go run ./test/controlplane/cmd/build
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/storagebench/storagebench/test/controlplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	binaries, err := controlplane.Build(ctx, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(binaries.Etcd)
	fmt.Println(binaries.APIServer)
}
