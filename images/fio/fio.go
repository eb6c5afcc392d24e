package fio

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/images/debian"
	"github.com/storagebench/storagebench/images/image"
)

// LabelPackage is the label with the version of Debian's package of fio.
const LabelPackage = "dev.storagebench.fio.package"

// PackagesFile is the file in the image that lists the packages.
const PackagesFile = "usr/share/storagebench/packages"

// layout changes when the same packages make another image than before; it is part of what the cache goes by.
const layout = "1"

// program is the one that the image is for.
const program = "usr/bin/fio"

// roots are the packages that are asked for; base-files holds the texts of the usual licences, and the file
// that says which Debian this is.
var roots = []string{"fio", "base-files"}

// Options of Make.
type Options struct {
	// Version of storagebench, the tag of the image.
	Version string
	// Cache is the folder for what is slow to make.
	Cache string
	// Progress is told what takes long.
	Progress io.Writer
	// Created is the time of all files.
	Created time.Time
}

// Make resolves the packages and makes the image, from the cache when the packages are the same as before.
func Make(ctx context.Context, o Options) (image.Image, error) {
	apt, err := debian.NewApt(o.Cache, o.Progress)
	if err != nil {
		return image.Image{}, err
	}
	defer apt.Close()
	var version string
	var layer []byte
	err = apt.Try(ctx, func() error {
		packages, err := apt.Resolve(ctx, roots...)
		if err != nil {
			return err
		}
		inputs := []string{layout, o.Created.UTC().Format(time.RFC3339)}
		for _, p := range packages {
			inputs = append(inputs, p.String())
			if p.Name == "fio" {
				version = p.Version
			}
		}
		file, err := image.Cached(o.Cache, "fio", strings.Join(inputs, "\n"), func() ([]byte, error) {
			return makeLayer(ctx, o, apt, packages)
		})
		if err != nil {
			return err
		}
		layer, err = os.ReadFile(file)
		return err
	})
	if err != nil {
		return image.Image{}, fmt.Errorf("make the fio image: %w", err)
	}
	return image.Image{
		Name:       "fio",
		Version:    o.Version,
		Title:      "fio " + version + " of Debian, for clients of storagebench",
		Licenses:   "GPL-2.0-only AND LicenseRef-usr-share-doc",
		Entrypoint: []string{"/" + program},
		Path:       "/usr/bin",
		Labels:     map[string]string{LabelPackage: version},
		Layer:      layer,
		Created:    o.Created,
	}, nil
}

func makeLayer(ctx context.Context, o Options, apt *debian.Apt, packages []debian.Package) ([]byte, error) {
	_, _ = fmt.Fprintf(o.Progress, "Making the fio image of %d Debian packages\n", len(packages))
	folder, err := os.MkdirTemp(o.Cache, ".packages-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for packages: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // nothing depends on it
	archives, err := apt.Fetch(ctx, folder, packages)
	if err != nil {
		return nil, err
	}
	root := debian.Root{}
	for i, archive := range archives {
		if err := root.Unpack(ctx, packages[i].Name, archive, wanted); err != nil {
			return nil, err
		}
	}
	tree, used, err := compose(root)
	if err != nil {
		return nil, err
	}
	if err := describe(ctx, tree, used, packages, archives); err != nil {
		return nil, err
	}
	return tree.Tar(o.Created)
}

// wanted says what of the packages can be of use.
func wanted(name string) bool {
	switch {
	case name == program, strings.HasPrefix(name, "usr/lib64/"), name == "etc/os-release", name == "etc/debian_version":
		return true
	case strings.HasPrefix(name, "usr/lib/"):
		base := path.Base(name)
		return strings.Contains(base, ".so") || base == "os-release"
	case strings.HasPrefix(name, "usr/share/common-licenses/"):
		return true
	case strings.HasPrefix(name, "usr/share/doc/"):
		// A package may have a link in the place of a folder of its own.
		return strings.Count(name, "/") == 3 || path.Base(name) == "copyright"
	}
	return false
}

// compose makes the root file system of what fio needs, and says which packages it is from.
func compose(root debian.Root) (*image.Tree, map[string]bool, error) {
	names, err := root.Closure(program)
	if err != nil {
		return nil, nil, err
	}
	names = append(names, root.Below("usr/share/common-licenses")...)
	for _, name := range []string{"etc/os-release", "usr/lib/os-release", "etc/debian_version"} {
		if _, found := root[name]; found {
			names = append(names, name)
		}
	}
	used := map[string]bool{}
	for _, name := range names {
		used[root[name].Package] = true
	}
	licences, err := licencesOf(root, used)
	if err != nil {
		return nil, nil, err
	}
	tree := &image.Tree{}
	if err := skeleton(tree); err != nil {
		return nil, nil, err
	}
	for _, name := range append(names, licences...) {
		if tree.Has(name) {
			continue // two packages may share the text of a licence
		}
		file := root[name]
		if file.Target != "" {
			err = tree.Link(name, file.Target)
		} else {
			err = tree.File(name, file.Mode, file.Data)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return tree, used, nil
}

// licencesOf are the copyright files of packages. One whose documentation is a link to another package's
// brings that package along.
func licencesOf(root debian.Root, used map[string]bool) ([]string, error) {
	var found []string
	for name := range used {
		folder := "usr/share/doc/" + name
		passed := []string{folder + "/copyright"}
		if link, isLink := root[folder]; isLink {
			other := path.Clean(path.Join(path.Dir(folder), link.Target))
			passed = []string{folder, other + "/copyright"}
		}
		last := passed[len(passed)-1]
		if _, there := root[last]; !there {
			return nil, fmt.Errorf("package %s has no copyright file at /%s", name, last)
		}
		found = append(found, passed...)
	}
	slices.Sort(found)
	return found, nil
}

// skeleton is what every program of Debian counts upon.
func skeleton(tree *image.Tree) error {
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := tree.Link(name, "usr/"+name); err != nil {
			return err
		}
	}
	for name, mode := range map[string]os.FileMode{"tmp": 0o777 | os.ModeSticky, "usr/sbin": 0o755, "usr/lib64": 0o755,
		"proc": 0o555, "sys": 0o555, "dev": 0o755, "data": 0o755} {
		if err := tree.Directory(name, mode); err != nil {
			return err
		}
	}
	return image.Accounts(tree)
}

// describe adds what tells the packages that files are from.
func describe(ctx context.Context, tree *image.Tree, used map[string]bool, packages []debian.Package, archives []string) error {
	var list strings.Builder
	for i, p := range packages {
		if !used[p.Name] {
			continue
		}
		list.WriteString(p.String() + "\n")
		control, err := debian.Control(ctx, archives[i])
		if err != nil {
			return err
		}
		if err := tree.File("var/lib/dpkg/status.d/"+p.Name, 0o644, control); err != nil {
			return err
		}
	}
	return tree.File(PackagesFile, 0o644, []byte(list.String()))
}
