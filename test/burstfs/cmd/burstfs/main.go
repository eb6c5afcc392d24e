// Command burstfs mounts a store with known limits.
//
//	burstfs --config FILE | --scenario NAME --backing DIR [--truth FILE] [--control SOCKET] [--with-stdin] MOUNTPOINT
//	burstfs --remove-dead
//
// It runs in the foreground until SIGTERM or SIGINT, then unmounts. It needs root and /dev/fuse. Without --control, it
// applies changes of the configuration file at once. It writes its record as CSV, one line per second. On the socket it
// answers requests of burstfs.Ask. With --remove-dead it only unmounts stores whose process was killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

type options struct {
	config, scenario, backing, truth, control, mountPoint string

	withStdin, removeDead bool
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "burstfs:", err)
		os.Exit(1)
	}
}

func parse() (options, error) {
	var o options
	flag.StringVar(&o.config, "config", "", "file that describes the store; it may change while the store is mounted, unless there is a socket")
	flag.StringVar(&o.scenario, "scenario", "", "instead of a file, one of "+strings.Join(burstfs.Scenarios(), ", "))
	flag.StringVar(&o.backing, "backing", "", "directory that holds the files")
	flag.StringVar(&o.truth, "truth", "", "file for what the store did in each second, as CSV; - is standard output")
	flag.StringVar(&o.control, "control", "", "socket on which it can be asked to change, to tell the truth and to end")
	flag.BoolVar(&o.withStdin, "with-stdin", false, "end when standard input ends, as when the process that holds it exits")
	flag.BoolVar(&o.removeDead, "remove-dead", false, "only unmount stores whose process is gone")
	flag.Parse()
	if o.removeDead && flag.NArg() == 0 {
		return o, nil
	}
	o.mountPoint = flag.Arg(0)
	switch {
	case flag.NArg() != 1:
		return o, fmt.Errorf("give one mount point, not %q", flag.Args())
	case (o.config == "") == (o.scenario == ""):
		return o, errors.New("give --config or --scenario")
	case o.backing == "":
		return o, errors.New("give --backing, the directory that holds the files")
	}
	return o, nil
}

func run() (err error) {
	o, err := parse()
	if err != nil {
		return err
	}
	if o.removeDead {
		return burstfs.RemoveDead()
	}
	config, err := o.read()
	if err != nil {
		return err
	}
	// Handle signals before mounting, so that a signal cannot leave the mount behind.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if o.withStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // an error counts as the end of stdin
			stop()
		}()
	}
	syscall.Umask(0) // clients have already applied their umask
	f, err := burstfs.New(config, o.backing, o.mountPoint)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if o.config != "" && o.control == "" { // with a socket, Set changes the configuration
		go f.Watch(ctx, o.config, func(err error) { fmt.Fprintln(os.Stderr, "burstfs:", err) })
	}
	if o.control != "" {
		go o.answer(ctx, stop, f)
	}
	fmt.Fprintf(os.Stderr, "burstfs: %s is mounted\n", f.Path())
	return o.record(ctx, f, config)
}

// answer answers requests on the socket until the context ends.
func (o options) answer(ctx context.Context, stop func(), f *burstfs.FS) {
	if err := f.Control(ctx, o.control, stop); err != nil {
		fmt.Fprintln(os.Stderr, "burstfs:", err)
		stop()
	}
}

func (o options) read() (model.Config, error) {
	if o.scenario != "" {
		return burstfs.Scenario(o.scenario)
	}
	return burstfs.Read(o.config)
}

// record writes the store's record until the context ends.
func (o options) record(ctx context.Context, f *burstfs.FS, config model.Config) (err error) {
	out := io.Discard
	switch o.truth {
	case "":
	case "-":
		out = os.Stdout
	default:
		file, err := os.Create(o.truth)
		if err != nil {
			return fmt.Errorf("making the file for the truth: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	truth, err := burstfs.NewTruthWriter(out, config)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
		if err := truth.Write(f); err != nil {
			return err
		}
	}
	return nil
}
