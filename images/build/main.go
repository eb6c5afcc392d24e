// Command build builds the container images without a daemon and without root.
//
//	go run ./images/build operator -version VERSION -o FILE     from bin/operator and bin/agent
//	go run ./images/build fio -version VERSION -o FILE          from Debian packages
//	go run ./images/build ior -version VERSION -o FILE -ior PROGRAM -mdtest PROGRAM
//	                                                            from Debian packages and your own build of IOR
//	go run ./images/build lock                                  writes images/lock: the packages of released images
//
// FILE is an archive that docker, podman, containerd and kind can load. The command prints the image's reference and
// ID. It also writes the ID to a file beside the archive, with the suffix .id instead of .tar. -arch builds for
// another architecture, and -locked uses the packages in images/lock. hack/release builds images for several
// architectures under one name.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/hack/command"
	"github.com/storagebench/storagebench/images/compose"
	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/internal/version"
)

func main() {
	command.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) == 0 {
		return errors.New("specify an image: go run ./images/build operator|fio|ior -o FILE")
	}
	if arguments[0] == "lock" {
		return lock(ctx)
	}
	o := compose.Options{Progress: os.Stderr}
	var output string
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	flags.StringVar(&output, "o", "", "file to write (default bin/images/NAME.tar)")
	flags.StringVar(&o.Version, "version", version.Version, "version of storagebench, used as the tag of the image")
	flags.StringVar(&o.Programs, "programs", "bin", "directory with the programs built by make build")
	flags.StringVar(&o.Architecture, "arch", "", "amd64 or arm64 (default: the architecture of this machine)")
	flags.BoolVar(&o.Locked, "locked", false, "use the packages in images/lock, not Debian's current ones")
	if arguments[0] == "ior" {
		flags.StringVar(&o.IOR, "ior", "", "ior, built with Debian's mpicc")
		flags.StringVar(&o.Mdtest, "mdtest", "", "mdtest, built likewise")
	}
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected arguments %q: specify one image, and put flags after its name", flags.Args())
	}
	if o.Architecture != "" && !slices.Contains(compose.Architectures, o.Architecture) {
		return fmt.Errorf("-arch %q is not supported; images exist for %s only", o.Architecture, strings.Join(compose.Architectures, " and "))
	}
	if output == "" {
		output = "bin/images/" + arguments[0] + ".tar"
	}
	made, err := compose.Image(ctx, arguments[0], o)
	if err != nil {
		return err
	}
	id, err := made.Write(output)
	if err != nil {
		return err
	}
	fmt.Println(made.Reference(), id)
	return write(strings.TrimSuffix(output, ".tar")+".id", id+"\n")
}

// lock updates the package lists of released images.
func lock(ctx context.Context) error {
	files, err := compose.Lock(ctx, os.Stderr)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := write("images/lock/"+name, text); err != nil {
			return err
		}
	}
	return nil
}

func write(file, text string) error {
	return image.Replace(file, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
