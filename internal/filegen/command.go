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
		_, _ = fmt.Fprint(failed, `Create files with realistic sizes and contents. The same arguments create the same files; existing ones are kept.

  agent files --directory photos --count 757 --total-bytes 13100000000 --compress-percent 45 --seed 1

`)
		flags.PrintDefaults()
	}
	var o Options
	var extensions string
	flags.StringVar(&o.Directory, "directory", "", "directory for the files, below the working directory; created if missing")
	flags.IntVar(&o.Count, "count", 0, "number of files")
	flags.Int64Var(&o.TotalBytes, "total-bytes", 0, "total size of all files in bytes")
	flags.IntVar(&o.CompressPercent, "compress-percent", 0, "compressibility of the contents in percent")
	flags.Uint64Var(&o.Seed, "seed", 1, "seed for sizes and contents")
	flags.StringVar(&extensions, "extensions", "dat", "comma-separated file name extensions, used in turn, such as jpg,txt")
	flags.IntVar(&o.Parallel, "parallel", 4, "number of files that are written concurrently")
	switch err := flags.Parse(arguments); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(failed, "error: unexpected argument %q: use flags\n", flags.Arg(0))
		return 2
	}
	o.Extensions = strings.Split(extensions, ",")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	kept, err := Make(ctx, o)
	if err != nil {
		_, _ = fmt.Fprintf(failed, "error: create files: %s\n", err)
		return 1
	}
	verb := "created"
	if kept {
		verb = "kept"
	}
	_, _ = fmt.Fprintf(out, "%s %d files (%d bytes in total) in directory %s\n", verb, o.Count, o.TotalBytes, o.Directory)
	return 0
}
