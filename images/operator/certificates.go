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
)

// authorities is Debian's package of the certificates of public authorities, and where they are in it.
const (
	authorities       = "ca-certificates"
	authoritiesFolder = "usr/share/ca-certificates"
	authoritiesRights = "usr/share/doc/ca-certificates/copyright"
)

// certificates gives the certificates of public authorities as one file, and the copyright file that goes
// with them.
func certificates(ctx context.Context, cache string, apt *debian.Apt) (bundle, rights []byte, err error) {
	packages, err := apt.Resolve(ctx, authorities)
	if err != nil {
		return nil, nil, err
	}
	// What it depends on is there to make one file of them at installation time.
	packages = slices.DeleteFunc(packages, func(p debian.Package) bool { return p.Name != authorities })
	archive, err := image.Cached(cache, authorities, packages[0].String(), func() ([]byte, error) {
		folder, err := os.MkdirTemp(cache, ".packages-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for a package: %w", err)
		}
		defer os.RemoveAll(folder) //nolint:errcheck // nothing depends on it
		files, err := apt.Fetch(ctx, folder, packages)
		if err != nil {
			return nil, err
		}
		return os.ReadFile(files[0])
	})
	if err != nil {
		return nil, nil, err
	}
	root := debian.Root{}
	err = root.Unpack(ctx, authorities, archive, func(name string) bool {
		return name == authoritiesRights || strings.HasPrefix(name, authoritiesFolder+"/") && strings.HasSuffix(name, ".crt")
	})
	if err != nil {
		return nil, nil, err
	}
	for _, name := range root.Below(authoritiesFolder) {
		bundle = append(append(bundle, bytes.TrimSpace(root[name].Data)...), '\n')
	}
	rights = root[authoritiesRights].Data
	if len(bundle) == 0 || len(rights) == 0 {
		return nil, nil, errors.New("the package " + authorities + " holds no certificates or no copyright file where they are expected")
	}
	return bundle, rights, nil
}
