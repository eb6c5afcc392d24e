// Package compose builds an image by its name, for images/build and hack/release.
package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/storagebench/storagebench/images/debian"
	"github.com/storagebench/storagebench/images/fio"
	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/ior"
	"github.com/storagebench/storagebench/images/lock"
	"github.com/storagebench/storagebench/images/operator"
	"github.com/storagebench/storagebench/images/packaged"
)

// Options configures Image.
type Options struct {
	// Version is the version of storagebench and the tag of the image.
	Version string
	// Architecture is the GOARCH of the image and of the given programs; by default, this machine's.
	Architecture string
	// Locked selects the packages pinned in images/lock. Otherwise Debian's current packages are used.
	Locked bool
	// Programs is the directory that contains the programs operator and agent.
	Programs string
	// IOR and Mdtest are the paths of the programs ior and mdtest for the IOR image.
	IOR, Mdtest string
	// Progress receives a message before each slow step.
	Progress io.Writer
}

// Image builds the operator, fio or ior image. The working directory must be the root of the repository.
func Image(ctx context.Context, name string, o Options) (image.Image, error) {
	created, err := image.Time()
	if err != nil {
		return image.Image{}, err
	}
	cache, err := image.CacheFolder()
	if err != nil {
		return image.Image{}, err
	}
	of := packaged.Options{Version: o.Version, Architecture: o.Architecture, Locked: o.Locked, Cache: cache, Progress: o.Progress, Created: created}
	switch name {
	case "operator":
		licence, err := os.ReadFile("LICENSE")
		if err != nil {
			return image.Image{}, fmt.Errorf("read the licence (run this in the root of the repository): %w", err)
		}
		return operator.Make(ctx, operator.Options{Options: of, Programs: o.Programs, Licence: licence})
	case "fio":
		return fio.Make(ctx, of)
	case "ior":
		return ofIOR(ctx, o, ior.Options{Options: of})
	}
	return image.Image{}, fmt.Errorf("unknown image %q; use operator, fio or ior", name)
}

func ofIOR(ctx context.Context, o Options, options ior.Options) (image.Image, error) {
	if o.IOR == "" || o.Mdtest == "" {
		return image.Image{}, errors.New("specify both programs: -ior PROGRAM -mdtest PROGRAM")
	}
	options.Name, options.Licenses = "ior", "GPL-2.0-only"
	options.Title = "IOR and mdtest, with Open MPI and fio from Debian, for storagebench clients"
	var err error
	if options.IOR, err = os.ReadFile(o.IOR); err != nil {
		return image.Image{}, fmt.Errorf("read ior: %w", err)
	}
	if options.Mdtest, err = os.ReadFile(o.Mdtest); err != nil {
		return image.Image{}, fmt.Errorf("read mdtest: %w", err)
	}
	return ior.Make(ctx, options)
}

// Architectures lists the architectures of released images.
var Architectures = []string{"amd64", "arm64"}

// wanted lists the packages of each image, without their dependencies.
var wanted = map[string][]string{
	"operator": operator.Packages, "fio": packaged.Wanted(fio.Packages), "ior": packaged.Wanted(ior.Packages),
}

// Lock resolves Debian's current packages for each image and architecture. It returns the contents of the files in
// images/lock by file name.
func Lock(ctx context.Context, progress io.Writer) (map[string]string, error) {
	cache, err := image.CacheFolder()
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, architecture := range Architectures {
		err := func() error {
			apt, err := debian.NewApt(debian.Options{Cache: cache, Architecture: architecture, Fixed: true, Progress: progress})
			if err != nil {
				return err
			}
			defer apt.Close()
			if err := apt.Update(ctx); err != nil {
				return err
			}
			for name, names := range wanted {
				packages, err := apt.Resolve(ctx, names...)
				if err != nil {
					return err
				}
				if name == "operator" {
					packages = operator.Only(packages)
				}
				files[lock.File(name, architecture)] = debian.List(packages)
			}
			return nil
		}()
		if err != nil {
			return nil, fmt.Errorf("find the packages of images for %s: %w", architecture, err)
		}
	}
	return files, nil
}
