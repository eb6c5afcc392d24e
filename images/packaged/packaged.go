package packaged

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/images/debian"
	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/lock"
)

// PackagesFile is the file in the image that lists the packages.
const PackagesFile = "usr/share/storagebench/packages"

// layout is part of the cache key. Change it whenever a change to this code yields a different image from the same
// packages.
const layout = "2"

// Recipe describes the content of an image. Paths have no leading slash.
type Recipe struct {
	Name string
	// Layout is part of the cache key. Change it whenever Plugins or Data is changed to select other files.
	Layout string
	// Packages are the Debian packages from which files are taken, in addition to base-files and all dependencies.
	Packages []string
	// Programs are added with everything that they load.
	Programs []string
	// Plugins reports whether a file is a plugin that programs load at run time. Plugins are added with everything
	// that they load.
	Plugins func(name string) bool
	// Data reports whether to add a file that is neither a program nor a plugin.
	Data func(name string) bool
	// Own contains programs that are not in any package, by path. The packages must contain everything that these programs
	// load.
	Own map[string][]byte
	// Links maps symbolic links to their targets.
	Links map[string]string
}

// Options configures Layer and the Make functions of the images.
type Options struct {
	// Version is the version of storagebench and the tag of the image.
	Version string
	// Architecture is the GOARCH of the image; by default, this machine's.
	Architecture string
	// Locked selects the packages pinned in images/lock. Otherwise Debian's current packages are used.
	Locked bool
	// Cache is the directory for results that take long to produce.
	Cache string
	// Progress receives a message before each slow step.
	Progress io.Writer
	// Created is the timestamp of all files.
	Created time.Time
}

// Apt returns the Apt that resolves and downloads the packages of an image.
func (o Options) Apt() (*debian.Apt, error) {
	return debian.NewApt(debian.Options{Cache: o.Cache, Architecture: o.Architecture, Fixed: o.Locked, Progress: o.Progress})
}

// Packages returns the packages of an image: the packages in images/lock, or the wanted ones with their current
// dependencies.
func (o Options) Packages(ctx context.Context, apt *debian.Apt, name string, wanted ...string) ([]debian.Package, error) {
	if o.Locked {
		return lock.Of(name, cmp.Or(o.Architecture, runtime.GOARCH))
	}
	return apt.Resolve(ctx, wanted...)
}

// Layer resolves the packages and builds the layer, or reads the layer from the cache if nothing has changed. It also
// returns the versions of the resolved packages by name.
func Layer(ctx context.Context, o Options, recipe Recipe) ([]byte, map[string]string, error) {
	apt, err := o.Apt()
	if err != nil {
		return nil, nil, err
	}
	defer apt.Close()
	versions := map[string]string{}
	var layer []byte
	err = apt.Try(ctx, func() error {
		packages, err := o.Packages(ctx, apt, recipe.Name, Wanted(recipe.Packages)...)
		if err != nil {
			return err
		}
		for _, p := range packages {
			versions[p.Name] = p.Version
		}
		name := cmp.Or(o.Architecture, runtime.GOARCH) + "-" + recipe.Name
		file, err := image.Cached(o.Cache, name, recipe.inputs(o, packages), func() ([]byte, error) {
			return recipe.layer(ctx, o, apt, packages)
		})
		if err != nil {
			return err
		}
		layer, err = os.ReadFile(file)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("make the %s image: %w", recipe.Name, err)
	}
	return layer, versions, nil
}

// Wanted returns the given packages, followed by the Debian packages that every image needs.
func Wanted(packages []string) []string {
	return append(slices.Clone(packages), "base-files")
}

// inputs returns everything that the layer depends on, as a cache key.
func (r Recipe) inputs(o Options, packages []debian.Package) string {
	inputs := []string{layout, r.Layout, o.Created.UTC().Format(time.RFC3339)}
	for _, p := range packages {
		inputs = append(inputs, p.String())
	}
	inputs = append(inputs, r.Programs...)
	for _, name := range slices.Sorted(maps.Keys(r.Own)) {
		digest := sha256.Sum256(r.Own[name])
		inputs = append(inputs, name+" "+hex.EncodeToString(digest[:]))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Links)) {
		inputs = append(inputs, name+" -> "+r.Links[name])
	}
	return strings.Join(inputs, "\n")
}

