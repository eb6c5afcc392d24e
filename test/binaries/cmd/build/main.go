// Command build builds Kubernetes programs into the cache. Otherwise the first test that needs them would build them
// without visible progress.
//
// Usage: go run ./test/binaries/cmd/build control-plane | cluster | PROGRAM...
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/storagebench/storagebench/test/binaries"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var names []string
	for _, argument := range os.Args[1:] {
		switch argument {
		case "control-plane":
			names = append(names, binaries.ControlPlane()...)
		case "cluster":
			names = append(names, binaries.Cluster()...)
		default:
			names = append(names, argument)
		}
	}
	programs, err := binaries.Build(ctx, os.Stderr, names...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range names {
		fmt.Println(programs[name])
	}
}
