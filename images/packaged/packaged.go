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

// layout changes when the same packages make another image than before; it is part of what the cache goes by.
const layout = "1"

// Recipe says what an image is made of. Paths are without a leading slash.
type Recipe struct {
	// Name of the image.
	Name string
	// Layout changes with what Plugins and Data choose; it is part of what the cache goes by.
	Layout string
	// Packages that are asked for, beside base-files. What they depend on is looked through too.
	Packages []string
	// Programs come with all that they load.
	Programs []string
	// Plugins says which files are loaded by programs while they run; they come with all that they load.
	Plugins func(name string) bool
	// Data says which other files come along.
	Data func(name string) bool
	// Own are programs that are in no package, by their paths. What they load has to be in the packages.
	Own map[string][]byte
	// Links are symbolic links and where they lead.
	Links map[string]string
}

// Options of Layer. Those of the images have the same.
type Options struct {
	// Architecture of the image, as Go calls it; empty for that of this machine.
	Architecture string
	// Locked takes the packages of images/lock; else it is what Debian has today.
	Locked bool
	// Cache is the folder for what is slow to make.
	Cache string
	// Progress is told what takes long.
	Progress io.Writer
	// Created is the time of all files.
	Created time.Time
}

// Apt for an image.
func (o Options) Apt() (*debian.Apt, error) {
	return debian.NewApt(debian.Options{Cache: o.Cache, Architecture: o.Architecture, Fixed: o.Locked, Progress: o.Progress})
}

// Packages that an image is made of: those of images/lock, or what packages depend on today.
func (o Options) Packages(ctx context.Context, apt *debian.Apt, name string, wanted ...string) ([]debian.Package, error) {
	if o.Locked {
		return lock.Of(name, cmp.Or(o.Architecture, runtime.GOARCH))
	}
	return apt.Resolve(ctx, wanted...)
}

// Layer resolves the packages and makes the layer, from the cache when all is the same as before. It also
// gives the versions of the packages that were resolved.
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

// Wanted are packages with what every image has of Debian beside them.
func Wanted(packages []string) []string {
	return append(slices.Clone(packages), "base-files")
}

// inputs are all that the layer depends on.
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
	_, _ = fmt.Fprintf(o.Progress, "Making the %s image of %d Debian packages\n", r.Name, len(packages))
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

// wanted says what of the packages can be of use.
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
		// A package may have a link in the place of a folder of its own.
		return strings.Count(name, "/") == 3 || path.Base(name) == "copyright"
	}
	return false
}

func (r Recipe) takes(name string) bool {
	return r.Data != nil && r.Data(name) || r.Plugins != nil && r.Plugins(name)
}

// loaded are the programs, plugins and all that they load.
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

// compose makes the root file system, and says which packages it is from.
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
			continue // two programs may load the same, two packages share the text of a licence
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
