package filegen

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
)

// Command implements `agent files`; it returns the exit code.
func Command(arguments []string, out, failed io.Writer) int {
	flags := flag.NewFlagSet("files", flag.ContinueOnError)
	flags.SetOutput(failed)
	flags.Usage = func() {
		_, _ = fmt.Fprint(failed, `Make files of sizes and contents as people have them, the same for the same arguments, and keep them where they are.

  agent files --directory photos --count 757 --total-bytes 13100000000 --compress-percent 45 --seed 1

`)
		flags.PrintDefaults()
	}
	var o Options
	var extensions string
	flags.StringVar(&o.Directory, "directory", "", "folder of the files, below the working directory; it is made")
	flags.IntVar(&o.Count, "count", 0, "files")
	flags.Int64Var(&o.TotalBytes, "total-bytes", 0, "bytes of all files together")
	flags.IntVar(&o.CompressPercent, "compress-percent", 0, "percent by which they compress")
	flags.Uint64Var(&o.Seed, "seed", 1, "another one makes other sizes and contents")
	flags.StringVar(&extensions, "extensions", "dat", "extensions of their names, in turn, such as jpg,txt")
	flags.IntVar(&o.Parallel, "parallel", 4, "files that are written at a time")
	switch err := flags.Parse(arguments); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(failed, "error: %q: no arguments beside the flags\n", flags.Arg(0))
		return 2
	}
	o.Extensions = strings.Split(extensions, ",")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	kept, err := Make(ctx, o)
	if err != nil {
		_, _ = fmt.Fprintf(failed, "error: make files: %s\n", err)
		return 1
	}
	verb := "made"
	if kept {
		verb = "kept"
	}
	_, _ = fmt.Fprintf(out, "%s %d files with %d bytes in %s\n", verb, o.Count, o.TotalBytes, o.Directory)
	return 0
}
