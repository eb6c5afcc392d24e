package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/images/debian"
	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/packaged"
)

// authorities is the name of the Debian package that contains the CA certificates. authoritiesFolder is the directory
// of the certificates in that package, and authoritiesRights is the path of the package's copyright file.
const (
	authorities       = "ca-certificates"
	authoritiesFolder = "usr/share/ca-certificates"
	authoritiesRights = "usr/share/doc/ca-certificates/copyright"
)

// Packages lists the packages whose files the image contains.
var Packages = []string{authorities}

// Only filters the packages that apt resolved. It returns those whose files the image contains. The other packages only
// serve to merge the certificates into one file when Debian's package is installed.
func Only(packages []debian.Package) []debian.Package {
	return slices.DeleteFunc(packages, func(p debian.Package) bool { return !slices.Contains(Packages, p.Name) })
}

// bundled holds the content of a file with all CA certificates, and the copyright file and control data of the Debian
// package that they come from.
type bundled struct {
	bundle, rights, control []byte
	of                      debian.Package
}

// certificates returns Debian's CA certificates.
func certificates(ctx context.Context, o packaged.Options, apt *debian.Apt) (bundled, error) {
	packages, err := o.Packages(ctx, apt, "operator", Packages...)
	if err != nil {
		return bundled{}, err
	}
	packages = Only(packages)
	archive, err := image.Cached(o.Cache, authorities, packages[0].String(), func() ([]byte, error) {
		folder, err := os.MkdirTemp(o.Cache, ".packages-")
		if err != nil {
			return nil, fmt.Errorf("make a directory for a package: %w", err)
		}
		defer os.RemoveAll(folder) //nolint:errcheck // nothing depends on it
		files, err := apt.Fetch(ctx, folder, packages)
		if err != nil {
			return nil, err
		}
		return os.ReadFile(files[0])
	})
	if err != nil {
		return bundled{}, err
	}
	root := debian.Root{}
	err = root.Unpack(ctx, authorities, archive, func(name string) bool {
		return name == authoritiesRights || strings.HasPrefix(name, authoritiesFolder+"/") && strings.HasSuffix(name, ".crt")
	})
	if err != nil {
		return bundled{}, err
	}
	found := bundled{rights: root[authoritiesRights].Data, of: packages[0]}
	for _, name := range root.Below(authoritiesFolder) {
		found.bundle = append(append(found.bundle, bytes.TrimSpace(root[name].Data)...), '\n')
	}
	if len(found.bundle) == 0 || len(found.rights) == 0 {
		return bundled{}, errors.New("package " + authorities + " lacks CA certificates or a copyright file at the expected paths")
	}
	found.control, err = debian.Control(ctx, archive)
	return found, err
}

// add adds the certificates to an image, at the path where Go looks for them. It also adds the copyright file and the
// control data of the Debian package, and PackagesFile, which lists that package. The Go package packaged does the same
// for other images.
func (b bundled) add(tree *image.Tree) error {
	for name, data := range map[string][]byte{
		Certificates: b.bundle, authoritiesRights: b.rights, "var/lib/dpkg/status.d/" + b.of.Name: b.control,
		packaged.PackagesFile: []byte(debian.List([]debian.Package{b.of})),
	} {
		if err := tree.File(name, 0o644, data); err != nil {
			return err
		}
	}
	return nil
}
