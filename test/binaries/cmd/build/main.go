// Command build builds programs of Kubernetes into the cache, so that tests need not build them without showing any
// progress.
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
