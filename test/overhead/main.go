// Command overhead measures what an agent costs: the same fio job, through an agent and bare, in
// alternating pairs, beside pairs of bare against bare, which show what the machine's own noise
// does to such a ratio.
//
// It goes on until the 95 % interval of the control's ratio is within +-0.5 %, and until the agent's
// lower bound is above 0.99 or its interval is as narrow too. Where that is not reached the answer is
// "inconclusive", which fails like a ratio of which the lower bound is not above 0.99.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// wantedHalfWidth of both intervals.
	wantedHalfWidth = 0.005
	// wantedRatio of agent to bare, at the interval's lower end.
	wantedRatio = 0.99
)

func main() {
	var o options
	flag.StringVar(&o.program, "program", "bin/kubectl-storagebench", "the program whose agent is measured")
	flag.StringVar(&o.tmpfs, "tmpfs", "/dev/shm", "a directory on tmpfs")
	flag.DurationVar(&o.runtime, "runtime", time.Second, "measured time of each run")
	flag.IntVar(&o.minPairs, "min-pairs", 30, "pairs before the first look at the interval")
	flag.IntVar(&o.maxPairs, "max-pairs", 1000, "pairs after which the answer is inconclusive")
	flag.StringVar(&o.only, "only", "", "measure only the load whose name begins so")
	// What fits into a CPU's own cache is not slowed by what others do with the memory, so that an operation takes
	// the least time, of which an agent's cost is the largest part.
	flag.StringVar(&o.size, "size", "1m", "size of the file")
	flag.IntVar(&o.cpu, "cpu", 1, "the CPU that fio is pinned to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type options struct {
	program, tmpfs     string
	only, size         string
	runtime            time.Duration
	minPairs, maxPairs int
	cpu                int
}

// load is where an agent's overhead shows most: small operations on what takes no time.
type load struct {
	name, engine string
}

var loads = []load{
	{name: "null engine, 4 KiB", engine: "null"},
	{name: "tmpfs, 4 KiB, psync", engine: "psync"},
}

func run(ctx context.Context, o options) error {
	program, err := filepath.Abs(o.program)
	if err != nil {
		return err
	}
	o.program = program
	var failed []error
	for _, l := range loads {
		if !strings.HasPrefix(l.name, o.only) {
			continue
		}
		bench, err := newBench(o, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		verdict, err := bench.measure(ctx)
		bench.close()
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		if verdict != nil {
			failed = append(failed, fmt.Errorf("%s: %w", l.name, verdict))
		}
	}
	return errors.Join(failed...)
}
