// Command operator is the Kubernetes operator. If several replicas run, only the elected leader runs the controllers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/storagebench/storagebench/internal/installation"
	"github.com/storagebench/storagebench/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// A second signal kills the process immediately.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "error: %v\n", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop is the only deferred call, and was called
	}
}

// run runs the operator until ctx is canceled. It returns nil if it was asked to stop.
func run(ctx context.Context, arguments []string, out, log io.Writer) error {
	options, err := parse(arguments, log)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	if options.showVersion {
		_, _ = fmt.Fprintln(out, version.Version)
		return nil
	}
	options.logTo(log)
	if options.check {
		config, err := findCluster()
		if err != nil {
			return err
		}
		return installation.Check(ctx, config, options.namespace, out, installation.CheckPatience)
	}
	return serve(ctx, &options)
}