func (r Recipe) layer(ctx context.Context, o Options, apt *debian.Apt, packages []debian.Package) ([]byte, error) {
	_, _ = fmt.Fprintf(o.Progress, "Building the %s image from %d Debian packages\n", r.Name, len(packages))
	folder, err := os.MkdirTemp(o.Cache, ".packages-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for packages: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // nothing depends on it
	archives, err := apt.Fetch(ctx, folder, packages)
	if err != nil {
		return nil, err
	}
	root := debian.Root{}
	for i, archive := range archives {
		if err := root.Unpack(ctx, packages[i].Name, archive, r.wanted); err != nil {
			return nil, err
		}
	}
	for name, data := range r.Own {
		root[name] = debian.File{Mode: 0o755, Data: data}
	}
	tree, used, err := r.compose(root)
	if err != nil {
		return nil, err
	}
	if err := describe(ctx, tree, used, packages, archives); err != nil {
		return nil, err
	}
	return tree.Tar(o.Created)
}

// wanted reports whether the image may need the named file of a package.
func (r Recipe) wanted(name string) bool {
	switch {
	case slices.Contains(r.Programs, name), r.takes(name):
		return true
	case strings.HasPrefix(name, "usr/lib64/"), name == "etc/os-release", name == "etc/debian_version":
		return true
	case strings.HasPrefix(name, "usr/lib/"):
		base := path.Base(name)
		return strings.Contains(base, ".so") || base == "os-release"
	case strings.HasPrefix(name, "usr/share/common-licenses/"):
		return true
	case strings.HasPrefix(name, "usr/share/doc/"):
		// Include the documentation directory itself, because it may be a link to another package's directory.
		return strings.Count(name, "/") == 3 || path.Base(name) == "copyright"
	}
	return false
}

func (r Recipe) takes(name string) bool {
	return r.Data != nil && r.Data(name) || r.Plugins != nil && r.Plugins(name)
}

// loaded returns the paths of the programs, the plugins, and all files that these load.
func (r Recipe) loaded(root debian.Root) ([]string, error) {
	programs := append(slices.Clone(r.Programs), slices.Sorted(maps.Keys(r.Own))...)
	if r.Plugins != nil {
		for _, name := range slices.Sorted(maps.Keys(root)) {
			if r.Plugins(name) {
				programs = append(programs, name)
			}
		}
	}
	var names []string
	for _, program := range programs {
		needed, err := root.Closure(program)
		if err != nil {
			return nil, err
		}
		names = append(names, needed...)
	}
	return names, nil
}

// compose builds the root file system. It also returns the packages whose files are in it.
func (r Recipe) compose(root debian.Root) (*image.Tree, map[string]bool, error) {
	names, err := r.loaded(root)
	if err != nil {
		return nil, nil, err
	}
	names = append(names, root.Below("usr/share/common-licenses")...)
	for _, name := range slices.Sorted(maps.Keys(root)) {
		if r.Data != nil && r.Data(name) {
			names = append(names, name)
		}
	}
	for _, name := range []string{"etc/os-release", "usr/lib/os-release", "etc/debian_version"} {
		if _, found := root[name]; found {
			names = append(names, name)
		}
	}
	used := map[string]bool{}
	for _, name := range names {
		if from := root[name].Package; from != "" {
			used[from] = true
		}
	}
	licences, err := licencesOf(root, used)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range licences {
		// A package's copyright file may come from another package. If so, list that package as used too.
		used[root[name].Package] = true
	}
	tree := &image.Tree{}
	if err := skeleton(tree); err != nil {
		return nil, nil, err
	}
	for name, target := range r.Links {
		if err := tree.Link(name, target); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range append(names, licences...) {
		if tree.Has(name) {
			continue // already added: programs can share libraries, and packages can share a licence text
		}
		if err := add(tree, name, root[name]); err != nil {
			return nil, nil, err
		}
	}
	return tree, used, nil
}

func add(tree *image.Tree, name string, file debian.File) error {
	if file.Mode.Type() == fs.ModeSymlink {
		return tree.Link(name, file.Target)
	}
	return tree.File(name, file.Mode, file.Data)
}

// licencesOf returns the copyright files of packages. If a package's documentation directory is a link to another
// package's directory, it returns the link and the other package's copyright file.
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

// skeleton adds the links, directories and accounts that every Debian program expects.
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

// describe adds the control data of each used package to the image, and a list of these packages. A package is used if
// the image contains any of its files.
func describe(ctx context.Context, tree *image.Tree, used map[string]bool, packages []debian.Package, archives []string) error {
	var list []debian.Package
	for i, p := range packages {
		if !used[p.Name] {
			continue
		}
		list = append(list, p)
		control, err := debian.Control(ctx, archives[i])
		if err != nil {
			return err
		}
		if err := tree.File("var/lib/dpkg/status.d/"+p.Name, 0o644, control); err != nil {
			return err
		}
	}
	return tree.File(PackagesFile, 0o644, []byte(debian.List(list)))
}
