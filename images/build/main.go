// Command build makes the container images without a daemon and without root.
//
//	go run ./images/build operator -version VERSION -o FILE     of bin/operator and bin/agent
//	go run ./images/build fio -version VERSION -o FILE          of Debian packages
//	go run ./images/build ior -version VERSION -o FILE -ior PROGRAM -mdtest PROGRAM
//	                                                            of Debian packages and one's own build of IOR
//
// FILE is an archive that docker, podman, containerd and kind load. The image's reference and its ID are
// printed; the ID is also written beside the archive, as FILE with .id in the place of .tar.
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

	"github.com/storagebench/storagebench/images/fio"
	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/ior"
	"github.com/storagebench/storagebench/images/operator"
	"github.com/storagebench/storagebench/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		_, _ = fmt.Fprintf(os.Stderr, "error: %v\n", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

type options struct {
	version, output, programs string
	ior, mdtest               string
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) == 0 {
		return errors.New("say which image: go run ./images/build operator|fio|ior -o FILE")
	}
	var o options
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	flags.StringVar(&o.output, "o", "", "file to write (default bin/images/NAME.tar)")
	flags.StringVar(&o.version, "version", version.Version, "version of storagebench, the tag of the image")
	flags.StringVar(&o.programs, "programs", "bin", "folder with the programs that make build made")
	if arguments[0] == "ior" {
		flags.StringVar(&o.ior, "ior", "", "ior, built with Debian's mpicc")
		flags.StringVar(&o.mdtest, "mdtest", "", "mdtest, built likewise")
	}
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is too much: one image at a time, and flags after its name", flags.Args())
	}
	if o.output == "" {
		o.output = "bin/images/" + arguments[0] + ".tar"
	}
	made, err := compose(ctx, arguments[0], o)
	if err != nil {
		return err
	}
	id, err := made.Write(o.output)
	if err != nil {
		return err
	}
	fmt.Println(made.Reference(), id)
	return image.Replace(strings.TrimSuffix(o.output, ".tar")+".id", func(w io.Writer) error {
		_, err := fmt.Fprintln(w, id)
		return err
	})
}

func compose(ctx context.Context, name string, o options) (image.Image, error) {
	created, err := image.Time()
	if err != nil {
		return image.Image{}, err
	}
	cache, err := image.CacheFolder()
	if err != nil {
		return image.Image{}, err
	}
	switch name {
	case "operator":
		licence, err := os.ReadFile("LICENSE")
		if err != nil {
			return image.Image{}, fmt.Errorf("read the licence (run this in the root of the repository): %w", err)
		}
		return operator.Make(ctx, operator.Options{Version: o.version, Programs: o.programs, Licence: licence,
			Cache: cache, Progress: os.Stderr, Created: created})
	case "fio":
		return fio.Make(ctx, fio.Options{Version: o.version, Cache: cache, Progress: os.Stderr, Created: created})
	case "ior":
		return ofIOR(ctx, o, cache, created)
	}
	return image.Image{}, fmt.Errorf("there is no image %q; there are: operator, fio, ior", name)
}

func ofIOR(ctx context.Context, o options, cache string, created time.Time) (image.Image, error) {
	if o.ior == "" || o.mdtest == "" {
		return image.Image{}, errors.New("name both programs: -ior PROGRAM -mdtest PROGRAM")
	}
	options := ior.Options{Name: "ior", Title: "IOR and mdtest, with Open MPI and fio of Debian, for clients of storagebench", Licenses: "GPL-2.0-only",
		Version: o.version, Cache: cache, Progress: os.Stderr, Created: created}
	var err error
	if options.IOR, err = os.ReadFile(o.ior); err != nil {
		return image.Image{}, fmt.Errorf("read ior: %w", err)
	}
	if options.Mdtest, err = os.ReadFile(o.mdtest); err != nil {
		return image.Image{}, fmt.Errorf("read mdtest: %w", err)
	}
	return ior.Make(ctx, options)
}
